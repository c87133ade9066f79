"""Round trips through files: rows are read as written, for every format and type, for any split of the file."""

from __future__ import annotations

import datetime
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sharkpy.catalog.hive_formats import COLUMNAR, LAZY_BINARY
from sharkpy.sources.formats import source
from sharkpy.sources.layout import list_data_files
from sharkpy.sources.source import ReadMetrics
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema, arrow_schema

ESCAPED = (
    ("field.delim", ","),
    ("collection.delim", "|"),
    ("mapkey.delim", ":"),
    ("escape.delim", "\\"),
)
DEFLATE = ("mapreduce.output.fileoutputformat.compress.codec", "org.apache.hadoop.io.compress.DefaultCodec")
BLOCK = ("mapreduce.output.fileoutputformat.compress.type", "BLOCK")
FORMATS: dict[str, tuple[str, Any]] = {
    "text": ("text", ESCAPED),
    "json": ("json", ()),
    "parquet": ("parquet", ()),
    "orc": ("orc", ()),
    "avro": ("avro", ()),
    "sequence-text": ("sequencefile", ESCAPED),
    "sequence-records": ("sequencefile", (*ESCAPED, DEFLATE)),
    "sequence-blocks": ("sequencefile", (*ESCAPED, DEFLATE, BLOCK)),
    "sequence-binary": ("sequencefile", (("serialization.lib", LAZY_BINARY),)),
    "rcfile-text": ("rcfile", (*ESCAPED, ("serialization.lib", COLUMNAR))),
    "rcfile-binary": ("rcfile", ()),
    "rcfile-deflate": ("rcfile", (DEFLATE,)),
}

TEXT = st.text(st.sampled_from("ab,|:\\N\n\r\x01\x02\x03é\u4e16 \"'n"), max_size=8)
INT = st.integers(-(2**31), 2**31 - 1)
DOUBLE = st.floats(allow_nan=False, width=64)
EDGES = (
    datetime.datetime(1, 1, 1),
    datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 500_000),
)
TIME = st.datetimes() | st.sampled_from(EDGES)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "tinyint": st.integers(-128, 127),
    "smallint": st.integers(-(2**15), 2**15 - 1),
    "int": INT,
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(allow_nan=False, width=32),
    "double": DOUBLE,
    "string": TEXT,
    "varchar(20)": TEXT,
    "binary": st.binary(max_size=6),
    "decimal(12,3)": st.integers(-(10**12) + 1, 10**12 - 1).map(lambda n: Decimal(n).scaleb(-3)),
    "decimal(38,10)": st.integers(-(10**37), 10**37).map(lambda n: Decimal(n).scaleb(-10)),
    "date": st.dates(),
    "timestamp": TIME,
    "array<timestamp>": st.lists(st.none() | TIME, max_size=3).filter(lambda items: items != [None]),
    "struct<t:timestamp,d:date>": st.fixed_dictionaries({"t": st.none() | TIME, "d": st.none() | st.dates()}),
    # In text, the only NULL of an array looks like a NULL array, and a single empty string like no item.
    "array<int>": st.lists(st.none() | INT, max_size=3).filter(lambda items: items != [None]),
    "array<array<string>>": st.lists(st.lists(TEXT.filter(bool), min_size=1, max_size=2), min_size=1, max_size=2),
    "map<string,double>": st.dictionaries(TEXT.filter(bool), st.none() | DOUBLE, max_size=3).map(
        lambda entries: list(entries.items())
    ),
    "struct<x:int,y:string>": st.fixed_dictionaries({"x": st.none() | INT, "y": TEXT}),
    "array<struct<a:int,m:map<string,int>>>": st.lists(
        st.fixed_dictionaries({"a": INT, "m": st.just([("k", 1)])}), min_size=1, max_size=2
    ),
}


def _in_millis(value: datetime.datetime) -> datetime.datetime:
    return value.replace(microsecond=value.microsecond // 1000 * 1000)


NARROWER: dict[tuple[str, str], st.SearchStrategy[Any]] = {
    # As in Hive: no bytes at all are NULL, and Avro keeps milliseconds.
    ("rcfile-binary", "binary"): st.binary(min_size=1, max_size=6),
    ("rcfile-deflate", "binary"): st.binary(min_size=1, max_size=6),
    ("avro", "timestamp"): TIME.map(_in_millis),
    ("avro", "array<timestamp>"): st.lists(TIME.map(_in_millis), max_size=3),
    ("avro", "struct<t:timestamp,d:date>"): st.fixed_dictionaries({"t": TIME.map(_in_millis), "d": st.dates()}),
}


def read_all(
    format_name: str, path: Path, schema: Schema, properties: Any, split_bytes: int, names: Any = None
) -> pa.Table:
    reader = source(format_name)
    names = schema.names if names is None else names
    splits = reader.splits(list_data_files(str(path)), schema, properties, split_bytes)
    batches = [batch for split in splits for batch in reader.read(split, schema, names, ReadMetrics())]
    return pa.Table.from_batches(batches, arrow_schema(schema.select(names)))


@pytest.mark.variants(6)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("type_name", VALUES)
def test_round_trip(form: str, type_name: str) -> None:
    schema = Schema((Field("n", parse_type("int")), Field("v", parse_type(type_name))))
    format_name, properties = FORMATS[form]
    one_value = NARROWER.get((form, type_name), VALUES[type_name])

    @settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.none() | one_value, max_size=9), st.integers(1, 200))
    def check(values: list[Any], split_bytes: int) -> None:
        rows = {"n": list(range(len(values))), "v": values}
        batch = pa.RecordBatch.from_pydict(rows, arrow_schema(schema))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "part-0"
            batches = [batch.slice(0, 2), batch.slice(2)]
            assert source(format_name).write(batches, schema, properties, str(path)) == len(values)
            table = read_all(format_name, path, schema, properties, split_bytes)
            assert table.to_pydict() == batch.to_pydict()
            assert read_all(format_name, path, schema, properties, 1 << 20, ("v",))["v"].to_pylist() == values

    check()


@pytest.mark.parametrize("form", FORMATS)
def test_empty_file_and_rows_without_columns(form: str, tmp_path: Path) -> None:
    schema = Schema((Field("a", parse_type("int")),))
    format_name, properties = FORMATS[form]
    reader = source(format_name)
    assert reader.write([], schema, properties, str(tmp_path / "none")) == 0
    assert read_all(format_name, tmp_path / "none", schema, properties, 100).num_rows == 0
    batch = pa.RecordBatch.from_pydict({"a": list(range(100))}, arrow_schema(schema))
    reader.write([batch], schema, properties, str(tmp_path / "some"))
    splits = reader.splits(list_data_files(str(tmp_path / "some")), schema, properties, 50)
    assert sum(b.num_rows for split in splits for b in reader.read(split, schema, ())) == 100


@pytest.mark.parametrize("format_name", ["parquet", "orc", "json", "avro"])
def test_columns_by_name_and_missing_ones(format_name: str, tmp_path: Path) -> None:
    written = Schema((Field("b", parse_type("int")), Field("a", parse_type("smallint"))))
    path = tmp_path / "f"
    source(format_name).write(
        [pa.RecordBatch.from_pydict({"b": [1, None], "a": [2, 3]}, arrow_schema(written))], written, (), str(path)
    )
    schema = Schema(tuple(Field(n, parse_type(t)) for n, t in [("a", "bigint"), ("zz", "string"), ("b", "double")]))
    table = read_all(format_name, path, schema, (), 1 << 20)
    assert table.to_pydict() == {"a": [2, 3], "zz": [None, None], "b": [1.0, None]}
    assert table.schema == arrow_schema(schema)


@pytest.mark.parametrize("format_name", ["parquet", "orc", "avro", "sequencefile", "rcfile"])
def test_corrupt_file_is_named(format_name: str, tmp_path: Path) -> None:
    from sharkpy.base.errors import SourceError

    schema = Schema((Field("a", parse_type("int")),))
    path = tmp_path / "bad"
    path.write_bytes(b"PAR1 this is no such file PAR1")
    with pytest.raises(SourceError, match="bad"):
        read_all(format_name, path, schema, (), 1 << 20)
