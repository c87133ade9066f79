"""Rows written as JSON: the texts equal those from Python's own writer, whatever way a column takes."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal

import pyarrow as pa
import pytest

from sharkpy.sources.json_values import json_rows, json_value
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema, arrow_schema

COLUMNS: dict[str, list[object]] = {
    "bigint": [0, -(1 << 63), None, (1 << 63) - 1],
    "tinyint": [1, None, -128, 127],
    "boolean": [True, False, None, True],
    "string": ["", "plain", None, "ü€😀"],
    "varchar(10)": ["\\", '"', 'a"\\b', None],
    "char(3)": ["\n", "\t\x00", "\x1f", "\x7f\u2028"],
    "double": [1.0, 1e16, None, float("nan")],
    "float": [0.5, float("-inf"), None, 1e-7],
    "decimal(10,2)": [Decimal("1.10"), Decimal("-0.00"), None, Decimal(12)],
    "date": [datetime.date(2020, 1, 2), None, datetime.date(1, 1, 1), datetime.date(9999, 12, 31)],
    "timestamp": [datetime.datetime(2020, 1, 2, 3), None, datetime.datetime(2020, 1, 2, 3, 4, 5, 60), None],
    "binary": [b"", b"\xff\x00", None, b"abc"],
    "array<string>": [["a", None], [], None, ['"']],
    "map<string,bigint>": [[("k", 1)], [], None, [("l", None)]],
}


@pytest.mark.parametrize("name", COLUMNS)
def test_texts_are_those_of_the_plain_writer(name: str) -> None:
    dtype = parse_type(name)
    schema = Schema((Field("a", dtype), Field('q"', dtype)))
    values = COLUMNS[name]
    target = arrow_schema(schema)
    batch = pa.RecordBatch.from_arrays([pa.array(values, target.field(0).type)] * 2, schema=target)
    found = json_rows(batch.slice(1), schema)
    stored = batch.column(0).to_pylist()[1:]
    expected = [{field.name: json_value(value, dtype) for field in schema} for value in stored]
    assert found.type == pa.binary()
    assert found.to_pylist() == [
        json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() for row in expected
    ]


def test_rows_without_columns() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([1, 2])], names=["x"])
    assert json_rows(batch.select([]), Schema(())).to_pylist() == [b"{}", b"{}"]
