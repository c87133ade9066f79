"""The tree of a pattern in the syntax of two engines: RE2 and Python's `regex`.

Neither engine gets a class, an assertion or a flag that it might interpret differently: sets are written as ranges, and
assertions as lookarounds.
"""

from __future__ import annotations

from sharkpy.base.records import dataclass
from sharkpy.udf.java_regex.character_sets import EVERYTHING, CharSet
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
    measure,
)

RE2_MOST_COUNT = 1000
_WORD = "[0-9A-Za-z_]"
_TERMINATOR = r"(?:\r\n|(?<!\r)\n|[\r\x85\u2028\u2029])"


@dataclass(frozen=True, slots=True)
class AssertionSpelling:
    """An assertion in both syntaxes. `re2` is None if RE2 has none."""

    re2: str | None
    regex: str


# RE2's form of the two finals does not match before a line terminator that ends the text.
ASSERTIONS = {
    "begin": AssertionSpelling("^", r"\A"),
    "end": AssertionSpelling(r"\z", r"\Z"),
    "final": AssertionSpelling(r"\z", rf"(?={_TERMINATOR}?\Z)"),
    "unix_final": AssertionSpelling(r"\z", r"(?=\n?\Z)"),
    "line_begin": AssertionSpelling(None, r"(?:\A|(?:(?<=[\n\x85\u2028\u2029])|(?<=\r)(?!\n))(?!\Z))"),
    "unix_line_begin": AssertionSpelling(None, r"(?:\A|(?<=\n)(?!\Z))"),
    "line_end": AssertionSpelling(None, rf"(?={_TERMINATOR}|\Z)"),
    "unix_line_end": AssertionSpelling(None, r"(?=\n|\Z)"),
    "word": AssertionSpelling(r"\b", rf"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))"),
    # RE2 also finds one between the bytes of a character.
    "not_word": AssertionSpelling(None, rf"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))"),
    "unicode_word": AssertionSpelling(None, r"\b"),
    "unicode_not_word": AssertionSpelling(None, r"\B"),
    "grapheme": AssertionSpelling(None, r"\X"),
}


class NotInRe2(Exception):
    """A part that RE2 cannot express."""


def spell_regex(node: Node, num_groups: int) -> str:
    return _Speller(False, num_groups).spell(node)


def spell_re2(node: Node) -> str | None:
    """Return the pattern for RE2, or None if RE2 cannot express it."""
    try:
        return _Speller(True).spell(node)
    except NotInRe2:
        return None


@dataclass(frozen=True, slots=True)
class _Speller:
    for_re2: bool
    num_groups: int = 0

    def spell(self, node: Node) -> str:
        match node:
            case Char(code, fold):
                return _folded(self._char(code), fold)
            case Chars(chars, fold):
                return _folded(self._chars(chars), fold)
            case Sequence(parts):
                return "".join(
                    f"(?:{self.spell(part)})" if isinstance(part, Alternation) else self.spell(part) for part in parts
                )
            case Alternation(branches):
                return "|".join(map(self.spell, branches))
            case Group(body):
                return f"({self.spell(body)})"
            case Repeat():
                return self._repeat(node)
            case Assertion(name):
                place = ASSERTIONS[name]
                return self._only_regex(place.regex) if place.re2 is None or not self.for_re2 else place.re2
            case Enclosed(opening, body):
                return self._only_regex(f"{opening}{self.spell(body)})")
            case BackReference(group, ignore_case):
                # In Java, a missing group has matched nothing.
                return self._only_regex(f"(?{'i' * ignore_case}:\\{group})" if group <= self.num_groups else "(?!)")

    def _only_regex(self, spelled: str) -> str:
        if self.for_re2:
            raise NotInRe2
        return spelled

    def _repeat(self, node: Repeat) -> str:
        body = self.spell(node.body)
        if not isinstance(node.body, (Char, Chars, Group)):
            body = f"(?:{body})"
        kind = self._only_regex("+") if node.kind == "+" else node.kind
        inner = measure(node.body)
        if not self.for_re2 or inner.count * (node.most or node.least) <= RE2_MOST_COUNT:
            return f"{body}{_count(node.least, node.most)}{kind}"
        if inner.count > 1 or inner.groups:
            raise NotInRe2
        return "".join(f"{body}{_count(least, most)}{kind}" for least, most in _pieces(node.least, node.most))

    def _char(self, code: int) -> str:
        char = chr(code)
        if char.isascii() and (char.isalnum() or char in " _"):
            return char
        if char.isprintable() and not char.isspace():
            return f"\\{char}" if char.isascii() else char
        return self._code(code)

    def _code(self, code: int) -> str:
        if not self.for_re2:
            return f"\\U{code:08x}"
        if 0xD800 <= code < 0xE000:
            raise NotInRe2
        return f"\\x{{{code:X}}}"

    def _chars(self, chars: CharSet) -> str:
        if chars == EVERYTHING:
            return "(?s:.)"
        if not chars.ranges and not chars.categories:
            chars = EVERYTHING.complement() if not chars.negated else EVERYTHING
        parts = [self._range(low, high) if low < high else self._char(low) for low, high in chars.ranges]
        names = [f"\\p{{{name}}}" for name in chars.categories]
        return f"[{'^' * chars.negated}{''.join((*parts, *names))}]"

    def _range(self, low: int, high: int) -> str:
        if self.for_re2 and (0xD800 <= low < 0xE000 or 0xD800 <= high < 0xE000):
            low, high = (0xE000 if 0xD800 <= low < 0xE000 else low), (0xD7FF if 0xD800 <= high < 0xE000 else high)
        return f"{self._char(low)}-{self._char(high)}"


def _folded(spelled: str, fold: bool) -> str:
    return f"(?i:{spelled})" if fold else spelled


def _count(least: int, most: int | None) -> str:
    match least, most:
        case 0, None:
            return "*"
        case 1, None:
            return "+"
        case 1, 1:
            return ""
        case 0, 1:
            return "?"
        case _, None:
            return f"{{{least},}}"
    return f"{{{least}}}" if least == most else f"{{{least},{most}}}"


def _pieces(least: int, most: int | None) -> list[tuple[int, int | None]]:
    """Split a large count into consecutive counts of at most a thousand."""
    pieces: list[tuple[int, int | None]] = [(RE2_MOST_COUNT, RE2_MOST_COUNT)] * (least // RE2_MOST_COUNT)
    rest = least % RE2_MOST_COUNT
    if most is None:
        return [*pieces, (rest, None)]
    pieces += [(rest, rest)] * bool(rest)
    pieces += [(0, RE2_MOST_COUNT)] * ((most - least) // RE2_MOST_COUNT)
    return [*pieces, *[(0, (most - least) % RE2_MOST_COUNT)] * bool((most - least) % RE2_MOST_COUNT)]
