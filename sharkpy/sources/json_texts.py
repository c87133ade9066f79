"""JSON objects whose parts that become texts are as the document writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from sharkpy.base.json_nesting import check_json_nesting
from sharkpy.values.types import ArrayType, DataType, MapType, Schema, StructType, is_string

Json = None | bool | int | Decimal | str | list["Json"] | dict[str, "Json"]
_LARGE_EXPONENT = 999_999_999_000_000_000
"""Of numbers that are too large for all types but DOUBLE, or near 0."""
_BLANKS = re.compile(r"[ \t\r\n]*")
_MOST_DIGITS = 4_000
"""Digits of whole numbers that Python reads as such."""


def parsed_object(line: str, schema: Schema) -> dict[str, Json] | None:
    """The object that a line is, or None. Numbers with a point or an exponent are Decimals. Values of the columns of
    `schema` that are texts, and parts of nested ones, are as they are written unless they are texts themselves.
    """
    try:
        check_json_nesting(line)
        value = _loaded(line.removeprefix("\ufeff"))
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    types = {field.name: field.dtype for field in schema}
    if not any(_is_written(one, types.get(key.lower())) for key, one in value.items()):
        return value
    text = line.removeprefix("\ufeff")
    return _members(text, _behind_blanks(text, 0), types)[0]


def _loaded(text: str) -> object:
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        # A whole number of more digits than Python reads.
        return _SLOW_DECODER.decode(text)


def _number(text: str) -> Decimal:
    """A number with a point or an exponent: of an exponent that Decimal does not have, with one that is as good."""
    try:
        return Decimal(text)
    except InvalidOperation:
        digits, _, exponent = text.lower().partition("e")
        return Decimal(f"{digits}e{'-' if exponent.startswith('-') else ''}{_LARGE_EXPONENT}")


_DECODER = json.JSONDecoder(parse_float=_number, parse_constant=Decimal)
_SLOW_DECODER = json.JSONDecoder(
    parse_float=_number, parse_int=lambda text: int(text) if len(text) < _MOST_DIGITS else _number(text)
)


def _is_written(value: Json, dtype: DataType | None) -> bool:
    """True if a value of a type, or a part of it, is a text whose writing the value does not tell."""
    match dtype, value:
        case ArrayType(element), list():
            return any(_is_written(item, element) for item in value)
        case MapType(_, item_type), dict():
            return any(_is_written(item, item_type) for item in value.values())
        case StructType(names, types), dict():
            by_name = dict(zip(map(str.lower, names), types, strict=True))
            return any(_is_written(item, by_name.get(key.lower())) for key, item in value.items())
    return dtype is not None and isinstance(value, (list, dict, Decimal)) and is_string(dtype)


def _value(text: str, place: int, dtype: DataType | None) -> tuple[Json, int]:
    """The value at a place of a text that is JSON, and the place behind it."""
    match dtype, text[place]:
        case StructType(names, types), "{":
            return _members(text, place, dict(zip(map(str.lower, names), types, strict=True)))
        case MapType(_, item), "{":
            return _members(text, place, {}, item)
        case ArrayType(element), "[":
            return _items(text, place, element)
    value, end = _raw(text, place)
    is_text = dtype is not None and is_string(dtype) and isinstance(value, (list, dict, Decimal))
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
    place = _behind_blanks(text, place + 1)
    while text[place] != "}":
        key, place = _DECODER.raw_decode(text, place)
        place = _behind_blanks(text, _behind_blanks(text, place) + 1)
        found[key], place = _value(text, place, types.get(key.lower(), others))
        place = _behind_comma(text, place)
    return found, place + 1


def _items(text: str, place: int, element: DataType) -> tuple[list[Json], int]:
    found: list[Json] = []
    place = _behind_blanks(text, place + 1)
    while text[place] != "]":
        item, place = _value(text, place, element)
        found.append(item)
        place = _behind_comma(text, place)
    return found, place + 1


def _behind_comma(text: str, place: int) -> int:
    place = _behind_blanks(text, place)
    return _behind_blanks(text, place + 1) if text[place] == "," else place


def _behind_blanks(text: str, place: int) -> int:
    match = _BLANKS.match(text, place)
    return place if match is None else match.end()
