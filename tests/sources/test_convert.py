"""Columns of older files in the types that their table has now."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from sharkpy.sources.column_conversion import convert, convert_columns
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema, arrow_schema, to_arrow

CASES: list[tuple[str, str, list[Any], list[Any]]] = [
    ("int", "string", [7, None], ["7", None]),
    ("double", "string", [1.0, 1e10], ["1.0", "1.0E10"]),
    ("timestamp", "string", [datetime.datetime(2024, 1, 2, 3, 4, 5, 500000)], ["2024-01-02 03:04:05.5"]),
    ("string", "int", ["12", "x", "", None], [12, None, None, None]),
    ("string", "varchar(2)", ["abc"], ["ab"]),
    ("bigint", "int", [5, 1 << 40], [5, None]),
    ("int", "double", [3], [3.0]),
    ("double", "int", [2.75], [2]),
    ("decimal(5,2)", "decimal(4,1)", [Decimal("12.34")], [Decimal("12.3")]),
    ("date", "string", [datetime.date(2024, 2, 29)], ["2024-02-29"]),
    ("array<int>", "array<string>", [[1, None], None, []], [["1", None], None, []]),
    ("map<string,int>", "map<string,bigint>", [[("a", 1)]], [[("a", 1)]]),
    ("struct<a:int,b:int>", "struct<x:string>", [{"a": 1, "b": 2}, None], [{"x": "1"}, None]),
    ("struct<a:int>", "struct<a:int,b:int>", [{"a": 1}], [{"a": 1, "b": None}]),
    ("array<int>", "int", [[1]], [None]),
]


@pytest.mark.parametrize(("old", "new", "values", "expected"), CASES, ids=[f"{c[0]} to {c[1]}" for c in CASES])
def test_values(old: str, new: str, values: list[Any], expected: list[Any]) -> None:
    was, now = parse_type(old), parse_type(new)
    found = convert(pa.array(values, to_arrow(was)), was, now)
    assert found.type == to_arrow(now)
    assert found.to_pylist() == expected


def test_columns_go_by_their_places() -> None:
    old = Schema((Field("a", parse_type("int")), Field("gone", parse_type("string"))))
    new = Schema((Field("b", parse_type("string")), Field("c", parse_type("string")), Field("d", parse_type("date"))))
    batch = pa.RecordBatch.from_pydict({"a": [1], "gone": ["x"]}, arrow_schema(old))
    (found,) = convert_columns([batch], old, new)
    assert found.to_pylist() == [{"b": "1", "c": "x", "d": None}]
