"""Avro schemas as columns of a table and back, by the rules of Hive's AvroSerDe."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote, urlparse

from sharkpy.base import uri
from sharkpy.base.errors import ConfigurationError, UnsupportedError
from sharkpy.base.json_nesting import check_json_nesting
from sharkpy.catalog.local_path import local_path
from sharkpy.catalog.path_gate import open_regular, read_whole
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    ArrayType,
    CharType,
    DataType,
    DecimalType,
    Field,
    MapType,
    Schema,
    StructType,
    VarcharType,
)

Properties = tuple[tuple[str, str], ...]
LITERAL, URL = "avro.schema.literal", "avro.schema.url"
AvroSchema = str | dict[str, Any] | list[Any]
_PLAIN: dict[str, DataType] = {
    "string": STRING,
    "enum": STRING,
    "bytes": BINARY,
    "fixed": BINARY,
    "int": INT,
    "long": BIGINT,
    "float": FLOAT,
    "double": DOUBLE,
    "boolean": BOOLEAN,
    "null": STRING,
}
_LOGICAL: dict[tuple[str, str], DataType] = {
    ("int", "date"): DATE,
    ("long", "timestamp-millis"): TIMESTAMP,
    ("long", "timestamp-micros"): TIMESTAMP,
    ("long", "local-timestamp-millis"): TIMESTAMP,
    ("long", "local-timestamp-micros"): TIMESTAMP,
}
_WRITTEN: dict[DataType, AvroSchema] = {
    BOOLEAN: "boolean",
    TINYINT: "int",
    SMALLINT: "int",
    INT: "int",
    BIGINT: "long",
    FLOAT: "float",
    DOUBLE: "double",
    STRING: "string",
    BINARY: "bytes",
    DATE: {"type": "int", "logicalType": "date"},
    TIMESTAMP: {"type": "long", "logicalType": "timestamp-millis"},
}


def given_schema(properties: tuple[tuple[str, str], ...]) -> dict[str, Any] | None:
    """Record schema that the table's properties give its columns by; None if they give none."""
    values = dict(properties)
    if text := values.get(LITERAL):
        return _record(text, LITERAL)
    if (path := schema_path(properties)) is not None:
        # Remote ones have been read before, where they can be: see `with_schema_text`.
        with open_regular(local_path(path)) as file:
            return _record(read_whole(file, path), URL)
    return None


def schema_path(properties: tuple[tuple[str, str], ...]) -> str | None:
    """Path, or remote location, of the file that the table's properties name as its schema; None if they name none.

    Whoever sets the property passes the session's gate first; from then on the table's readers open the file.
    """
    url = dict(properties).get(URL)
    if not url:
        return None
    return unquote(urlparse(url).path) if uri.scheme_of(url) == "file" else url


def with_schema_text(properties: Properties, read: Callable[[str], str]) -> Properties:
    """Properties with the text of the schema that they name by a remote location, which `read` gives. Tasks get these:
    none of them asks for the schema again.
    """
    url = dict(properties).get(URL)
    if not url or not uri.is_remote(url) or dict(properties).get(LITERAL):
        return properties
    return (*(pair for pair in properties if pair[0] not in (URL, LITERAL)), (LITERAL, read(url)))


def _record(text: str, key: str) -> dict[str, Any]:
    try:
        check_json_nesting(text)
        found = json.loads(text)
    except ValueError as error:
        raise ConfigurationError(f"{key} is no Avro schema: {error}", sqlstate="22023") from None
    if not isinstance(found, dict) or found.get("type") != "record" or not isinstance(found.get("fields"), list):
        raise ConfigurationError(f"{key} is no Avro schema of a record", sqlstate="22023")
    return found


def columns_of(record: dict[str, Any]) -> Schema:
    """Columns of a table whose rows are the given record; names in lower case."""
    try:
        return Schema(tuple(_fields(record, {})))
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(f"the Avro schema is not complete: {error}", sqlstate="22023") from None


def _fields(record: dict[str, Any], named: dict[str, AvroSchema]) -> Iterator[Field]:
    for field in record["fields"]:
        yield Field(str(field["name"]).lower(), type_of(field["type"], named), field.get("doc"))


def type_of(schema: AvroSchema, named: dict[str, AvroSchema]) -> DataType:
    """Hive type of values of `schema`. `named` has the schemas defined before, and gets further ones."""
    if isinstance(schema, str):
        if schema in _PLAIN:
            return _PLAIN[schema]
        if schema not in named:
            raise ConfigurationError(f'the Avro schema has no type "{schema}"', sqlstate="22023")
        if named[schema] == schema:
            raise UnsupportedError(f'the Avro type "{schema}", which holds itself')
        return type_of(named[schema], named)
    if isinstance(schema, list):
        return _union(schema, named)
    kind = schema["type"]
    if isinstance(kind, (dict, list)):
        return type_of(kind, named)
    names = [schema["name"], f"{schema.get('namespace', '')}.{schema['name']}"] if "name" in schema else []
    if kind == "record":
        named.update(dict.fromkeys(names, schema["name"]))
        found: DataType = _struct(list(_fields(schema, named)))
    else:
        found = _simple(kind, schema, named)
    named.update(dict.fromkeys(names, schema))
    return found


def _simple(kind: str, schema: dict[str, Any], named: dict[str, AvroSchema]) -> DataType:
    logical = schema.get("logicalType", "")
    match kind, logical:
        case "array", _:
            return ArrayType(type_of(schema["items"], named))
        case "map", _:
            return MapType(STRING, type_of(schema["values"], named))
        case (("bytes" | "fixed"), "decimal"):
            return DecimalType(int(schema["precision"]), int(schema.get("scale", 0)))
        case "string", "char":
            return CharType(int(schema["maxLength"]))
        case "string", "varchar":
            return VarcharType(int(schema["maxLength"]))
    return _LOGICAL.get((kind, logical)) or type_of(kind, named)


def _struct(fields: list[Field]) -> StructType:
    return StructType(tuple(field.name for field in fields), tuple(field.dtype for field in fields))


def _union(branches: list[Any], named: dict[str, AvroSchema]) -> DataType:
    others = [branch for branch in branches if branch != "null"]
    if len(others) != 1:
        raise UnsupportedError(f"the Avro type {json.dumps(branches)}: only unions of null and one type are supported")
    return type_of(others[0], named)


def record_of(columns: Schema, name: str = "baseRecord") -> dict[str, Any]:
    """Record that writes a table without a schema of its own: every value may be null."""
    numbers = itertools.count()
    fields = [{"name": f.name, "type": _nullable(f.dtype, numbers), "default": None} for f in columns]
    return {"type": "record", "name": name, "fields": fields}


def _nullable(dtype: DataType, numbers: Iterator[int]) -> AvroSchema:
    return ["null", _written(dtype, numbers)]


def _written(dtype: DataType, numbers: Iterator[int]) -> AvroSchema:
    match dtype:
        case ArrayType(element):
            return {"type": "array", "items": _nullable(element, numbers)}
        case MapType(key, value):
            if key != STRING:
                raise UnsupportedError(f"{dtype} in an Avro table, where keys of maps are strings")
            return {"type": "map", "values": _nullable(value, numbers)}
        case StructType(names, types):
            fields = [
                {"name": name, "type": _nullable(t, numbers), "default": None}
                for name, t in zip(names, types, strict=True)
            ]
            return {"type": "record", "name": f"record_{next(numbers)}", "fields": fields}
        case DecimalType(precision, scale):
            return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
        case CharType(length):
            return {"type": "string", "logicalType": "char", "maxLength": length}
        case VarcharType(length):
            return {"type": "string", "logicalType": "varchar", "maxLength": length}
    if dtype not in _WRITTEN:
        raise UnsupportedError(f"{dtype} in an Avro table")
    return _WRITTEN[dtype]
