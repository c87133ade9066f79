"""Kernels of the mask functions: letters and digits replaced in a text, the digits of a number, the parts of a date.

Which characters are masked is one word: all, first, last (so many of them), not_first, not_last (all but so many).
Replacements are code points; -1 leaves a character as it is.
"""

from __future__ import annotations

import datetime
import unicodedata
from functools import lru_cache

from sharkpy.base.cancellation import check_cancelled
from sharkpy.udf.text_codes import PIECE

KEEP = -1
_KEPT = 0x2000
"""Code points below it, which ordinary texts are made of, are remembered."""


def _masked(which: str, count: int, length: int) -> range:
    """The positions, from the left, that are masked of so many."""
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
    """Code points -> their replacement by Unicode category: upper case, lower case, decimal digits, all others."""

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
    """The text with the characters in the masked places replaced."""
    replacements = _replacements(upper, lower, digit, other)
    places = _masked(which, count, len(text))
    masked = []
    for start in range(places.start, places.stop, PIECE):
        check_cancelled()
        masked.append(text[start : min(start + PIECE, places.stop)].translate(replacements))
    return text[: places.start] + "".join(masked) + text[places.stop :]


def mask_number(value: int, which: str, count: int, digit: int) -> int:
    """Decimal digits replaced by `digit` (1 where that is no digit); 0 has none. The sign stays."""
    figures = str(abs(value)) if value else ""
    mark = str(digit if 0 <= digit <= 9 else 1)
    places = _masked(which, count, len(figures))
    masked = int("".join(mark if at in places else figure for at, figure in enumerate(figures)) or "0")
    wrapped = (masked + 2**63) % 2**64 - 2**63
    return -wrapped if value < 0 and wrapped != -(2**63) else wrapped


def mask_date(value: datetime.date, day: int, month: int, year: int) -> datetime.date | None:
    """`month` counts from 0; -1 keeps a part, what is out of bounds becomes the first. NULL for a day that is none."""
    new_year = value.year if year == KEEP else max(year, 1)
    new_month = value.month if month == KEEP else month + 1 if 0 <= month <= 11 else 1
    new_day = value.day if day == KEEP else day if 1 <= day <= 31 else 1
    try:
        return datetime.date(new_year, new_month, new_day)
    except ValueError:
        return None
