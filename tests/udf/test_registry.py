"""The registry's tables, generators, cheap forms, and what connections need."""

from __future__ import annotations

import subprocess
import sys
import time
from decimal import ROUND_HALF_UP, Decimal

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.base.errors import BindError, TypeMismatchError
from sharkpy.udf import registry
from sharkpy.udf.casts import can_cast, lower_cast
from sharkpy.udf.connection import prepare_connection
from sharkpy.udf.duckdb_sql import lower_literal
from sharkpy.udf.java_regex.pattern import translate
from sharkpy.udf.lower import lower_scalar
from sharkpy.values import types as T  # noqa: N812 - a table of types is clearer short
from sharkpy.values.type_parser import parse_type
from tests.udf.hive_expression import lower
from tests.waiting import allowed

OPERATORS = [
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "eq_null_safe",
    "and",
    "or",
    "not",
    "add",
    "subtract",
    "multiply",
    "divide",
    "mod",
    "div",
    "negate",
    "like",
    "rlike",
    "in",
    "between",
    "is_null",
    "is_not_null",
    "concat",
    "case_when",
    "element_at",
    "field",
]


def test_names() -> None:
    assert all(registry.scalar(name) for name in OPERATORS)
    assert all(registry.canonical(alias) in registry.names() for alias in registry.ALIASES)
    assert registry.scalar("UCASE") is registry.scalar("upper")
    assert registry.scalar("no_such_function") is None
    assert len(registry.names()) > 150


def test_arguments_that_do_not_fit() -> None:
    for name, types in (("add", (T.BOOLEAN, T.INT)), ("substr", (T.STRING,)), ("size", (T.INT,)), ("eq", (T.INT,))):
        row = registry.scalar(name)
        assert row is not None
        assert row.arguments(types) is None


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("explode(array(1, 2))", [(1,), (2,)]),
        ("explode(map('a', 1))", [("a", 1)]),
        ("explode(CAST(NULL AS ARRAY<INT>))", []),
        ("posexplode(array('a', 'b'))", [(0, "a"), (1, "b")]),
        ("inline(array(struct(1, 'a'), struct(2, 'b')))", [(1, "a"), (2, "b")]),
        ("stack(2, 1, 'a', 2, 'b')", [(1, "a"), (2, "b")]),
        ("stack(2, 1, 'a', 2)", [(1, "a"), (2, None)]),
        ("json_tuple('{\"a\": 1, \"b\": \"x\"}', 'a', 'b', 'c')", [("1", "x", None)]),
        ("parse_url_tuple('http://h/p?k=v', 'HOST', 'QUERY:k')", [("h", "v")]),
    ],
)
def test_generator(connection: duckdb.DuckDBPyConnection, text: str, rows: list[tuple[object, ...]]) -> None:
    name, _, inner = text.partition("(")
    row = registry.table_function(name)
    assert row is not None
    whole = lower(f"struct({inner}").dtype
    types = whole.types if isinstance(whole, T.StructType) else ()
    sqls = _arguments(f"struct({inner}")
    wanted = row.arguments(types)
    assert wanted is not None
    values = [2] + [None] * (len(types) - 1)
    columns = row.columns(types) if row.literal_columns is None else row.literal_columns(types, values)
    assert row.lists is not None
    lists = row.lists(sqls, types)
    assert len(lists) == len(columns)
    found = connection.sql(f"SELECT {', '.join(f'unnest({one})' for one in lists)}").fetchall()
    assert found == rows


def _arguments(text: str) -> list[str]:
    """SQL of each argument of a call of struct."""
    from tests.udf.hive_expression import _Reader

    reader = _Reader(text, {})
    reader.next()
    reader.next()
    return [arg.sql for arg in reader.arguments(")")]


@settings(max_examples=60, deadline=None)
@given(st.integers(-1000, 1000), st.integers(-1000, 1000), st.sampled_from(["add", "subtract", "multiply"]))
def test_unchecked_forms_agree_where_nothing_overflows(left: int, right: int, name: str) -> None:
    row = registry.scalar(name)
    assert row is not None
    for dtype in (T.INT, T.BIGINT, T.DecimalType(15, 2)):
        types = (dtype, dtype)
        args = [lower_literal(left, dtype), lower_literal(right, dtype)]
        result = row.result(types)
        checked = lower_scalar(row, args, types, result)
        cheap = lower_scalar(row, args, types, result, unchecked=True)
        assert _CON.sql(f"SELECT {checked} = {cheap}").fetchall() == [(True,)]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1), st.sampled_from(["add", "subtract", "multiply"])
)
def test_integers_wrap(left: int, right: int, name: str) -> None:
    row = registry.scalar(name)
    assert row is not None
    exact = {"add": left + right, "subtract": left - right, "multiply": left * right}[name]
    wrapped = (exact + 2**63) % 2**64 - 2**63
    args = [lower_literal(left, T.BIGINT), lower_literal(right, T.BIGINT)]
    sql = lower_scalar(row, args, (T.BIGINT, T.BIGINT), T.BIGINT)
    assert _CON.sql(f"SELECT {sql}").fetchall() == [(wrapped,)]


@settings(max_examples=80, deadline=None)
@given(st.integers(-(10**9), 10**9), st.integers(-300, 300), st.integers(0, 6), st.integers(0, 3))
def test_decimal_division_is_exact(left: int, right: int, scale: int, other: int) -> None:
    types = (T.DecimalType(12, scale), T.DecimalType(6, other))
    values = (Decimal(left).scaleb(-scale), Decimal(right).scaleb(-other))
    row = registry.scalar("divide")
    assert row is not None
    result = row.result(types)
    assert isinstance(result, T.DecimalType)
    sql = lower_scalar(row, [lower_literal(v, t) for v, t in zip(values, types, strict=True)], types, result)
    unit = Decimal(1).scaleb(-result.scale)
    expected = (values[0] / values[1]).quantize(unit, ROUND_HALF_UP) if right else None
    assert _CON.sql(f"SELECT {sql}").fetchall() == [(expected,)]


@settings(max_examples=60, deadline=None)
@given(st.floats())
def test_double_text_reads_back(value: float) -> None:
    text = _CON.sql(f"SELECT {lower_cast(lower_literal(value, T.DOUBLE), T.DOUBLE, T.STRING)}").fetchall()[0][0]
    assert repr(float(text.replace("Infinity", "inf"))) == repr(value)


def test_cube_roots_of_cubes_are_whole() -> None:
    row = registry.scalar("cbrt")
    assert row is not None
    for value in (0, 1, 2, 3, -3, 7, 10, 999, 1291):
        sql = lower_scalar(row, [lower_literal(float(value**3), T.DOUBLE)], (T.DOUBLE,), T.DOUBLE)
        assert _CON.sql(f"SELECT {sql}").fetchall() == [(float(value),)]


def test_casts_that_do_not_exist() -> None:
    assert not can_cast(T.DATE, T.INT)
    with pytest.raises(TypeMismatchError):
        lower_cast("x", T.ArrayType(T.INT), T.INT)


def test_structs_and_maps_cast_by_position(connection: duckdb.DuckDBPyConnection) -> None:
    source, target = (
        parse_type("struct<a:int,b:map<string,int>>"),
        parse_type("struct<x:string,y:map<string,bigint>>"),
    )
    sql = lower_cast(lower_literal({"a": 1, "b": {"k": 2}}, source), source, target)
    assert connection.sql(f"SELECT {sql}").fetchall() == [({"x": "1", "y": {"k": 2}},)]


@pytest.mark.parametrize("pattern", ["(", "a{", "*a", "\\"])
def test_bad_patterns_are_refused(pattern: str) -> None:
    with pytest.raises(BindError):
        translate(pattern)


def test_kernels_take_columns(connection: duckdb.DuckDBPyConnection) -> None:
    rows = connection.sql("SELECT shark_rlike(x, '(a)\\1') FROM (VALUES ('aa'), (NULL), ('ab')) AS t(x)").fetchall()
    assert rows == [(True,), (None,), (False,)]


def test_preparing_is_quick_and_repeatable() -> None:
    con = duckdb.connect()
    start = time.perf_counter()
    prepare_connection(con)
    taken = time.perf_counter() - start
    cursor = con.cursor()
    prepare_connection(cursor)
    assert cursor.execute("SELECT shark_double_text(1e10)").fetchall() == [("1.0E10",)]
    assert taken < allowed(0.3), "30 ms on a quiet machine"


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys, duckdb\nfrom sharkpy.udf import registry\nfrom sharkpy.udf.connection import prepare_connection\n"
        "con = duckdb.connect(); prepare_connection(con)\n"
        "print([m for m in ('numba', 'pandas', 'pyspark') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


_CON = duckdb.connect()
prepare_connection(_CON)
