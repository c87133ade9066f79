"""Conversion between Delta's types, as its logs name them, and Hive's."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from sharkpy.base.errors import UnsupportedError
from sharkpy.sources.lake.columns import LakeColumn
from sharkpy.values import types as t

_FROM: dict[str, t.DataType] = {
    "boolean": t.BOOLEAN,
    "byte": t.TINYINT,
    "short": t.SMALLINT,
    "integer": t.INT,
    "long": t.BIGINT,
    "float": t.FLOAT,
    "double": t.DOUBLE,
    "date": t.DATE,
    "timestamp": t.TIMESTAMP,
    "timestamp_ntz": t.TIMESTAMP,
    "string": t.STRING,
    "binary": t.BINARY,
}
_TO = {dtype: name for name, dtype in _FROM.items() if name != "timestamp_ntz"}
"""A TIMESTAMP is written as a time in UTC: only recent readers support Delta's type without a zone."""
_DECIMAL = re.compile(r"decimal\((\d{1,2}),\s?(\d{1,2})\)")
Fields = list[dict[str, Any]]


def fields_of(schema: str) -> Fields:
    found: Fields = json.loads(schema)["fields"]
    return found


def hive_schema(fields: Fields) -> t.Schema:
    return t.Schema(
        tuple(t.Field(one["name"].lower(), _hive_type(one["type"], one["name"]), _comment(one)) for one in fields)
    )


def _comment(field: Mapping[str, Any]) -> str | None:
    found: str | None = (field.get("metadata") or {}).get("comment")
    return found


def _hive_type(found: Any, column: str) -> t.DataType:
    match found:
        case {"type": "struct", "fields": fields}:
            names = tuple(one["name"].lower() for one in fields)
            return t.StructType(names, tuple(_hive_type(one["type"], column) for one in fields))
        case {"type": "array", "elementType": element}:
            return t.ArrayType(_hive_type(element, column))
        case {"type": "map", "keyType": key, "valueType": value}:
            return t.MapType(_hive_type(key, column), _hive_type(value, column))
        case str() if (match := _DECIMAL.fullmatch(found)) is not None:
            return t.DecimalType(int(match[1]), int(match[2]))
        case str() if found in _FROM:
            return _FROM[found]
    raise UnsupportedError(f'the column "{column}" of Delta\'s type {found}')


def lake_columns(fields: Fields) -> tuple[LakeColumn, ...]:
    """Columns by their names in the log, which are also their names in files."""
    return tuple(_column(one["name"], one["type"]) for one in fields)


def _column(name: str, found: Any) -> LakeColumn:
    parts: tuple[LakeColumn, ...] = ()
    match found:
        case {"type": "struct", "fields": fields}:
            parts = lake_columns(fields)
        case {"type": "array", "elementType": element}:
            parts = (_column("element", element),)
        case {"type": "map", "keyType": key, "valueType": value}:
            parts = (_column("key", key), _column("value", value))
    return LakeColumn(name.lower(), name, parts=parts, in_utc=found == "timestamp")


def delta_schema(schema: t.Schema) -> str:
    return json.dumps({"type": "struct", "fields": [delta_field(field) for field in schema]})


def delta_field(field: t.Field) -> dict[str, Any]:
    metadata = {} if field.comment is None else {"comment": field.comment}
    return {"name": field.name, "type": _delta_type(field.dtype, field.name), "nullable": True, "metadata": metadata}


def _delta_type(dtype: t.DataType, column: str) -> Any:
    match dtype:
        case t.DecimalType(precision, scale):
            return f"decimal({precision},{scale})"
        case t.VarcharType() | t.CharType():
            return "string"
        case t.ArrayType(element):
            return {"type": "array", "elementType": _delta_type(element, column), "containsNull": True}
        case t.MapType(key, value):
            types = {"keyType": _delta_type(key, column), "valueType": _delta_type(value, column)}
            return {"type": "map", **types, "valueContainsNull": True}
        case t.StructType(names, types):
            fields = [delta_field(t.Field(name, one)) for name, one in zip(names, types, strict=True)]
            return {"type": "struct", "fields": fields}
    if dtype not in _TO:
        raise UnsupportedError(f'the column "{column}" of type {dtype} in a table of Delta')
    return _TO[dtype]
