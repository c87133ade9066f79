"""Aggregates: answers, types, and partial states that merge to the answer in one step."""

from __future__ import annotations

import math
from decimal import Decimal

import duckdb
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sharkpy.udf import registry
from sharkpy.udf.duckdb_sql import duckdb_type, lower_literal
from sharkpy.udf.lower import lower_complete, lower_finish, lower_merges, lower_partials, lower_window
from sharkpy.values import types as T  # noqa: N812 - a table of types is clearer short
from tests.udf.hive_expression import aggregate, lower, lower_arguments

DEC = T.DecimalType(15, 2)
WIDE = T.DecimalType(38, 6)
VALUES: dict[T.DataType, st.SearchStrategy[object]] = {
    T.INT: st.integers(-(2**31), 2**31 - 1),
    T.BIGINT: st.integers(-(2**63), 2**63 - 1),
    T.DOUBLE: st.integers(-(10**7), 10**7).map(lambda number: number / 8),
    DEC: st.decimals(Decimal("-9999999999999.99"), Decimal("9999999999999.99"), places=2, allow_nan=False),
    WIDE: st.decimals(-Decimal(10**31), Decimal(10**31), places=6, allow_nan=False),
    T.STRING: st.text(alphabet="abcé", max_size=3),
    T.BOOLEAN: st.booleans(),
    T.INTERVAL_YEAR_MONTH: st.integers(-(2**31), 2**31 - 1),
    T.INTERVAL_DAY_TIME: st.integers(-(2**63), 2**63 - 1),
}
CALLS = [
    *((name, (dtype,)) for name in ("sum", "avg", "count") for dtype in (T.INT, T.BIGINT, T.DOUBLE, DEC)),
    *((name, (dtype,)) for name in ("min", "max", "collect_list", "collect_set") for dtype in (T.INT, DEC, T.STRING)),
    *((name, (T.DOUBLE,)) for name in ("var_pop", "var_samp", "stddev_pop", "stddev_samp")),
    *((name, (T.DOUBLE, T.DOUBLE)) for name in ("covar_pop", "covar_samp", "corr")),
    *((f"regr_{name}", (T.DOUBLE, T.DOUBLE)) for name in ("count", "avgx", "avgy", "sxx", "syy", "sxy")),
    *((name, (WIDE,)) for name in ("sum", "avg")),
    *((name, (dtype,)) for name in ("sum", "avg") for dtype in (T.INTERVAL_YEAR_MONTH, T.INTERVAL_DAY_TIME)),
    ("ds_theta_sketch", (T.INT,)),
    ("ds_kll_sketch", (T.DOUBLE,)),
    ("ds_countmin_sketch", (T.STRING,)),
    ("median", (T.DOUBLE,)),
    *(("try_sum", (dtype,)) for dtype in (T.INT, T.BIGINT, T.DOUBLE, DEC)),
    *((name, (T.BOOLEAN,)) for name in ("bool_and", "bool_or", "count_if")),
    *((name, (T.INT,)) for name in ("bit_and", "bit_or", "bit_xor")),
    ("count", ()),
    ("count", (T.INT, T.STRING)),
]


def close(one: object, other: object) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return sorted(map(repr, one)) == sorted(map(repr, other))
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-6)
    return one == other


def values_sql(rows: list[tuple[object, ...]], types: tuple[T.DataType, ...]) -> str:
    """The rows with the number of their part, as a relation (part, x, y)."""
    lines = [
        f"({index % 3}{''.join(', ' + lower_literal(v, t) for v, t in zip(row, types, strict=True))})"
        for index, row in enumerate(rows)
    ]
    names = ", ".join(["part", *(["x", "y"][: len(types)])])
    if lines:
        return f"(VALUES {', '.join(lines)}) AS t({names})"
    columns = ", ".join(
        f"{lower_literal(None, t)} AS {n}" for t, n in zip((T.INT, *types), names.split(", "), strict=True)
    )
    return f"(SELECT {columns} WHERE false) AS t"


@pytest.mark.variants(6)
@pytest.mark.parametrize(("name", "types"), CALLS, ids=[f"{n}({', '.join(map(str, t))})" for n, t in CALLS])
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)
@given(data=st.data())
def test_partials_equal_complete(
    connection: duckdb.DuckDBPyConnection, name: str, types: tuple[T.DataType, ...], data: st.DataObject
) -> None:
    row = registry.aggregate_of(name, types)
    assert row is not None
    assert row.partial_types is not None
    wanted = tuple(row.arguments(types) or ())
    rows = data.draw(st.lists(st.tuples(*(st.none() | VALUES[t] for t in wanted)), max_size=12))
    if name == "corr":
        assume(all(len({pair[side] for pair in rows if None not in pair}) > 1 for side in (0, 1)))
    result = row.result(wanted)
    args = ["x", "y"][: len(wanted)]
    relation = values_sql(rows, wanted)
    complete = connection.sql(f"SELECT {lower_complete(row, args, wanted, result)} FROM {relation}").fetchall()[0][0]
    states = [f"s{i}" for i in range(len(row.partials))]
    partials = ", ".join(
        f"CAST({sql} AS {duckdb_type(dtype)}) AS {state}"
        for sql, dtype, state in zip(
            lower_partials(row, args, wanted, result), row.partial_types(wanted), states, strict=True
        )
    )
    merged_states = zip(lower_merges(row, states, row.partial_types(wanted)), states, strict=True)
    merges = ", ".join(f"{sql} AS {state}" for sql, state in merged_states)
    finish = lower_finish(row, states, wanted, result)
    merged = connection.sql(
        f"SELECT {finish} FROM (SELECT {merges} FROM (SELECT {partials} FROM {relation} GROUP BY part))"
    ).fetchall()[0][0]
    if name.startswith("collect"):
        merged = merged or []
    assert close(complete, merged), (rows, complete, merged)


@pytest.mark.parametrize(
    ("text", "name", "values", "dtype", "expected", "result"),
    [
        ("wraps", "sum", [2**63 - 1, 1], T.BIGINT, -(2**63), "bigint"),
        ("int", "sum", [1, 2, None], T.INT, 3, "bigint"),
        ("empty", "sum", [], T.INT, None, "bigint"),
        ("decimal", "sum", [Decimal("1.50"), Decimal("2.25")], DEC, Decimal("3.75"), "decimal(25,2)"),
        (
            "half up",
            "avg",
            [Decimal("1.00"), Decimal("0.00"), Decimal("1.00")],
            DEC,
            Decimal("0.666667"),
            "decimal(19,6)",
        ),
        (
            "negative",
            "avg",
            [Decimal("-1.00"), Decimal("0.00"), Decimal("-1.00")],
            DEC,
            Decimal("-0.666667"),
            "decimal(19,6)",
        ),
        ("int", "avg", [1, 2], T.INT, 1.5, "double"),
        ("nulls", "count", [1, None], T.INT, 1, "bigint"),
        ("population", "stddev", [1.0, 3.0], T.DOUBLE, 1.0, "double"),
        ("population", "variance", [1.0, 3.0], T.DOUBLE, 1.0, "double"),
        ("one row", "var_samp", [1.0], T.DOUBLE, None, "double"),
        ("nulls", "collect_list", [1, None, 1], T.INT, [1, 1], "array<int>"),
        ("nulls", "collect_set", [1, None, 1], T.INT, [1], "array<int>"),
        ("empty", "collect_list", [], T.INT, [], "array<int>"),
        ("nan", "max", [1.0, float("nan")], T.DOUBLE, float("nan"), "double"),
    ],
)
def test_answer(
    connection: duckdb.DuckDBPyConnection,
    text: str,
    name: str,
    values: list[object],
    dtype: T.DataType,
    expected: object,
    result: str,
) -> None:
    call = aggregate(name, lower("x", {"x": dtype}))
    assert str(call.dtype) == result
    relation = connection.sql(f"SELECT {call.sql} FROM {values_sql([(v,) for v in values], (dtype,))}")
    assert close(relation.fetchall()[0][0], expected)
    wanted = connection.sql(f"SELECT CAST(NULL AS {duckdb_type(call.dtype)})").types[0]
    assert str(relation.types[0]) == str(wanted)


def test_wide_decimal_average_is_exact(connection: duckdb.DuckDBPyConnection) -> None:
    wide = T.DecimalType(38, 10)
    call = aggregate("avg", lower("x", {"x": wide}))
    rows = values_sql([(Decimal("1e20"),), (Decimal(2),), (Decimal(0),)], (wide,))
    answer = connection.sql(f"SELECT {call.sql} FROM {rows}").fetchall()[0][0]
    assert answer == Decimal("33333333333333333334.0000000000")


@pytest.mark.parametrize("distinct", [False, True])
def test_percentiles_and_count_distinct(connection: duckdb.DuckDBPyConnection, distinct: bool) -> None:
    rows = values_sql([(i,) for i in (1, 1, 3, 4)], (T.INT,))
    x = lower("x", {"x": T.INT})
    half = aggregate("percentile", x, lower("0.5D"), distinct=distinct)
    many = aggregate("percentile_approx", x, lower("array(0.0D, 1.0D)"))
    count = aggregate("count", x, distinct=distinct)
    answer = connection.sql(f"SELECT {half.sql}, {many.sql}, {count.sql} FROM {rows}").fetchall()[0]
    assert answer == (3.0 if distinct else 2.0, [1, 4], 3 if distinct else 4)


def test_count_distinct_of_several_columns(connection: duckdb.DuckDBPyConnection) -> None:
    types = {"x": T.INT, "y": T.INT}
    call = aggregate("count", lower("x", types), lower("y", types), distinct=True)
    rows = values_sql([(1, 1), (1, 1), (1, 2), (None, 1)], (T.INT, T.INT))
    assert connection.sql(f"SELECT {call.sql} FROM {rows}").fetchall() == [(2,)]


@pytest.mark.variants(3)
@pytest.mark.parametrize("row", registry._AGGREGATES.values(), ids=lambda row: row.name)
def test_example(connection: duckdb.DuckDBPyConnection, row: registry.AggregateFunction) -> None:
    """The examples' arguments x and y are numbers; every aggregate also takes OVER."""
    behind = row.example[row.example.index(f"{row.name}(") + len(row.name) + 1 :]
    args = lower_arguments(behind, {"x": T.INT, "y": T.INT})
    rows = values_sql([(i, 2 * i) for i in range(5)], (T.INT, T.INT))
    call = aggregate(row.name, *args)
    assert connection.sql(f"SELECT {call.sql} FROM {rows}").fetchall()[0][0] is not None
    window = aggregate(row.name, *args, over=" OVER (PARTITION BY part)")
    assert len(connection.sql(f"SELECT {window.sql} FROM {rows}").fetchall()) == 5


@pytest.mark.parametrize("row", registry._WINDOWS.values(), ids=lambda row: row.name)
def test_window_example(connection: duckdb.DuckDBPyConnection, row: registry.WindowFunction) -> None:
    inner = row.example[len(row.name) + 1 : -1]
    args = [lower(text.strip(), {"x": T.INT}) for text in inner.split(",") if text.strip()]
    wanted = row.arguments([arg.dtype for arg in args])
    assert wanted is not None
    result = row.result(wanted)
    sql = lower_window(row, [arg.sql for arg in args], wanted, result, over=" OVER (ORDER BY x)")
    relation = connection.sql(f"SELECT {sql} FROM {values_sql([(i,) for i in range(4)], (T.INT,))}")
    assert len(relation.fetchall()) == 4
    assert str(relation.types[0]) == str(connection.sql(f"SELECT CAST(NULL AS {duckdb_type(result)})").types[0])


def test_last_value_ignores_nulls(connection: duckdb.DuckDBPyConnection) -> None:
    row = registry.window("last_value")
    assert row is not None
    sql = lower_window(row, ["x"], (T.INT,), T.INT, over=" OVER (ORDER BY part)", nulls=" IGNORE NULLS")
    rows = values_sql([(1,), (None,), (None,)], (T.INT,))
    assert connection.sql(f"SELECT {sql} FROM {rows}").fetchall() == [(1,), (1,), (1,)]
