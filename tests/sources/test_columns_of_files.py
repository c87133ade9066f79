"""Columns of files that describe themselves: several files of other types, and types that Hive has not."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import sharkpy
from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.sources.column_conversion import conform
from sharkpy.sources.file_types import column_type_of, wider_type
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import STRING, Field, Schema

DAY, MOMENT = datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 5)
LARGE = 3_000_000_000
INT32: Any = pa.int32()


def write(path: Path, column: Any, **others: Any) -> None:
    table = pa.table({"a": column, **others})
    if path.suffix == ".orc":
        pa.orc.write_table(table, str(path))
    else:
        pq.write_table(table, path)


@pytest.mark.parametrize("kind", ["parquet", "orc"])
@pytest.mark.parametrize(
    ("first", "second", "answer"),
    [
        (pa.array([1], INT32), [LARGE], [1, LARGE]),
        (pa.array([1], INT32), [1.5], [1.0, 1.5]),
        (pa.array([1.5], pa.float32()), [1e300], [1.5, 1e300]),
        ([Decimal("1.5")], [Decimal("123456.789")], [Decimal("1.5"), Decimal("123456.789")]),
        ([7], [Decimal("0.25")], [Decimal(7), Decimal("0.25")]),
        ([DAY], [MOMENT], [datetime.datetime(2020, 1, 1), MOMENT]),
        (pa.array([[1]], pa.list_(INT32)), [[LARGE]], [[1], [LARGE]]),
        (
            pa.array([{"x": 1}], pa.struct([("x", INT32)])),
            [{"x": LARGE, "y": "n"}],
            [{"x": 1, "y": None}, {"x": LARGE, "y": "n"}],
        ),
    ],
    ids=["int", "double", "float", "decimal", "bigint", "date", "array", "struct"],
)
def test_a_type_that_takes_the_values_of_all_files(
    context: sharkpy.SharkContext, tmp_path: Path, kind: str, first: Any, second: Any, answer: list[object]
) -> None:
    write(tmp_path / f"0.{kind}", first)
    write(tmp_path / f"1.{kind}", second)
    rows = context.sql(f"SELECT a FROM '{tmp_path}/*.{kind}'").fetchall()
    assert [row[0] for row in rows] == answer
    context.sql(f"CREATE TABLE t_{tmp_path.name} USING {kind} LOCATION '{tmp_path}'")
    assert context.sql(f"SELECT * FROM t_{tmp_path.name}").fetchall() == rows


def test_columns_that_some_files_lack(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    write(tmp_path / "0.parquet", [1])
    write(tmp_path / "1.parquet", [2], b=["x"])
    assert context.sql(f"SELECT * FROM '{tmp_path}'").fetchall() == [(1, None), (2, "x")]
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}
    for number, fields in enumerate(([], [{"name": "b", "type": "string"}])):
        kind = ("int", "long")[number]
        written = schema | {"fields": [{"name": "a", "type": kind}, *fields]}
        with open(tmp_path / f"{number}.avro", "wb") as file:
            fastavro.writer(file, written, [{"a": number * LARGE, "b": "y"}])
    assert context.sql(f"SELECT * FROM '{tmp_path}/*.avro'").fetchall() == [(0, None), (LARGE, "y")]


@pytest.mark.parametrize("second", [["x"], [True], [[1]]])
def test_types_that_no_type_takes_in(context: sharkpy.SharkContext, tmp_path: Path, second: list[object]) -> None:
    write(tmp_path / "0.parquet", [1])
    write(tmp_path / "1.parquet", second)
    with pytest.raises(SourceError, match=r'"a" is bigint in ".*0\.parquet" and .* in ".*1\.parquet"'):
        context.sql(f"SELECT a FROM '{tmp_path}'")


@pytest.mark.parametrize(
    ("left", "right", "wider"),
    [
        ("tinyint", "smallint", "smallint"),
        ("bigint", "float", "double"),
        ("decimal(38,0)", "decimal(38,10)", None),
        ("map<string,int>", "map<string,bigint>", "map<string,bigint>"),
        ("struct<a:int>", "struct<a:string>", None),
        ("string", "binary", None),
    ],
)
def test_wider_types(left: str, right: str, wider: str | None) -> None:
    found = wider_type(parse_type(left), parse_type(right))
    assert found == (None if wider is None else parse_type(wider))


TIME = datetime.time(1, 2, 3, 400)
UUID = uuid.UUID(int=5)


@pytest.mark.parametrize(
    ("column", "answer"),
    [
        (pa.ExtensionArray.from_storage(pa.uuid(), pa.array([UUID.bytes, None], pa.binary(16))), str(UUID)),
        (pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a":1}', None])), '{"a":1}'),
        (pa.array([TIME, None]), "01:02:03.0004"),
        (pa.array([TIME.replace(microsecond=0), None], pa.time32("ms")), "01:02:03"),
        (pa.array([Decimal("1" * 40 + ".25"), None], pa.decimal256(50, 2)), "1" * 40 + ".25"),
        (pa.array([datetime.timedelta(seconds=1), None], pa.duration("us")), 1_000_000),
        (pa.array([[TIME], None]), ["01:02:03.0004"]),
        (pa.array([2**64 - 1, None], pa.uint64()), Decimal(2**64 - 1)),
    ],
    ids=["uuid", "json", "time", "time32", "decimal", "duration", "nested", "uint64"],
)
def test_types_that_hive_has_not(context: sharkpy.SharkContext, tmp_path: Path, column: Any, answer: object) -> None:
    write(tmp_path / "f.parquet", column, k=[1, 2])
    assert context.sql(f"SELECT a, k FROM '{tmp_path}/f.parquet'").fetchall() == [(answer, 1), (None, 2)]


def test_the_other_columns_of_one_that_cannot_be_read(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    kinds, places = pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32())
    union: Any = pa.UnionArray.from_dense(kinds, places, [pa.array([1]), pa.array(["x"])])
    write(tmp_path / "f.orc", union, k=[1, 2])
    place = f"'{tmp_path}/f.orc'"
    assert context.sql(f"SELECT k FROM {place}").fetchall() == [(1,), (2,)]
    with pytest.raises(SourceError, match=r'column "a" of .* cannot be read'):
        context.sql(f"SELECT a FROM {place}").fetchall()


def test_structs_without_fields() -> None:
    empty = pa.struct([])
    assert column_type_of(pa.struct([("x", pa.int32()), ("y", pa.struct([("z", empty)]))])) == parse_type(
        "struct<x:int>"
    )
    with pytest.raises(UnsupportedError, match="without fields"):
        column_type_of(pa.struct([("z", empty)]))
    # Arrow reads no column of the file for such a struct.
    schema = Schema((Field("a", STRING),))
    with pytest.raises(SourceError, match="a struct without fields"):
        conform(pa.table({"k": [1]}), {"a": "A"}, schema, ["a"], "f.parquet")


def test_odd_names(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    names = ["a\tb", "K", "k", "", "c"]
    pq.write_table(pa.Table.from_arrays([pa.array([number]) for number in range(5)], names), tmp_path / "f.parquet")
    place = f"'{tmp_path}/f.parquet'"
    assert context.sql(f"SELECT `a\tb`, c FROM {place}").fetchall() == [(0, 4)]
    with pytest.raises(SourceError, match='two columns "k"'):
        context.sql(f"SELECT k FROM {place}").fetchall()


@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
def test_files_without_a_byte(context: sharkpy.SharkContext, tmp_path: Path, kind: str) -> None:
    (tmp_path / f"0.{kind}").touch()
    if kind == "avro":
        schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "long"}]}
        with open(tmp_path / f"1.{kind}", "wb") as file:
            fastavro.writer(file, schema, [{"a": 7}])
    else:
        write(tmp_path / f"1.{kind}", [7])
    assert context.sql(f"SELECT a FROM '{tmp_path}'").fetchall() == [(7,)]
    context.sql(f"CREATE EXTERNAL TABLE empty_{kind} (a BIGINT) STORED AS {kind} LOCATION '{tmp_path}'")
    assert context.sql(f"SELECT sum(a), count(*) FROM empty_{kind}").fetchall() == [(7, 1)]
