"""Data of this process as tables: each kind's columns, misfits, and that a failure leaves nothing."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sharkpy
from sharkpy.base.errors import (
    BindError,
    CancelledError,
    ColumnCountError,
    ColumnNotFoundError,
    DataError,
    ParameterError,
    ParseError,
    SharkError,
    TableExistsError,
    UnsupportedError,
)
from sharkpy.values import types as hive


@pytest.fixture(scope="module")
def ctx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("save") / "w") as context:
        yield context


@pytest.fixture
def name(ctx: sharkpy.SharkContext, request: pytest.FixtureRequest) -> Iterator[str]:
    """Name of the test's own table, which is dropped after it."""
    chosen = "t_" + "".join(letter if letter.isalnum() else "_" for letter in request.node.name.lower())
    yield chosen
    ctx.sql(f"DROP TABLE IF EXISTS {chosen}").close()


def rows(ctx: sharkpy.SharkContext, name: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in ctx.sql(f"SELECT * FROM {name}").fetchall()]


def columns(ctx: sharkpy.SharkContext, name: str) -> list[tuple[str, str]]:
    return [(field.name, str(field.dtype)) for field in ctx.catalog.table("default", name).schema]


@dataclass
class Point:
    x: int
    label: str | None


class Named(NamedTuple):
    x: int
    label: str | None


WANTED = [(1, "a"), (2, None), (3, "c")]
FORMS = {
    "arrow table": lambda: pa.table({"X": [1, 2, 3], "label": ["a", None, "c"]}),
    "record batch": lambda: pa.record_batch({"X": [1, 2, 3], "label": ["a", None, "c"]}),
    "reader": lambda: pa.table({"X": [1, 2, 3], "label": ["a", None, "c"]}).to_reader(1),
    "pandas": lambda: pd.DataFrame({"x": [1, 2, 3], "label": ["a", None, "c"]}, index=[7, 8, 9]),
    "polars": lambda: pytest.importorskip("polars").DataFrame({"x": [1, 2, 3], "label": ["a", None, "c"]}),
    "lazy polars": lambda: pytest.importorskip("polars").LazyFrame({"x": [1, 2, 3], "label": ["a", None, "c"]}),
    "duckdb": lambda: __import__("duckdb").sql("SELECT * FROM (VALUES (1, 'a'), (2, NULL), (3, 'c')) t(x, label)"),
    "structured": lambda: np.array([(1, "a"), (2, ""), (3, "c")], [("x", "i8"), ("label", "U1")]),
    "dicts": lambda: [{"x": 1, "label": "a"}, {"x": 2}, {"label": "c", "x": 3}],
    "named tuples": lambda: [Named(*row) for row in WANTED],
    "data classes": lambda: [Point(*row) for row in WANTED],
    "generator": lambda: (Named(*row) for row in WANTED),
}


@pytest.mark.variants(3)
@pytest.mark.parametrize("cache", [None, True, "MEMORY_ONLY"], ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_kinds_of_data(ctx: sharkpy.SharkContext, name: str, form: str, cache: Any) -> None:
    assert ctx.save_as_table(FORMS[form](), name, cache=cache) == 3
    assert [column for column, _ in columns(ctx, name)] == ["x", "label"]
    expected = [(x, label or ("" if form == "structured" else None)) for x, label in WANTED]
    assert sorted(rows(ctx, name)) == expected
    assert (ctx.catalog.table("default", name).location is None) == (cache == "MEMORY_ONLY")


def test_a_result_of_the_same_session(ctx: sharkpy.SharkContext, name: str) -> None:
    result = ctx.sql("SELECT id, CAST(id AS string) AS s FROM (SELECT explode(array(1, 2, 3)) AS id) t")
    assert ctx.save_as_table(result, name) == 3
    assert sorted(rows(ctx, name)) == [(1, "1"), (2, "2"), (3, "3")]


def test_matrix_without_names(ctx: sharkpy.SharkContext, name: str) -> None:
    assert ctx.save_as_table(np.array([[1.5, np.nan], [2.5, 3.5]], np.float32), name) == 2
    assert columns(ctx, name) == [("c0", "float"), ("c1", "float")]
    found = rows(ctx, name)
    assert found[0][0] == 1.5
    assert np.isnan(found[0][1])


def test_many_rows_of_a_matrix(ctx: sharkpy.SharkContext, name: str) -> None:
    matrix = np.asfortranarray(np.arange(1_200_000.0).reshape(600_000, 2))
    assert ctx.save_as_table(matrix, name, ["a", "b"], cache="MEMORY_ONLY") == 600_000
    found = ctx.sql(f"SELECT count(*), sum(a), max(b) FROM {name}").fetchall()
    assert found == [(600_000, matrix[:, 0].sum(), 1199999)]


TYPES = {
    "unsigned": (pa.table({"a": pa.array([255], pa.uint8()), "b": pa.array([2**64 - 1], pa.uint64())}),
                 [("a", "smallint"), ("b", "decimal(20,0)")], [(255, decimal.Decimal(2**64 - 1))]),
    "decimals": (pa.table({"a": pa.array([decimal.Decimal("1.25"), None], pa.decimal256(10, 2))}),
                 [("a", "decimal(10,2)")], [(decimal.Decimal("1.25"),), (None,)]),
    "times": (pa.table({
        "zoned": pa.array([datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.UTC)], pa.timestamp("s", "Europe/Berlin")),
        "fine": pa.array([1_000_000_001_999], pa.timestamp("ns")),
        "day": pa.array([datetime.date(2024, 5, 1)], pa.date64())}),
        [("zoned", "timestamp"), ("fine", "timestamp"), ("day", "date")],
        [(datetime.datetime(2024, 5, 1, 12), datetime.datetime(1970, 1, 1, 0, 16, 40, 1), datetime.date(2024, 5, 1))]),
    "coded": (pa.table({"a": pa.array(["x", None, "x"]).dictionary_encode(),
                        "b": pa.RunEndEncodedArray.from_arrays([2, 3], [1, 2])}),
              [("a", "string"), ("b", "bigint")], [("x", 1), (None, 1), ("x", 2)]),
    "nested": (pa.table({"a": [[1, None], None], "b": [{"K": "v", "n": 1}, None]}),
               [("a", "array<bigint>"), ("b", "struct<k:string,n:bigint>")],
               [([1, None], {"k": "v", "n": 1}), (None, None)]),
    "half": (np.array([[1.5]], np.float16), [("c0", "float")], [(1.5,)]),
    "big endian": (np.array([[1], [2]], ">i4"), [("c0", "int")], [(1,), (2,)]),
    "masked": (np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]]),
               [("c0", "bigint"), ("c1", "bigint")], [(1, None), (3, 4)]),
    "nulls alone": (pa.table({"a": pa.nulls(2)}), [("a", "string")], [(None,), (None,)]),
    "pandas": (pd.DataFrame({"i": pd.array([1, None], "Int32"), "c": pd.Categorical(["u", None]),
                             "f": [1.5, float("nan")], "t": pd.to_datetime(["2024-05-01", None])}),
               [("i", "int"), ("c", "string"), ("f", "double"), ("t", "timestamp")],
               [(1, "u", 1.5, datetime.datetime(2024, 5, 1)), (None, None, None, None)]),
    "nested rows": ([{"p": Point(1, "a"), "m": [Named(2, "b")]}, {"p": None}],
                    [("p", "struct<x:bigint,label:string>"), ("m", "array<struct<x:bigint,label:string>>")],
                    [({"x": 1, "label": "a"}, [{"x": 2, "label": "b"}]), (None, None)]),
}  # fmt: skip


@pytest.mark.parametrize("kind", TYPES)
def test_types(ctx: sharkpy.SharkContext, name: str, kind: str) -> None:
    data, wanted, values = TYPES[kind]
    ctx.save_as_table(data, name)
    assert columns(ctx, name) == wanted
    assert rows(ctx, name) == values


SCHEMAS = {
    "text": "id bigint, s varchar(3)",
    "dict": {"id": "bigint", "s": "varchar(3)"},
    "dict of classes": {"id": int, "s": str},
    "arrow": pa.schema([("id", pa.int64()), ("s", pa.string())]),
    "own": hive.Schema((hive.Field("id", hive.BIGINT),
                                 hive.Field("s", hive.STRING))),
    "names": ["ID", "s"],
}  # fmt: skip


@pytest.mark.parametrize("form", SCHEMAS)
def test_forms_of_schema(ctx: sharkpy.SharkContext, name: str, form: str) -> None:
    ctx.save_as_table([(1, "a"), (2, "b")], name, SCHEMAS[form])
    assert [column for column, _ in columns(ctx, name)] == ["id", "s"]
    assert rows(ctx, name) == [(1, "a"), (2, "b")]


def test_a_declared_schema_converts_and_orders_by_name(ctx: sharkpy.SharkContext, name: str) -> None:
    data = pa.table({"b": pa.array([1.0, 2.0]), "a": pa.array([1, 2], pa.int64()), "m": [{"k": 1}, None]})
    ctx.save_as_table(data, name, "a tinyint, m struct<k:int>, b decimal(5,1)")
    assert columns(ctx, name) == [("a", "tinyint"), ("m", "struct<k:int>"), ("b", "decimal(5,1)")]
    assert rows(ctx, name) == [(1, {"k": 1}, decimal.Decimal("1.0")), (2, None, decimal.Decimal("2.0"))]


def test_maps_are_declared(ctx: sharkpy.SharkContext, name: str) -> None:
    ctx.save_as_table([({"a": 1, "b": 2},), (None,)], name, "m map<string,int>")
    assert rows(ctx, name) == [({"a": 1, "b": 2},), (None,)]


BAD: dict[str, tuple[Any, Any, type[SharkError], str]] = {
    "overflow": (pa.table({"a": [1, 300, 2]}), "a tinyint", DataError, r'"a" is tinyint and cannot have 300 \(row 1\)'),
    "fraction": ([1, 2.5], "a int", DataError, r"cannot have 2.5 \(row 1\)"),
    "text for a number": ([(1,), ("x",)], "a int", DataError, r"cannot have 'x' \(row 1\)"),
    "number for a text": ([("x",), (1,)], "a string", DataError, r"cannot have 1 \(row 1\)"),
    "boolean for a number": ([(True,)], "a int", DataError, "cannot have True"),
    "time for a day": ([(datetime.datetime(2024, 1, 1, 5),)], "a date", DataError, "cannot have datetime"),
    "too long": ([("ab",), ("abc",)], "a varchar(2)", DataError, r"cannot have 'abc' \(row 1\)"),
    "digits": ([(decimal.Decimal("1.234"),)], "a decimal(5,2)", DataError, "cannot have Decimal"),
    "nan for an integer": (np.array([[1.0], [np.nan]]), "a int", DataError, r"cannot have nan \(row 1\)"),
    "unknown field": ([({"k": 1, "z": 2},)], "a struct<k:int>", DataError, "cannot have"),
    "kinds": ([1, "x"], None, DataError, "values of different kinds"),
    "kinds of pandas": (pd.DataFrame({"a": [1, "x"]}, dtype=object), None, DataError, '"a" of the DataFrame'),
    "lengths": ([(1, 2), (1,)], "a int, b int", DataError, r"1 values for 2 columns \(row 1\)"),
    "one more name": ([{"a": 1, "z": 2}], "a int", ColumnNotFoundError, 'column "z"'),
    "missing column": (pa.table({"a": [1]}), "a int, b int", ColumnNotFoundError, 'no column "b"'),
    "count": (np.zeros((2, 3)), "a int, b int", ColumnCountError, "3 columns"),
    "names": (np.zeros((2, 3)), ["a"], ColumnCountError, "1 names for the 3 columns"),
    "case": (pa.table({"a": [1], "A": [2]}), None, BindError, '"a" and "A" are one column'),
    "empty name": (pa.table({"": [1]}), None, BindError, "empty name"),
    "no type of Hive's": (pa.table({"a": pa.array([1], pa.duration("s"))}), None, UnsupportedError, 'column "a"'),
    "dimensions": (np.zeros((2, 2, 2)), None, DataError, "3 dimensions"),
    "no columns": (np.zeros((2, 0)), None, DataError, "no columns"),
    "no rows": ([], None, DataError, "no rows"),
    "a number": (5, None, ParameterError, "int cannot be saved"),
    "a text": ("abc", None, ParameterError, "str cannot be saved"),
    "levels": (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), None, UnsupportedError, "levels"),
    "schema": ([1], 5, ParameterError, "int is not a schema"),
    "type": ([1], "a integre", ParseError, "integre"),
}


@pytest.mark.variants(3)
@pytest.mark.parametrize("case", BAD)
def test_bad_input_leaves_nothing(ctx: sharkpy.SharkContext, name: str, case: str) -> None:
    data, schema, kind, message = BAD[case]
    for cache in (None, "MEMORY_ONLY"):
        with pytest.raises(kind, match=message):
            ctx.save_as_table(data, name, schema, cache=cache)
    assert ctx.catalog.find_table("default", name) is None
    location = Path(ctx.catalog.managed_location("default", name))
    assert not location.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "replace"}, 'mode="replace"'),
        ({"cache": "DISK"}, "cache='DISK'"),
    ],
    ids=["mode", "cache"],
)
def test_bad_options(ctx: sharkpy.SharkContext, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        ctx.save_as_table([1], "never", **options)


@pytest.mark.parametrize("bad", ["a.b.c", "", ".x", "a/b"], ids=["three", "empty", "half", "slash"])
def test_bad_names(ctx: sharkpy.SharkContext, bad: str) -> None:
    with pytest.raises(BindError):
        ctx.save_as_table([1], bad)


def test_modes(ctx: sharkpy.SharkContext, name: str) -> None:
    assert ctx.save_as_table([(1, "a")], name, "id int, s string", mode="append") == 1
    with pytest.raises(TableExistsError):
        ctx.save_as_table([(1, "a")], name)
    assert ctx.save_as_table([(2, "b")], name, mode="ignore") == 0
    assert ctx.save_as_table(pa.table({"s": ["c"], "ID": [3]}), name, mode="append") == 1
    assert sorted(rows(ctx, name)) == [(1, "a"), (3, "c")]
    with pytest.raises(DataError, match="cannot have 'x'"):
        ctx.save_as_table([("x", "c")], name, mode="append")
    assert sorted(rows(ctx, name)) == [(1, "a"), (3, "c")]
    assert ctx.save_as_table([{"other": 1.5}], name, mode="overwrite") == 1
    assert columns(ctx, name) == [("other", "double")]


def test_a_failed_overwrite_leaves_the_old_table(ctx: sharkpy.SharkContext, name: str) -> None:
    ctx.save_as_table([(1,)], name, "a int")
    with pytest.raises(DataError):
        ctx.save_as_table([(1,), ("x",)], name, "a int", mode="overwrite")
    assert rows(ctx, name) == [(1,)]


def test_append_keeps_defaults_and_constraints(ctx: sharkpy.SharkContext, name: str) -> None:
    ctx.sql(f"CREATE TABLE {name} (id int NOT NULL, s string DEFAULT 'none') STORED AS PARQUET").close()
    assert ctx.save_as_table([{"id": 1}], name, "id int", mode="append") == 1
    assert rows(ctx, name) == [(1, "none")]
    with pytest.raises(SharkError, match=r"(?i)null"):
        ctx.save_as_table(pa.table({"id": pa.array([None], pa.int32()), "s": ["x"]}), name, mode="append")
    assert rows(ctx, name) == [(1, "none")]


def test_databases_partitions_buckets_and_properties(ctx: sharkpy.SharkContext, name: str) -> None:
    ctx.sql("CREATE DATABASE IF NOT EXISTS saved").close()
    data = pa.table({"day": ["x", "y", "x"], "n": [1, 2, 3]})
    assert ctx.save_as_table(data, f"saved.{name}", partition_by=["Day"], comment="it's", properties={"k": "v"}) == 3
    table = ctx.catalog.table("saved", name)
    assert (table.partition_columns, table.comment, dict(table.properties)["k"]) == (("day",), "it's", "v")
    assert ctx.sql(f"SHOW PARTITIONS saved.{name}").fetchall() == [("day=x",), ("day=y",)]
    assert ctx.sql(f"SELECT sum(n) FROM saved.{name} WHERE day = 'x'").fetchall() == [(4,)]
    ctx.save_as_table(data, name, cache="MEMORY_ONLY", distribute_by=["n"])
    buckets = ctx.catalog.table("default", name).buckets
    assert buckets is not None
    assert buckets.columns == ("n",)
    assert len(rows(ctx, name)) == 3
    ctx.sql("DROP DATABASE saved CASCADE").close()


def test_no_rows_of_a_known_schema(ctx: sharkpy.SharkContext, name: str) -> None:
    assert ctx.save_as_table(pa.table({"a": pa.array([], pa.int64())}), name) == 0
    assert columns(ctx, name) == [("a", "bigint")]
    assert ctx.save_as_table([], name, "b int", mode="overwrite") == 0
    assert rows(ctx, name) == []


def test_rows_of_this_process_are_written_by_it(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w", shark_placement_driver=False) as context:
        assert context.save_as_table([(1, "a")], "t", ["id", "s"], distribute_by=["id"], cache="MEMORY_ONLY") == 1
        assert not context.engine.is_spark_started


def test_a_cancelled_save_leaves_nothing(ctx: sharkpy.SharkContext, name: str) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"a": [1]})
        ctx.cancel()
        for _ in range(1000):
            yield pa.record_batch({"a": [1]})

    reader = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), batches())
    with pytest.raises(CancelledError):
        ctx.save_as_table(reader, name)
    assert ctx.catalog.find_table("default", name) is None


LINES = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
        st.one_of(st.none(), st.floats(allow_nan=False)),
        st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]))),
        st.one_of(st.none(), st.dates()),
        st.one_of(st.none(), st.binary()),
    ),
    max_size=40,
)


@given(LINES)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_read_is_what_was_saved(ctx: sharkpy.SharkContext, lines: list[tuple[Any, ...]]) -> None:
    schema = "i bigint, d double, s string, t date, b binary"
    for cache in (None, "MEMORY_ONLY"):
        ctx.save_as_table(lines, "round_trip", schema, cache=cache)
        found = rows(ctx, "round_trip")
        ctx.sql("DROP TABLE round_trip").close()
        assert found == lines
