"""Character classes of Java's patterns: escapes, ranges, unions, intersections by `&&`, and nested classes."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from sharkpy.base.records import dataclass
from sharkpy.udf.java_regex.character_sets import (
    DIGIT,
    HORIZONTAL,
    LAST,
    SPACE,
    VERTICAL,
    WORD,
    CharSet,
    named_set,
    of_ranges,
    word,
)
from sharkpy.udf.java_regex.tree import not_a_pattern, shown, too_complex

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


MOST_NESTED = 30


def parse_class(text: str, position: int, flags: frozenset[str]) -> tuple[CharSet, int]:
    """Parse the class at the bracket at `position`. Return it with the position after it."""
    parser = _ClassParser(text, flags, position)
    return parser.bracketed(0), parser.position


@dataclass(slots=True)
class _ClassParser:
    text: str
    flags: frozenset[str]
    position: int
    quoted_until: int = 0

    def bracketed(self, depth: int) -> CharSet:
        if depth > MOST_NESTED:
            raise too_complex(self.text, f"its classes are nested more than {MOST_NESTED} deep")
        self.position += 1
        is_negated = self._char() == "^"
        self.position += is_negated
        found = self._union(depth)
        while self.text.startswith("&&", self.position):
            self.position += 2
            other = self._union(depth)
            found = other if found is None else found if other is None else found.intersection(other)
        if self._char() != "]":
            raise not_a_pattern(self.text, "an unclosed character class")
        if found is None:
            raise not_a_pattern(self.text, "a character class without characters")
        self.position += 1
        return found.complement() if is_negated else found

    def _union(self, depth: int) -> CharSet | None:
        """Parse members up to the end or to `&&`. Return None without members."""
        sets: list[CharSet] = []
        ranges: list[tuple[int, int]] = []
        while char := self._char():
            if not self._in_quotes():
                if char == "]" and (sets or ranges or self.text.startswith("&&", self.position - 2)):
                    break
                if self.text.startswith("&&", self.position):
                    break
                if char == "[":
                    sets.append(self.bracketed(depth + 1))
                    continue
            found = self._item(char)
            if isinstance(found, CharSet):
                sets.append(found)
            else:
                ranges.append(found)
        if not sets and not ranges:
            return None
        plain = of_ranges(ranges)
        return (plain.with_both_cases() if "i" in self.flags else plain).union(*sets)

    def _in_quotes(self) -> bool:
        return self.position < self.quoted_until

    def _char(self) -> str:
        """Return the current character, after white space and comments under the flag x, and the ends of \\Q
        and \\E.
        """
        while not self._in_quotes():
            char = self.text[self.position : self.position + 1]
            if self.text.startswith("\\Q", self.position):
                end = self.text.find("\\E", self.position)
                self.position += 2
                self.quoted_until = end if end >= 0 else len(self.text)
            elif self.quoted_until and self.text.startswith("\\E", self.position):
                self.position += 2
                self.quoted_until = 0
            elif "x" in self.flags and char and char in " \t\n\x0b\f\r":
                self.position += 1
            elif "x" in self.flags and char == "#":
                end = self.text.find("\n", self.position)
                self.position = end + 1 if end >= 0 else len(self.text)
            else:
                return char
        return self.text[self.position]

    def _item(self, char: str) -> CharSet | tuple[int, int]:
        """Parse one character, a range of them, or the set of an escape."""
        if self._in_quotes():
            self.position += 1
            return ord(char), ord(char)
        if char == "\\":
            letter = self.text[self.position + 1 : self.position + 2]
            if letter and letter in SETS:
                self.position += 2
                return set_of_letter(letter, "U" in self.flags)
            if letter and letter in "pP":
                found, self.position = property_of_escape(self.text, self.position, self.flags)
                return found
        low = self._code(char)
        if (
            self._char() != "-"
            or self._in_quotes()
            or self.text[self.position + 1 : self.position + 2] in ("", "]", "[")
        ):
            return low, low
        self.position += 1
        high = self._code(self._char())
        if high < low:
            raise not_a_pattern(self.text, "a range of characters in the wrong order")
        return low, high

    def _code(self, char: str) -> int:
        if char != "\\" or self._in_quotes():
            self.position += 1
            return ord(char)
        letter = self.text[self.position + 1 : self.position + 2]
        if not letter:
            raise not_a_pattern(self.text, "it ends in a backslash")
        if letter in SETS or letter in "123456789kAbBGzZRX":
            raise not_a_pattern(self.text, f"\\{letter} inside a character class")
        code, self.position = code_of_escape(self.text, self.position)
        return code
