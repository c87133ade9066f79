"""The mask functions: they make private values unreadable, but keep their shape.

They replace letters and digits of a text, digits of a number, parts of a date. One word selects the masked characters:
all, first or last (`count` of them), not_first or not_last (all except `count`). Replacements are code points; -1
leaves a character unchanged.
"""

from __future__ import annotations

import datetime
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from sharkpy.base.cancellation import check_cancelled
from sharkpy.udf.casts import wrap_integer
from sharkpy.udf.duckdb_sql import duckdb_type, string_value
from sharkpy.udf.function import Lowering, NullPolicy, ScalarFunction, TypeRule
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import Types, converts, same_as
from sharkpy.udf.text_codes import PIECE
from sharkpy.values.types import BIGINT, DATE, INTEGER_TYPES, NULL, STRING, DataType, is_nested, is_string

KEEP = -1
_CACHED_CODES = 0x2000
"""Code points below it, which are common in texts, are cached."""


def _masked(which: str, count: int, length: int) -> range:
    """Return the masked positions, from the left, of a text of `length` characters."""
    count = max(count, 0)
    match which:
        case "first":
            return range(min(count, length))
        case "last":
            return range(max(length - count, 0), length)
        case "not_first":
            return range(min(count, length), length)
        case "not_last":
            return range(max(length - count, 0))
    return range(length)


class _Replacements(dict[int, int]):
    """Code points -> their replacement by Unicode category: upper case, lower case, decimal digits, any other."""

    def __init__(self, upper: int, lower: int, digit: int, other: int) -> None:
        self._codes = {"Lu": upper, "Ll": lower, "Nd": digit}
        self._other = other

    def __missing__(self, code: int) -> int:
        put = self._codes.get(unicodedata.category(chr(code)), self._other)
        result = code if put == KEEP else put
        if code < _CACHED_CODES:
            self[code] = result
        return result


@lru_cache(maxsize=64)
def _replacements(upper: int, lower: int, digit: int, other: int) -> _Replacements:
    return _Replacements(upper, lower, digit, other)


def mask_text(text: str, which: str, count: int, upper: int, lower: int, digit: int, other: int) -> str:
    """Return the text with the masked characters replaced."""
    replacements = _replacements(upper, lower, digit, other)
    places = _masked(which, count, len(text))
    masked = []
    for start in range(places.start, places.stop, PIECE):
        check_cancelled()
        masked.append(text[start : min(start + PIECE, places.stop)].translate(replacements))
    return text[: places.start] + "".join(masked) + text[places.stop :]


def mask_number(value: int, which: str, count: int, digit: int) -> int:
    """Replace decimal digits by `digit` (1 for an invalid digit). 0 has no digits. The sign is kept."""
    figures = str(abs(value)) if value else ""
    mark = str(digit if 0 <= digit <= 9 else 1)
    places = _masked(which, count, len(figures))
    masked = int("".join(mark if at in places else figure for at, figure in enumerate(figures)) or "0")
    wrapped = (masked + 2**63) % 2**64 - 2**63
    return -wrapped if value < 0 and wrapped != -(2**63) else wrapped


def mask_date(value: datetime.date, day: int, month: int, year: int) -> datetime.date | None:
    """Replace the parts of a date. `month` counts from 0; -1 keeps a part; a value out of bounds becomes the first.
    Return None for an invalid date.
    """
    new_year = value.year if year == KEEP else max(year, 1)
    new_month = value.month if month == KEEP else month + 1 if 0 <= month <= 11 else 1
    new_day = value.day if day == KEEP else day if 1 <= day <= 31 else 1
    try:
        return datetime.date(new_year, new_month, new_day)
    except ValueError:
        return None


_CHARACTERS = ("X", "x", "n", None)
"""Replacements of upper case, lower case, digits and other characters. None: unchanged."""
_NUMBERS = (1, 1, 0, 0)
"""Replacements of the digits of numbers, and of day, month (from 0) and year of dates."""


def _mask_arguments(counted: bool) -> TypeRule:
    most = 1 + counted + len(_CHARACTERS) + len(_NUMBERS)

    def rule(types: Types) -> Types | None:
        options = types[1:]
        fits = all(dtype in INTEGER_TYPES or is_string(dtype) or dtype == NULL for dtype in options)
        return types if 1 <= len(types) <= most and not is_nested(types[0]) and fits else None

    return rule


def _replacement_code(sql: str, dtype: DataType, default: str | None) -> str:
    """Return SQL of an option's code point. An integer option is a code point itself, with -1 for none."""
    code = -1 if default is None else ord(default)
    if dtype == NULL:
        return str(code)
    if dtype in INTEGER_TYPES:
        return f"coalesce(CAST({sql} AS INTEGER), {code})"
    text = string_value(sql)
    if text is not None:
        return str(ord(text[0]) if text else code)
    return f"CASE WHEN {sql} <> '' THEN unicode({sql}) ELSE {code} END"


def _replacement_number(sql: str, dtype: DataType, default: int) -> str:
    return str(default) if dtype == NULL else f"coalesce(TRY_CAST({sql} AS INTEGER), {default})"


def _mask(which: str) -> Lowering:
    counted = which != "all"

    def lower(args: Sequence[str], types: Types, result: DataType) -> str:
        options = list(zip(args[1:], types[1:], strict=True))
        count = _replacement_number(*options.pop(0), 4) if counted and options else "4"
        options += [("NULL", NULL)] * (len(_CHARACTERS) + len(_NUMBERS) - len(options))
        characters = [
            _replacement_code(*option, default) for option, default in zip(options, _CHARACTERS, strict=False)
        ]
        numbers = [_replacement_number(*option, default) for option, default in zip(options[4:], _NUMBERS, strict=True)]
        if is_string(types[0]):
            return f"shark_mask_text({args[0]}, '{which}', {count}, {', '.join(characters)})"
        if types[0] in INTEGER_TYPES:
            masked = f"shark_mask_number(CAST({args[0]} AS BIGINT), '{which}', {count}, {numbers[0]})"
            return masked if result == BIGINT else wrap_integer(masked, result)
        if types[0] == DATE:
            return f"shark_mask_date({args[0]}, {', '.join(numbers[1:])})"
        return f"CAST(NULL AS {duckdb_type(result)})"

    return lower


def _mask_function(name: str, which: str, *, usage: str, doc: str, answer: str) -> ScalarFunction:
    counted = which != "all"
    example = f"{name}('TestString-123', 4)" if counted else f"{name}('TestString-123')"
    return ScalarFunction(
        name,
        _mask_arguments(counted),
        same_as(0),
        _mask(which),
        NullPolicy.CUSTOM,
        usage=usage,
        doc=f"{doc}: X for upper case, x for lower case, n for digits",
        example=example,
        answer=answer,
    )


MASK_FUNCTIONS = (
    _mask_function(
        "mask",
        "all",
        usage="mask(x[, upper[, lower[, digit[, other[, number[, day[, month[, year]]]]]]]])",
        doc="all characters masked",
        answer="XxxxXxxxxx-nnn",
    ),
    _mask_function(
        "mask_first_n",
        "first",
        usage="mask_first_n(x[, n[, upper[, lower[, digit[, other[, number]]]]]])",
        doc="the first n characters masked",
        answer="XxxxString-123",
    ),
    _mask_function(
        "mask_last_n",
        "last",
        usage="mask_last_n(x[, n[, upper[, lower[, digit[, other[, number]]]]]])",
        doc="the last n characters masked",
        answer="TestString-nnn",
    ),
    _mask_function(
        "mask_show_first_n",
        "not_first",
        usage="mask_show_first_n(x[, n[, upper[, lower[, digit[, other[, number]]]]]])",
        doc="all but the first n characters masked",
        answer="TestXxxxxx-nnn",
    ),
    _mask_function(
        "mask_show_last_n",
        "not_last",
        usage="mask_show_last_n(x[, n[, upper[, lower[, digit[, other[, number]]]]]])",
        doc="all but the last n characters masked",
        answer="XxxxXxxxxx-123",
    ),
    Page(
        "mask_hash(x)",
        "SHA-256 of a string in hexadecimal digits; NULL for other types",
        "mask_hash('secret') -> 2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b",
    ).scalar(
        lambda types: types if len(types) == 1 and not is_nested(types[0]) and converts(types[0], STRING) else None,
        same_as(0),
        lambda args, types, result: (
            f"sha256({args[0]})" if is_string(types[0]) else f"CAST(NULL AS {duckdb_type(result)})"
        ),
        NullPolicy.CUSTOM,
    ),
)
