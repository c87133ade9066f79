"""JSON objects whose values for text columns are kept exactly as the document has them."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation

from sharkpy.base.parse_limits import check_json_nesting
from sharkpy.values.types import ArrayType, DataType, MapType, Schema, StructType, is_string

Json = None | bool | int | Decimal | str | list["Json"] | dict[str, "Json"]
_LARGE_EXPONENT = 999_999_999_000_000_000
"""Exponent for numbers that are too large for all types except DOUBLE, or near 0."""
_BLANKS = re.compile(r"[ \t\r\n]*")
_MOST_DIGITS = 4_000
"""Most digits of integers that Python reads."""


def object_parser(schema: Schema) -> Callable[[str], dict[str, Json] | None]:
    """Parser of lines; it returns an object, or None if the line is not one. Numbers with a point or an exponent are
    Decimals.

    In columns of `schema` that are texts, and in text parts of nested columns, values other than texts stay as they are
    written.
    """
    columns = StructType(schema.names, tuple(field.dtype for field in schema))
    is_written, types = _writing(columns), _by_name(columns)

    def parsed(line: str) -> dict[str, Json] | None:
        text = line.removeprefix("\ufeff")
        try:
            check_json_nesting(text)
            value = _loaded(text)
        except ValueError:
            return None
        if not isinstance(value, dict):
            return None
        if is_written is None or not is_written(value):
            return value
        return _members(text, _after_blanks(text, 0), types)[0]

    return parsed


def _loaded(text: str) -> object:
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        # An integer with more digits than Python reads.
        return _SLOW_DECODER.decode(text)


def _number(text: str) -> Decimal:
    """A number with a point or an exponent. An exponent out of Decimal's range becomes an equivalent one."""
    try:
        return Decimal(text)
    except InvalidOperation:
        digits, _, exponent = text.lower().partition("e")
        return Decimal(f"{digits}e{'-' if exponent.startswith('-') else ''}{_LARGE_EXPONENT}")


_DECODER = json.JSONDecoder(parse_float=_number, parse_constant=Decimal)
_SLOW_DECODER = json.JSONDecoder(
    parse_float=_number, parse_int=lambda text: int(text) if len(text) < _MOST_DIGITS else _number(text)
)


@functools.lru_cache(maxsize=256)
def _by_name(dtype: StructType) -> Mapping[str, DataType]:
    return dict(zip(map(str.lower, dtype.names), dtype.types, strict=True))


@functools.lru_cache(maxsize=256)
def _writing(dtype: DataType) -> Callable[[Json], bool] | None:
    """Test for values of a type that have parts to be kept as written; None if the type has no such parts."""
    match dtype:
        case ArrayType(element):
            return None if (item := _writing(element)) is None else _of_items(item)
        case MapType(_, element):
            return None if (item := _writing(element)) is None else _of_values(item)
        case StructType():
            found = {name: _writing(one) for name, one in _by_name(dtype).items()}
            parts = {name: one for name, one in found.items() if one is not None}
            return _of_members(parts) if parts else None
    return _is_other if is_string(dtype) else None


def _is_other(value: Json) -> bool:
    return value.__class__ in (Decimal, dict, list)


def _of_items(item: Callable[[Json], bool]) -> Callable[[Json], bool]:
    return lambda value: isinstance(value, list) and any(map(item, value))


def _of_values(item: Callable[[Json], bool]) -> Callable[[Json], bool]:
    return lambda value: isinstance(value, dict) and any(map(item, value.values()))


def _of_members(parts: Mapping[str, Callable[[Json], bool]]) -> Callable[[Json], bool]:
    def are_written(value: Json) -> bool:
        if not isinstance(value, dict):
            return False
        for key, item in value.items():
            part = parts.get(key) or parts.get(key.lower())
            if part is not None and part(item):
                return True
        return False

    return are_written


def _value(text: str, place: int, dtype: DataType | None) -> tuple[Json, int]:
    """The value at a position of a JSON text, and the position after it."""
    match dtype, text[place]:
        case StructType(), "{":
            return _members(text, place, _by_name(dtype))
        case MapType(_, item), "{":
            return _members(text, place, {}, item)
        case ArrayType(element), "[":
            return _items(text, place, element)
    value, end = _raw(text, place)
    is_text = dtype is not None and is_string(dtype) and _is_other(value)
    return (text[place:end] if is_text else value), end


def _raw(text: str, place: int) -> tuple[Json, int]:
    try:
        return _DECODER.raw_decode(text, place)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return _SLOW_DECODER.raw_decode(text, place)


def _members(
    text: str, place: int, types: Mapping[str, DataType], others: DataType | None = None
) -> tuple[dict[str, Json], int]:
    found: dict[str, Json] = {}
    place = _after_blanks(text, place + 1)
    while text[place] != "}":
        key, place = _DECODER.raw_decode(text, place)
        place = _after_blanks(text, _after_blanks(text, place) + 1)
        found[key], place = _value(text, place, types.get(key.lower(), others))
        place = _after_comma(text, place)
    return found, place + 1


def _items(text: str, place: int, element: DataType) -> tuple[list[Json], int]:
    found: list[Json] = []
    place = _after_blanks(text, place + 1)
    while text[place] != "]":
        item, place = _value(text, place, element)
        found.append(item)
        place = _after_comma(text, place)
    return found, place + 1


def _after_comma(text: str, place: int) -> int:
    place = _after_blanks(text, place)
    return _after_blanks(text, place + 1) if text[place] == "," else place


def _after_blanks(text: str, place: int) -> int:
    match = _BLANKS.match(text, place)
    return place if match is None else match.end()
