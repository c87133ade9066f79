"""Bounded parsing of numbers in statements: Python refuses to convert thousands of digits."""

from __future__ import annotations

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
