"""Escapes of Java's patterns for one character or a set of characters, inside and outside of classes."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from sharkpy.udf.java_regex.code_points import LAST, CharSet
from sharkpy.udf.java_regex.complaint import not_a_pattern, shown
from sharkpy.udf.java_regex.properties import DIGIT, HORIZONTAL, SPACE, VERTICAL, WORD, named_set, word

SETS = {"d": DIGIT, "w": WORD, "s": SPACE, "h": HORIZONTAL, "v": VERTICAL}
SETS |= {letter.upper(): found.complement() for letter, found in SETS.items()}
_CONTROLS = {"t": 9, "n": 10, "r": 13, "f": 12, "a": 7, "e": 27}
_CODE = re.compile(
    r"\\(?:x\{([0-9a-fA-F]{1,8})\}|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})"
    r"|0([0-3][0-7]{2}|[0-7]{1,2})|c(.)|N\{([\w -]+)\})",
    re.ASCII | re.DOTALL,
)
_LOW_HALF = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_PROPERTY = re.compile(r"\\[pP](?:\{(\^?[\w =-]+)\}|(\w))", re.ASCII)


def code_of_escape(text: str, position: int) -> tuple[int, int]:
    """Return the character of the escape at `position`, and the position after it."""
    letter = text[position + 1 : position + 2]
    if letter in _CONTROLS and letter:
        return _CONTROLS[letter], position + 2
    if not letter.isascii() or not letter.isalnum():
        return ord(letter), position + 2
    match = _CODE.match(text, position)
    if match is None:
        raise not_a_pattern(text, f"unknown or incomplete \\{letter}")
    _, _, short, octal, control, name = match.groups()
    if octal:
        return int(octal, 8), match.end()
    if control:
        return ord(control) ^ 64, match.end()
    if name:
        return _named(text, name), match.end()
    code = int(match[1] or match[2] or short, 16)
    if code > LAST:
        raise not_a_pattern(text, f"no character {match[0]}")
    low = _LOW_HALF.match(text, match.end()) if short and 0xD800 <= code < 0xDC00 else None
    if low:
        return 0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00, low.end()
    return code, match.end()


def _named(text: str, name: str) -> int:
    try:
        return ord(unicodedata.lookup(name))
    except (KeyError, TypeError):
        raise not_a_pattern(text, f"no character named {shown(name)}") from None


def property_of_escape(text: str, position: int, flags: frozenset[str]) -> tuple[CharSet, int]:
    """Return the set of the \\p or \\P at `position`, and the position after it."""
    match = _PROPERTY.match(text, position)
    if match is None:
        raise not_a_pattern(text, "incomplete \\p")
    name = match[1] or match[2]
    try:
        found = named_set(name.removeprefix("^"), ignore_case="i" in flags, unicode_classes="U" in flags)
    except LookupError:
        raise not_a_pattern(text, f"unknown property {shown(name)}") from None
    is_negated = (text[position + 1] == "P") != name.startswith("^")
    return (found.complement() if is_negated else found), match.end()


@cache
def set_of_letter(letter: str, unicode_classes: bool) -> CharSet:
    """Return the set of \\d, \\w, \\s, \\h, \\v, or its complement."""
    names = {"d": "Digit", "s": "Space"}
    lower = letter.lower()
    if not unicode_classes or lower in "hv":
        return SETS[letter]
    found = word(True) if lower == "w" else named_set(names[lower], unicode_classes=True)
    return found if letter == lower else found.complement()
