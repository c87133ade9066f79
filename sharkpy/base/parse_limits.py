"""Limits of parsed texts: the digits of a number, and the nesting of JSON.

Python refuses to convert thousands of digits. Its JSON parser recurses on the stack of its thread, which may be
small.
"""

from __future__ import annotations

import re

MAX_DIGITS = 38
"""The largest number of digits of any type."""
_SHOWN = 40


def whole_number(digits: str) -> int | None:
    """Return the value of the decimal digits, or None for any other text and for more than 38 digits."""
    if not digits.isascii() or not digits.isdigit() or len(digits.lstrip("0")) > MAX_DIGITS:
        return None
    return int(digits.lstrip("0") or "0")


def shortened(text: str) -> str:
    """Shorten a long text for an error message to its start and its length."""
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN // 2]}… ({len(text):,} characters)"


MOST_LEVELS = 1_000
"""Jackson's default limit."""
_PART = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


def check_json_nesting(text: str) -> None:
    """Raise ValueError if arrays and objects are nested more than MOST_LEVELS deep."""
    if text.count("[") + text.count("{") <= MOST_LEVELS:
        return
    level = 0
    for part in _PART.finditer(text):
        sign = part[0]
        if sign in "[{":
            level += 1
            if level > MOST_LEVELS:
                raise ValueError(f"JSON nested more than {MOST_LEVELS:,} levels deep")
        elif sign in "]}":
            level -= 1
