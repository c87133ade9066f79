"""Logical types and odd names of Avro, at the top and nested, as Hive's AvroSerDe and Spark read them."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from pathlib import Path

import fastavro
import pytest

import sharkpy

DAY, TIME = datetime.date(1969, 12, 31), datetime.datetime(1969, 12, 31, 23, 59, 59, 123000)
ID = uuid.UUID("12345678-1234-5678-1234-567812345678")
INTERVAL = b"\1\0\0\0\2\0\0\0\3\0\0\0"


def logical(kind: str, logical_type: str, **more: object) -> dict[str, object]:
    return {"type": kind, "logicalType": logical_type, **more}


TYPES = {
    "uuid": (logical("string", "uuid"), ID, "string", str(ID)),
    "uuid of bytes": (logical("fixed", "uuid", name="u", size=16), ID.bytes, "binary", ID.bytes),
    "time-millis": (logical("int", "time-millis"), datetime.time(0, 0, 1, 5000), "int", 1005),
    "time-micros": (logical("long", "time-micros"), datetime.time(0, 0, 1, 5), "bigint", 1_000_005),
    "duration": (logical("fixed", "duration", name="d", size=12), INTERVAL, "binary", INTERVAL),
    "date": (logical("int", "date"), DAY, "date", DAY),
    "timestamp-millis": (logical("long", "timestamp-millis"), TIME.replace(tzinfo=datetime.UTC), "timestamp", TIME),
    "timestamp-micros": (logical("long", "timestamp-micros"), TIME.replace(tzinfo=datetime.UTC), "timestamp", TIME),
    "timestamp-nanos": (logical("long", "timestamp-nanos"), 1_000_000_007, "bigint", 1_000_000_007),
    "local-timestamp-millis": (logical("long", "local-timestamp-millis"), TIME, "timestamp", TIME),
    "local-timestamp-micros": (logical("long", "local-timestamp-micros"), TIME, "timestamp", TIME),
    "decimal": (logical("bytes", "decimal", precision=5, scale=2), Decimal("-1.05"), "decimal(5,2)", Decimal("-1.05")),
    "decimal of a size": (
        logical("fixed", "decimal", precision=38, scale=2, name="f", size=20),
        Decimal("-1.05"),
        "decimal(38,2)",
        Decimal("-1.05"),
    ),
    "unknown": (logical("long", "of-somebody"), 5, "bigint", 5),
}


@pytest.mark.parametrize("name", TYPES)
def test_logical_types(context: sharkpy.SharkContext, tmp_path: Path, name: str) -> None:
    kind, given, expected_type, expected = TYPES[name]
    named = kind.get("name", kind)
    fields = [
        {"name": "plain", "type": kind},
        {"name": "maybe", "type": ["null", named]},
        {"name": "items", "type": {"type": "array", "items": ["null", named]}},
        {"name": "by_key", "type": {"type": "map", "values": named}},
        {"name": "part", "type": {"type": "record", "name": "i", "fields": [{"name": "Value", "type": named}]}},
    ]
    rows = [{"plain": given, "maybe": None, "items": [given, None], "by_key": {"k": given}, "part": {"Value": given}}]
    path = tmp_path / "a.avro"
    with path.open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema({"type": "record", "name": "r", "fields": fields}), rows)
    found = context.sql(f"SELECT plain, maybe, items[0], items[1], by_key['k'], part.value FROM '{path}'")
    assert str(found.schema.fields[0].dtype).lower() == expected_type
    assert found.fetchall() == [(expected, None, expected, None, expected, expected)]


def test_odd_names(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    names = ["é", "a b", "a.b", "SELECT", "1a", "İ"]
    fields = [{"name": name, "type": "int"} for name in names]
    path = tmp_path / "a.avro"
    with path.open("wb") as file:
        schema = fastavro.parse_schema({"type": "record", "name": "r", "fields": fields})
        fastavro.writer(file, schema, [{name: place for place, name in enumerate(names)}])
    assert context.sql(f"SELECT * FROM '{path}'").fetchall() == [tuple(range(len(names)))]
    assert context.sql(f"SELECT `a b`, `a.b`, `select` FROM '{path}'").fetchall() == [(1, 2, 3)]


def test_defaults_of_bytes(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    path = tmp_path / "t" / "a.avro"
    path.parent.mkdir()
    with path.open("wb") as file:
        schema = fastavro.parse_schema({"type": "record", "name": "r", "fields": [{"name": "n", "type": "int"}]})
        fastavro.writer(file, schema, [{"n": 1}])
    given = (
        '{"type":"record","name":"r","fields":[{"name":"n","type":"int"},'
        '{"name":"b","type":"bytes","default":"\\\\u00ff"},'
        '{"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":4,"scale":1},"default":"\\\\u0015"}]}'
    )
    context.sql(
        f"CREATE TEMPORARY TABLE filled STORED AS AVRO LOCATION '{path.parent}' "
        f"TBLPROPERTIES ('avro.schema.literal' = '{given}')"
    )
    assert context.sql("SELECT * FROM filled").fetchall() == [(1, b"\xff", Decimal("2.1"))]
