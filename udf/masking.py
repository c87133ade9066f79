"""Kernels of the mask functions: letters and digits replaced in a text, the digits of a number, the parts of a date.

Which characters are masked is one word: all, first, last (so many of them), not_first, not_last (all but so many).
Replacements are code points; -1 leaves a character as it is.
"""

from __future__ import annotations

import datetime
import unicodedata

KEEP = -1


def _masked(which: str, count: int, length: int) -> range:
    """The positions, from the left, that are masked of so many."""
    count = max(count, 0)
    match which:
        case "first":
            return range(min(count, length))
        case "last":
            return range(max(length - count, 0), length)
        case "not_first":
            return range(count, length)
        case "not_last":
            return range(max(length - count, 0))
    return range(length)


def mask_text(text: str, which: str, count: int, upper: int, lower: int, digit: int, other: int) -> str:
    """Characters by their Unicode category: upper case, lower case, decimal digits, all others."""
    replacements = {"Lu": upper, "Ll": lower, "Nd": digit}
    places = _masked(which, count, len(text))

    def replaced(position: int, char: str) -> str:
        code = replacements.get(unicodedata.category(char), other) if position in places else KEEP
        return char if code == KEEP else chr(code)

    return "".join(replaced(position, char) for position, char in enumerate(text))


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
