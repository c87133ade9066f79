"""Kernels of the mask functions: they replace letters and digits of a text, digits of a number, parts of a date.

One word selects the masked characters: all, first or last (`count` of them), not_first or not_last (all except
`count`). Replacements are code points; -1 leaves a character unchanged.
"""

from __future__ import annotations

import datetime
import unicodedata
from functools import lru_cache

from sharkpy.base.cancellation import check_cancelled
from sharkpy.udf.text_codes import PIECE

KEEP = -1
_KEPT = 0x2000
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
        if code < _KEPT:
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
