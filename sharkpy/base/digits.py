"""Numbers written in a statement as digits: bounded, since Python refuses to convert thousands of them."""

from __future__ import annotations

MAX_DIGITS = 38
"""The most digits that a type of the engine has."""
_SHOWN = 40


def whole_number(digits: str) -> int | None:
    """Value of digits 0 to 9; None where anything else is among them, or more of them than any number here has."""
    if not digits.isascii() or not digits.isdigit() or len(digits.lstrip("0")) > MAX_DIGITS:
        return None
    return int(digits.lstrip("0") or "0")


def shortened(text: str) -> str:
    """The text as errors quote it: of a long one the start, and how long it is."""
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN // 2]}… ({len(text):,} characters)"
