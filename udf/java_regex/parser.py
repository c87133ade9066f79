"""Parser of Java's regular expressions (java.util.regex.Pattern of JDK 21)."""

from __future__ import annotations

import re
from dataclasses import field

from sharkpy.base.errors import BindError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.udf.java_regex.character_classes import (
    SETS,
    code_of_escape,
    parse_class,
    property_of_escape,
    set_of_letter,
)
from sharkpy.udf.java_regex.character_sets import EVERYTHING, TERMINATORS, CharSet, chars
from sharkpy.udf.java_regex.tree import (
    Alternation,
    Assertion,
    BackReference,
    Char,
    Chars,
    Enclosed,
    Group,
    Node,
    Repeat,
    Sequence,
    not_a_pattern,
    shown,
    too_complex,
)

MOST_NESTED = 100
_COUNT = re.compile(r"\{(\d{1,10})(,(\d{0,10}))?\}", re.ASCII)
_FLAGS = re.compile(r"\(\?([idmsuxU]*)(?:-([idmsuxU]+))?([:)])")
_NAMED = re.compile(r"\(\?<([A-Za-z][A-Za-z0-9]*)>")
_NAME_REFERENCE = re.compile(r"\\k<([A-Za-z][A-Za-z0-9]*)>")
_DIGITS = re.compile(r"\\([1-9][0-9]{0,4})")
_OPENINGS = ("(?=", "(?!", "(?<=", "(?<!", "(?>")
_PLACES = {"b": "word", "B": "not_word", "A": "begin", "z": "end", "Z": "final"}
_SIMPLE_COUNTS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_WHITE = " \t\n\x0b\f\r"


@dataclass(slots=True)
class Parser:
    """One pass over a pattern. `flags` are in force at `position`."""

    text: str
    flags: frozenset[str]
    position: int = 0
    num_groups: int = 0
    names: dict[str, int] = field(default_factory=dict)
    quoted_until: int = 0

    def parse(self) -> Node:
        root = self._alternation(0)
        if self.position < len(self.text):
            raise self.error("a closing parenthesis without an opening one")
        return root

    def error(self, why: str) -> BindError:
        return not_a_pattern(self.text, f"{why} at character {self.position + 1}")

    def _alternation(self, depth: int) -> Node:
        if depth > MOST_NESTED:
            raise too_complex(self.text, f"its groups are nested more than {MOST_NESTED} deep")
        branches = [self._sequence(depth)]
        while self._char() == "|":
            self.position += 1
            branches.append(self._sequence(depth))
        return branches[0] if len(branches) == 1 else Alternation(tuple(branches))

    def _sequence(self, depth: int) -> Node:
        parts: list[Node] = []
        while (char := self._char()) and (char not in "|)" or self._in_quotes()):
            node = self._atom(char, depth)
            if node is not None:
                parts.append(self._repeated(node))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _in_quotes(self) -> bool:
        return self.position < self.quoted_until

    def _char(self) -> str:
        """Return the current character, after white space and comments under the flag x, and the ends of \\Q
        and \\E.
        """
        while True:
            if self._in_quotes():
                return self.text[self.position]
            if self.text.startswith("\\Q", self.position):
                end = self.text.find("\\E", self.position)
                self.position += 2
                self.quoted_until = end if end >= 0 else len(self.text)
            elif self.quoted_until and self.text.startswith("\\E", self.position):
                self.position += 2
                self.quoted_until = 0
            elif "x" in self.flags and self.text[self.position : self.position + 1] in (*_WHITE, "#"):
                self._pass_comment()
            else:
                return self.text[self.position : self.position + 1]

    def _pass_comment(self) -> None:
        if self.text[self.position] != "#":
            self.position += 1
            return
        end = self.text.find("\n", self.position)
        self.position = end + 1 if end >= 0 else len(self.text)

    def _atom(self, char: str, depth: int) -> Node | None:
        """Parse the next part without its repetition. Return None for flags."""
        if self._in_quotes():
            self.position += 1
            return self._literal(ord(char))
        match char:
            case "(":
                return self._group(depth)
            case "[":
                chars, self.position = parse_class(self.text, self.position, self.flags)
                return Chars(chars, self._folds)
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise self.error(f'"{char}" repeats nothing')
            case "{":
                return Sequence()
        self.position += 1
        match char:
            case ".":
                return Chars(self._dot())
            case "^":
                return Assertion(self._in_lines("line_begin") if "m" in self.flags else "begin")
            case "$":
                return Assertion(self._in_lines("line_end" if "m" in self.flags else "final"))
        return self._literal(ord(char))

    @property
    def _folds(self) -> bool:
        return "i" in self.flags and "u" in self.flags

    def _literal(self, code: int) -> Node:
        char = chr(code)
        if "i" in self.flags and char.isascii() and char.isalpha():
            return Char(code, True) if self._folds else Chars(chars(char.lower() + char.upper()))
        return Char(code, self._folds and char.isalpha())

    def _dot(self) -> CharSet:
        if "s" in self.flags:
            return EVERYTHING
        return (chars("\n") if "d" in self.flags else TERMINATORS).complement()

    def _in_lines(self, name: str) -> str:
        return f"unix_{name}" if "d" in self.flags else name

    def _repeated(self, node: Node) -> Node:
        char = self._char()
        if not char or char not in "*+?{" or self._in_quotes():
            return node
        if char == "{":
            least, most = self._count()
        else:
            (least, most), self.position = _SIMPLE_COUNTS[char], self.position + 1
        kind = self._char()
        if not kind or kind not in "?+" or self._in_quotes():
            return Repeat(node, least, most)
        self.position += 1
        return Repeat(node, least, most, kind)

    def _count(self) -> tuple[int, int | None]:
        count = _COUNT.match(self.text, self.position)
        if count is None:
            raise self.error('stray "{"')
        least = int(count[1])
        most = least if count[2] is None else int(count[3]) if count[3] else None
        if max(least, most or 0) > 0x7FFFFFFF:
            raise self.error("a count that is too large")
        if most is not None and most < least:
            raise self.error("counts in the wrong order")
        self.position = count.end()
        return least, most

    def _group(self, depth: int) -> Node | None:
        flags = self.flags
        opening, number = self._opening()
        if opening == ")":
            return None
        body = self._alternation(depth + 1)
        if self._char() != ")":
            raise self.error("an unclosed group")
        self.position += 1
        self.flags = flags
        if opening == "(?:":
            return body
        return Group(body) if number else Enclosed(opening, body)

    def _opening(self) -> tuple[str, int]:
        """Skip the start of a group. Return its kind, and its number if it captures; ")" for flags without a group."""
        for opening in _OPENINGS:
            if self.text.startswith(opening, self.position):
                self.position += len(opening)
                return opening, 0
        if named := _NAMED.match(self.text, self.position):
            if named[1] in self.names:
                raise self.error(f"a second group named {named[1]}")
            self.num_groups += 1
            self.names[named[1]] = self.num_groups
            self.position = named.end()
            return "(", self.num_groups
        if flags := _FLAGS.match(self.text, self.position):
            self.flags = (self.flags | frozenset(flags[1])) - frozenset(flags[2] or "")
            self.position = flags.end()
            return ("(?:" if flags[3] == ":" else ")"), 0
        if self.text.startswith("(?", self.position):
            raise self.error("an unknown kind of group")
        self.num_groups += 1
        self.position += 1
        return "(", self.num_groups

    def _escape(self) -> Node:
        letter = self.text[self.position + 1 : self.position + 2]
        if not letter:
            raise not_a_pattern(self.text, "it ends in a backslash")
        if letter in _PLACES:
            return self._place(letter)
        if letter in "123456789k":
            return self._back_reference(letter)
        if letter in SETS:
            self.position += 2
            return Chars(set_of_letter(letter, "U" in self.flags), self._folds)
        if letter in "pP":
            found, self.position = property_of_escape(self.text, self.position, self.flags)
            return Chars(found, self._folds)
        if letter == "R":
            self.position += 2
            return Alternation((Sequence((Char(13), Char(10))), Chars(SETS["v"])))
        if letter in "XG":
            if letter == "G":
                raise UnsupportedError(f'regular expression "{shown(self.text)}": \\G')
            self.position += 2
            return Assertion("grapheme")
        code, self.position = code_of_escape(self.text, self.position)
        return self._literal(code)

    def _place(self, letter: str) -> Node:
        if self.text.startswith("\\b{", self.position):
            raise UnsupportedError(f'regular expression "{shown(self.text)}": \\b{{g}}')
        self.position += 2
        name = _PLACES[letter]
        if letter in "bB" and "U" in self.flags:
            return Assertion(f"unicode_{name}")
        return Assertion(self._in_lines(name) if letter == "Z" else name)

    def _back_reference(self, letter: str) -> Node:
        ignores_case = "i" in self.flags
        if letter == "k":
            named = _NAME_REFERENCE.match(self.text, self.position)
            if named is None or named[1] not in self.names:
                raise self.error("a reference to a group that is not there")
            self.position = named.end()
            return BackReference(self.names[named[1]], ignores_case)
        digits = _DIGITS.match(self.text, self.position)
        assert digits is not None
        number = digits[1]
        while len(number) > 1 and int(number) > self.num_groups:
            number = number[:-1]
        self.position += 1 + len(number)
        return BackReference(int(number), ignores_case)
