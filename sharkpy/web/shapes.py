"""Shapes of requests and answers: frozen dataclasses as JSON, JSON as dataclasses, and their JSON Schema."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import types
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

Shape = TypeVar("Shape")


class ShapeError(Exception):
    """The JSON does not have the shape; the message says where."""


def json_bytes(value: object) -> bytes:
    """Return a dataclass, or a list or mapping of them, as JSON. Times are ISO 8601 in UTC."""
    return json.dumps(value, default=_plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(
        "utf-8", "replace"
    )


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: _finite(getattr(value, name)) for name in field_types(type(value))}
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    raise TypeError(f"{type(value).__name__} has no JSON")


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


@cache
def field_types(shape: type) -> dict[str, Any]:
    """Return the types of a dataclass' fields, by name."""
    hints = get_type_hints(shape)
    return {field.name: hints[field.name] for field in dataclasses.fields(shape)}


def read_shape(shape: type[Shape], given: object) -> Shape:
    """Return the dataclass that `given`, a decoded JSON value, describes. Raise ShapeError if it does not fit."""
    found: Shape = _read(shape, given, "the body")
    return found


def _read(shape: Any, given: Any, place: str) -> Any:
    origin = get_origin(shape)
    if origin is types.UnionType:
        return _read_union(shape, given, place)
    if origin in (list, tuple) and isinstance(given, list):
        read = [_read(get_args(shape)[0], one, f"{place}[{number}]") for number, one in enumerate(given)]
        return read if origin is list else tuple(read)
    if origin is dict and isinstance(given, dict):
        return {name: _read(get_args(shape)[1], one, f"{place}.{name}") for name, one in given.items()}
    if dataclasses.is_dataclass(shape) and isinstance(given, dict):
        return _read_fields(shape, given, place)
    if shape is Any or (shape is not float and type(given) is shape):
        return given
    if shape is float and type(given) in (int, float):
        return float(given)
    raise ShapeError(f"{place} is not {_NAMES.get(origin or shape, 'an object')}")


_NAMES = {str: "a string", int: "a whole number", float: "a number", bool: "true or false", list: "a list"}


def _read_union(shape: Any, given: Any, place: str) -> Any:
    options = [one for one in get_args(shape) if one is not types.NoneType]
    if given is None and len(options) < len(get_args(shape)):
        return None
    for one in options:
        try:
            return _read(one, given, place)
        except ShapeError:
            if len(options) == 1:
                raise
    raise ShapeError(f"{place} has another type")


def _read_fields(shape: Any, given: dict[str, Any], place: str) -> Any:
    known = field_types(shape)
    for name in given:
        if name not in known:
            raise ShapeError(f'{place} has a field "{name[:100]}", which is not known')
    values = {name: _read(known[name], value, f"{place}.{name}") for name, value in given.items()}
    for field in dataclasses.fields(shape):
        is_needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if is_needed and field.name not in values:
            raise ShapeError(f'{place} has no field "{field.name}"')
    return shape(**values)


def schema_of(shape: Any, named: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a type. Schemas of dataclasses are added to `named`, and referred to."""
    origin = get_origin(shape)
    if origin is types.UnionType:
        return {"anyOf": [schema_of(one, named) for one in get_args(shape)]}
    if origin in (list, tuple):
        return {"type": "array", "items": schema_of(get_args(shape)[0], named)}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": schema_of(get_args(shape)[1], named)}
    if dataclasses.is_dataclass(shape):
        return _named_schema(shape, named)
    if isinstance(shape, type) and issubclass(shape, enum.StrEnum):
        return {"type": "string", "enum": [one.value for one in shape]}
    return dict(_SCHEMAS.get(shape, {}))


_SCHEMAS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    types.NoneType: {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
}


def _named_schema(shape: Any, named: dict[str, Any]) -> dict[str, Any]:
    name = shape.__name__
    if name not in named:
        named[name] = {}
        fields = dataclasses.fields(shape)
        needed = [
            one.name
            for one in fields
            if one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
        ]
        named[name] = {
            "type": "object",
            "properties": {field: schema_of(kind, named) for field, kind in field_types(shape).items()},
            "required": needed,
            "additionalProperties": False,
        }
    return {"$ref": f"#/components/schemas/{name}"}
