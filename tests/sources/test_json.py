"""JSON lines: keys without case, bad lines and values as NULL, the quick reader and the slow one alike."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from sharkpy.sources.layout import list_data_files
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.registry import source
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema

SCHEMA = Schema((Field("a", parse_type("int")), Field("s", parse_type("string"))))


def read(text: str, folder: Path, schema: Schema = SCHEMA) -> tuple[list[tuple[Any, ...]], ReadMetrics]:
    path, metrics, rows = folder / "f.json", ReadMetrics(), []
    path.write_text(text)
    for split in source("json").splits(list_data_files(str(path)), schema, (), 1 << 20):
        for batch in source("json").read(split, schema, schema.names, metrics):
            rows += list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    return rows, metrics


def test_plain_lines(tmp_path: Path) -> None:
    rows, metrics = read('{"a":1,"s":"x"}\n{"s":"y","other":[1]}\n{"a":null}\n', tmp_path)
    assert rows == [(1, "x"), (None, "y"), (None, None)]
    assert (metrics.rows, metrics.malformed_lines, metrics.malformed_fields) == (3, 0, 0)


def test_keys_without_case(tmp_path: Path) -> None:
    assert read('{"A":1,"S":"x"}\n{"a":2}\n', tmp_path)[0] == [(1, "x"), (2, None)]


def test_bad_lines_and_values(tmp_path: Path) -> None:
    rows, metrics = read('{"a":1}\nnot json\n{"a":"x","s":5}\n\n[1]\n{"a":"7","s":{"k":[1]}}\n', tmp_path)
    assert rows == [(1, None), (None, None), (None, "5"), (None, None), (None, None), (7, '{"k": [1]}')]
    assert metrics.malformed_lines == 3
    assert metrics.malformed_fields == 1


def test_nested_and_exact_values(tmp_path: Path) -> None:
    types = [("d", "decimal(20,5)"), ("st", "struct<x:int,y:array<string>>"), ("m", "map<int,string>"), ("t", "date")]
    schema = Schema(tuple(Field(name, parse_type(text)) for name, text in types))
    line = '{"d":123456789012345.12345,"St":{"X":1,"y":["p",null]},"m":{"1":"a","z":"b"},"t":"2013-02-30"}\n'
    rows, metrics = read(line + '{"st":5,"m":{}}', tmp_path, schema)
    assert rows == [
        (Decimal("123456789012345.12345"), {"x": 1, "y": ["p", None]}, [(1, "a")], None),
        (None, None, [], None),
    ]
    assert metrics.malformed_fields == 3
