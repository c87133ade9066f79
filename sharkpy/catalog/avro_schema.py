"""Conversion between Avro schemas and columns of a table, by the rules of Hive's AvroSerDe."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote, urlparse

from sharkpy.base import uri
from sharkpy.base.errors import ConfigurationError, ResourceError, UnsupportedError
from sharkpy.base.parse_limits import check_json_nesting
from sharkpy.base.records import dataclass
from sharkpy.catalog.path_gate import local_path, open_regular, read_whole
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
MOST_CHARACTERS = 4 << 20
"""Maximum length of the text of a schema."""
MOST_TYPES = 50_000
"""Maximum number of types in a schema, counting each use of a named type."""
MOST_LEVELS = 100
_SHOWN_CHARACTERS = 200
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
    """Return the record schema from which the table's properties take its columns, or None without such properties."""
    values = dict(properties)
    if text := values.get(LITERAL):
        return _record(text, LITERAL)
    if (path := schema_path(properties)) is not None:
        # Remote schemas have been read before: see `with_schema_text`.
        with open_regular(local_path(path)) as file:
            return _record(read_whole(file, path), URL)
    return None


def schema_path(properties: tuple[tuple[str, str], ...]) -> str | None:
    """Return the path or remote location of the schema file in the table's properties, or None if they name none.

    The session's gate checks the path when the property is set. After that, readers of the table open the file.
    """
    url = dict(properties).get(URL)
    if not url:
        return None
    return unquote(urlparse(url).path) if uri.scheme_of(url) == "file" else url


def with_schema_text(properties: Properties, read: Callable[[str], str]) -> Properties:
    """Replace a remote schema location in the properties by the text of the schema, which `read` returns.

    Tasks get these properties, so that they do not fetch the schema again.
    """
    url = dict(properties).get(URL)
    if not url or not uri.is_remote(url) or dict(properties).get(LITERAL):
        return properties
    return (*(pair for pair in properties if pair[0] not in (URL, LITERAL)), (LITERAL, read(url)))


def _record(text: str, key: str) -> dict[str, Any]:
    try:
        found = json_of(text)
    except ValueError as error:
        raise ConfigurationError(f"{key} is not an Avro schema: {error}", sqlstate="22023") from None
    if not isinstance(found, dict) or found.get("type") != "record" or not isinstance(found.get("fields"), list):
        raise ConfigurationError(f"{key} is not an Avro schema of a record", sqlstate="22023")
    return found


def json_of(text: str) -> Any:
    """Parse the text of a schema. Raise ResourceError 54000 for a huge text, ValueError for invalid JSON."""
    if len(text) > MOST_CHARACTERS:
        message = f"an Avro schema has at most {MOST_CHARACTERS:,} characters, not {len(text):,}"
        raise ResourceError(message, sqlstate="54000")
    check_json_nesting(text)
    return json.loads(text)


@dataclass(frozen=True, slots=True)
class AvroType:
    """Type of the values of a schema: Hive's type, Avro's kind and logical type, and its parts."""

    dtype: DataType
    kind: str
    logical: str = ""
    parts: tuple[AvroType, ...] = ()
    """Types of items, of map values, or of fields."""
    names: tuple[str, ...] = ()
    """Names of a record's fields, in the schema's spelling."""


def columns_of(record: dict[str, Any]) -> Schema:
    """Return the columns of a table whose rows are the given record. Names become lower case."""
    found = field_types(record)
    docs = {str(field["name"]): field.get("doc") for field in record["fields"]}
    return Schema(tuple(Field(name.lower(), one.dtype, docs[name]) for name, one in found.items()))


def field_types(record: dict[str, Any]) -> dict[str, AvroType]:
    """Return the types of a record's fields by name."""
    types = _Types()
    try:
        with types.named(record, "") as namespace:
            return {str(field["name"]): types.of(field["type"], namespace) for field in record["fields"]}
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(f"the Avro schema is not complete: {error}", sqlstate="22023") from None


class _Types:
    """Types of one schema, which is read from start to end.

    Each use of a name repeats all types within it. So the number of types and their nesting are limited.
    """

    def __init__(self) -> None:
        self._schemas: dict[str, tuple[dict[str, Any], str]] = {}
        """Named schemas by their full names, with the namespace in which each is defined."""
        self._open: set[str] = set()
        self._num_types = self._level = 0

    @contextlib.contextmanager
    def named(self, schema: dict[str, Any], namespace: str) -> Iterator[str]:
        """Define a named type, which is incomplete within the block. Yields the namespace of the names in it."""
        name = _full_name(str(schema["name"]), str(schema.get("namespace", namespace)))
        self._schemas[name] = schema, namespace
        self._open.add(name)
        try:
            yield name.rpartition(".")[0]
        finally:
            self._open.discard(name)

    def of(self, schema: AvroSchema, namespace: str) -> AvroType:
        """Return the type of a schema's values. Names in the schema are relative to the namespace."""
        self._num_types += 1
        self._level += 1
        if self._num_types > MOST_TYPES:
            message = f"the Avro schema has more than {MOST_TYPES:,} types, counting repeated names"
            raise ResourceError(message, sqlstate="54000")
        if self._level > MOST_LEVELS:
            raise ResourceError(f"the Avro schema is nested more than {MOST_LEVELS} levels deep", sqlstate="54001")
        try:
            return self._of(schema, namespace)
        finally:
            self._level -= 1

    def _of(self, schema: AvroSchema, namespace: str) -> AvroType:
        match schema:
            case str():
                return AvroType(_PLAIN[schema], schema) if schema in _PLAIN else self._of_name(schema, namespace)
            case list():
                return self.of(_branch(schema), namespace)
        kind, logical = schema["type"], str(schema.get("logicalType", ""))
        match kind:
            case "array":
                item = self.of(schema["items"], namespace)
                return AvroType(ArrayType(item.dtype), kind, parts=(item,))
            case "map":
                value = self.of(schema["values"], namespace)
                return AvroType(MapType(STRING, value.dtype), kind, parts=(value,))
            case "record":
                return self._record(schema, namespace)
            case "enum" | "fixed":
                with self.named(schema, namespace):
                    return AvroType(_simple(kind, logical, schema), kind, logical)
            case str() if kind in _PLAIN:
                return AvroType(_simple(kind, logical, schema), kind, logical)
        return self.of(kind, namespace)

    def _of_name(self, name: str, namespace: str) -> AvroType:
        full = _full_name(name, namespace)
        full = full if full in self._schemas else name
        if full not in self._schemas:
            raise ConfigurationError(f'the Avro schema has no type "{name}"', sqlstate="22023")
        if full in self._open:
            raise UnsupportedError(f'the Avro type "{name}" contains itself, which is not supported')
        return self.of(*self._schemas[full])

    def _record(self, schema: dict[str, Any], namespace: str) -> AvroType:
        with self.named(schema, namespace) as inner:
            parts = tuple(self.of(field["type"], inner) for field in schema["fields"])
        names = tuple(str(field["name"]) for field in schema["fields"])
        types = tuple(part.dtype for part in parts)
        return AvroType(StructType(tuple(name.lower() for name in names), types), "record", parts=parts, names=names)


def _full_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _simple(kind: str, logical: str, schema: dict[str, Any]) -> DataType:
    """Return the type of a value without parts. Logical types that Hive does not have are ignored."""
    match kind, logical:
        case (("bytes" | "fixed"), "decimal"):
            return DecimalType(int(schema["precision"]), int(schema.get("scale", 0)))
        case "string", "char":
            return CharType(int(schema["maxLength"]))
        case "string", "varchar":
            return VarcharType(int(schema["maxLength"]))
    return _LOGICAL.get((kind, logical), _PLAIN[kind])


def _branch(branches: list[Any]) -> AvroSchema:
    """Return the other type of a union with null."""
    others: list[AvroSchema] = [branch for branch in branches if branch != "null"]
    if len(others) != 1:
        shown = json.dumps(branches)[:_SHOWN_CHARACTERS]
        raise UnsupportedError(f"the Avro type {shown} is not supported: a union must have null and one type")
    return others[0]


def without_logical_types(schema: Any) -> Any:
    """Return the schema with logical types removed, so that values are read as they are stored."""
    match schema:
        case list():
            return [without_logical_types(one) for one in schema]
        case dict():
            plain = {key: value for key, value in schema.items() if key != "logicalType"}
            for key in ("type", "items", "values"):
                if key in plain:
                    plain[key] = without_logical_types(plain[key])
            if isinstance(plain.get("fields"), list):
                plain["fields"] = [without_logical_types(field) for field in plain["fields"]]
            return plain
    return schema


def record_of(columns: Schema, name: str = "baseRecord") -> dict[str, Any]:
    """Return the record that writes a table without a schema of its own. All values are nullable."""
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
                raise UnsupportedError(f"{dtype} in an Avro table is not supported: keys of its maps are strings")
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
        raise UnsupportedError(f"{dtype} in an Avro table is not supported")
    return _WRITTEN[dtype]
