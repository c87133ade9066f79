"""JSON lines: keys without case, bad lines and values as NULL, the quick reader and the slow one alike."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from sharkpy.sources.formats import source
from sharkpy.sources.layout import list_data_files
from sharkpy.sources.source import ReadMetrics
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema

SCHEMA = Schema((Field("a", parse_type("int")), Field("s", parse_type("string"))))


def read(
    text: str, folder: Path, schema: Schema = SCHEMA, *properties: tuple[str, str]
) -> tuple[list[tuple[Any, ...]], ReadMetrics]:
    path, metrics, rows = folder / "f.json", ReadMetrics(), []
    path.write_bytes(text.encode())
    for split in source("json").splits(list_data_files(str(path)), schema, properties, 1 << 20):
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
    assert rows == [(1, None), (None, None), (None, "5"), (None, None), (7, '{"k":[1]}')]
    assert metrics.malformed_lines == 2
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


def many(*lines: str) -> str:
    """Lines with enough bytes that the compiled loops read them."""
    return "\n".join(lines * (1 + (1 << 16) // len("\n".join(lines)))) + "\n"


WRITTEN = [
    '{"price":19.99}',
    '{"n": 123456789012345678901234567890, "r": [1.50, 1e5, 0.0000001]}',
    '[{"a": "\\u00e9 \\ud800", "b": null}, true , 1E400]',
    "[ ]",
    "1e5",
    "0.0000001",
    "1.50",
    "-12345678901234567890123",
    "true",
    "9" * 5000,
    '{"a":1,"a":2, "A" :3}',
]


@pytest.mark.parametrize("is_large", [False, True])
def test_texts_of_other_values_are_those_of_the_document(tmp_path: Path, is_large: bool) -> None:
    lines = [f'{{"S" : {text} ,"a":1,"o":{"9" * 5000}}}' for text in WRITTEN]
    text = many(*lines) if is_large else "\n".join(lines)
    rows, metrics = read(text, tmp_path)
    assert rows[: len(lines)] == [(1, written) for written in WRITTEN]
    assert rows[len(lines) :] == rows[: len(rows) - len(lines)]
    assert metrics.malformed_lines + metrics.malformed_fields == 0


def test_texts_within_nested_columns(tmp_path: Path) -> None:
    types = [("st", "struct<X:string,y:array<string>>"), ("m", "map<string,varchar(20)>"), ("n", "decimal(4,1)")]
    schema = Schema(tuple(Field(name, parse_type(text)) for name, text in types))
    structs = '{ "ST" : { "x" : {"p": 1.10} , "y": [ [1.0] , null, "p", 2e1 ] }'
    line = structs + ', "m": {"k": 1.00, "l": {"q":[]}}, "n": 1e1 }'
    rows, metrics = read(line, tmp_path, schema)
    nested = {"x": '{"p": 1.10}', "y": ["[1.0]", None, "p", "2e1"]}
    assert [tuple(row) for row in rows] == [(nested, [("k", "1.00"), ("l", '{"q":[]}')], Decimal("10.0"))]
    assert metrics.malformed_fields == 0


@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_byte_order_marks_and_blank_lines(tmp_path: Path, is_large: bool, line_end: str) -> None:
    lines = ['{"a":1,"s":"x"}', "", '{"a":2,"s":{"k":1}}', " \t", "bad", '{"a":3,"s":"y"}']
    text = "\ufeff" + (many(*lines) if is_large else "\n".join([*lines, " "])).replace("\n", line_end)
    rows, metrics = read(text, tmp_path)
    assert rows[:4] == [(1, "x"), (2, '{"k":1}'), (None, None), (3, "y")]
    assert metrics.malformed_lines == len(rows) // 4
    assert len(rows) % 4 == 0
    assert [row[0] for row in read("\n \n" + text, tmp_path)[0][:2]] == [1, 2]


@pytest.mark.parametrize("is_large", [False, True])
def test_times_that_name_a_zone(tmp_path: Path, is_large: bool) -> None:
    schema = Schema((Field("a", parse_type("int")), Field("t", parse_type("timestamp"))))
    times = {
        "2024-01-02T03:04:05Z": "2024-01-02 03:04:05",
        "2024-01-02T03:04:05.678901Z": "2024-01-02 03:04:05.678901",
        "2024-01-02T03:04:05+02:00": "2024-01-02 01:04:05",
        "2024-01-02 03:04-0530": "2024-01-02 08:34:00",
        "2024-07-01 12:00:00 Europe/Paris": "2024-07-01 10:00:00",
        "2024-01-02 03:04:05": "2024-01-02 03:04:05",
        "0001-01-01T00:00:00+02:00": "None",
        "2024-01-02T03:04:05X": "None",
        "1704164645678": "None",
        "02/Jan/2024": "None",
    }
    lines = [f'{{"a":1,"t":"{time}"}}' for time in times]
    text = many(*lines) if is_large else "\n".join(lines)
    rows, metrics = read(text, tmp_path, schema)
    assert [str(row[1]) for row in rows[: len(lines)]] == list(times.values())
    assert metrics.malformed_fields == 4 * len(rows) // len(lines)
    formats = ("timestamp.formats", "millis, dd/MMM/yyyy")
    rows, metrics = read(text.replace('"1704164645678"', "1704164645678"), tmp_path, schema, formats)
    assert [str(row[1]) for row in rows[len(lines) - 2 : len(lines)]] == [
        "2024-01-02 03:04:05.678000",
        "2024-01-02 00:00:00",
    ]
    assert metrics.malformed_fields == 2 * len(rows) // len(lines)
    rows, _ = read(lines[0] + "\n" + lines[5], tmp_path, schema, ("timeZone", "America/New_York"))
    assert [str(row[1]) for row in rows] == ["2024-01-01 22:04:05", "2024-01-02 03:04:05"]
