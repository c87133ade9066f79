"""A Java pattern in the syntax of both engines, within the limits of patterns, and Java's replacement texts.

In a replacement, `$1` and `${name}` are replaced by groups, and a backslash makes the next character plain.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sharkpy.base.errors import ExecutionError
from sharkpy.base.records import dataclass
from sharkpy.udf.java_regex.parser import Parser
from sharkpy.udf.java_regex.spelling import spell_re2, spell_regex
from sharkpy.udf.java_regex.tree import Alternation, Char, Measures, Node, Sequence, measure, shown, too_complex

MOST_CHARS = 20_000
MOST_SIZE = 30_000
"""Characters and sets, multiplied by repetition counts: `regex` compiles that many in 0.4 s."""
MOST_WRITTEN = 60_000
"""Ranges of sets. \\p{IsAlphabetic} has 700."""
MOST_NAMED = 100
MOST_RE2_PROGRAM = 150_000
"""Instructions of RE2, which refuses patterns of more than about 300,000."""
_NAMED_OR_INTERSECTED = re.compile(r"\\[pP]|&&")


@dataclass(frozen=True, slots=True)
class JavaPattern:
    """A pattern and its properties.

    `re2` is None if RE2 cannot express it. `has_final`: RE2's answer is wrong for texts that end in a line terminator.
    `has_same_spans`: RE2's matches and groups have the same spans as Java's; whether there is a match is always the
    same. `matches_empty`: a match may be empty. `literal`: the matched text, if the pattern has no operators. `size`
    bounds the states of RE2 for each character of a text.
    """

    text: str
    re2: str | None
    regex: str
    has_final: bool
    has_same_spans: bool
    matches_empty: bool
    literal: str | None
    size: int
    groups: int
    names: tuple[tuple[str, int], ...]


@lru_cache(maxsize=512)
def translate(text: str, *, ignore_case: bool = False) -> JavaPattern:
    """Translate a pattern. Raise BindError if it is invalid or exceeds the limits, UnsupportedError for constructs that
    no engine supports.
    """
    if len(text) > MOST_CHARS:
        raise too_complex(text, f"it has more than {MOST_CHARS:,} characters")
    if sum(1 for _ in _NAMED_OR_INTERSECTED.finditer(text)) > MOST_NAMED:
        raise too_complex(text, f"it has more than {MOST_NAMED} of \\p, \\P and &&")
    parser = Parser(text, frozenset("i" if ignore_case else ""))
    root = parser.parse()
    measures = measure(root)
    _check(text, measures)
    return JavaPattern(
        text,
        spell_re2(root) if measures.program <= MOST_RE2_PROGRAM else None,
        spell_regex(root, parser.num_groups),
        measures.has_final,
        not measures.repeats_nothing,
        measures.least == 0,
        _literal(root),
        measures.size,
        parser.num_groups,
        tuple(parser.names.items()),
    )


def _check(text: str, measures: Measures) -> None:
    if measures.size > MOST_SIZE:
        raise too_complex(text, f"its counts ask for more than {MOST_SIZE:,} characters")
    if measures.written > MOST_WRITTEN:
        raise too_complex(text, "its sets of characters are too large")


def _literal(root: Node) -> str | None:
    match root:
        case Char(code, False):
            return chr(code)
        case Sequence(parts):
            texts = [_literal(part) for part in parts]
            return None if None in texts or not texts else "".join(filter(None, texts))
        case Alternation():
            return None
    return None


_GROUP = re.compile(r"\$(?:([0-9])|\{([A-Za-z][A-Za-z0-9]*)\})")


def replacement_parts(replacement: str, pattern: JavaPattern) -> list[str | int]:
    """Split a replacement into texts and numbers of groups."""
    names = dict(pattern.names)
    parts: list[str | int] = []
    position = 0
    while position < len(replacement):
        char = replacement[position]
        if char == "\\" and position + 1 < len(replacement):
            parts.append(replacement[position + 1])
            position += 2
            continue
        if group := _GROUP.match(replacement, position):
            number = int(group[1]) if group[1] else names.get(group[2])
            if number is None or number > pattern.groups:
                raise no_group(pattern, group[1] or group[2])
            position = group.end()
            # Further digits belong to the number while there is such a group.
            while group[1] and (digit := replacement[position : position + 1]) and digit in "0123456789":
                if number * 10 + int(digit) > pattern.groups:
                    break
                number, position = number * 10 + int(digit), position + 1
            parts.append(number)
            continue
        parts.append(char)
        position += 1
    return parts


def no_group(pattern: JavaPattern, group: int | str) -> ExecutionError:
    return ExecutionError(f'regular expression "{shown(pattern.text)}" has no group {group}', sqlstate="2201B")


def re2_replacement(replacement: str, pattern: JavaPattern) -> str | None:
    """Return the text in RE2's syntax, or None if it refers to a group beyond the ninth or to a missing group."""
    try:
        parts = replacement_parts(replacement, pattern)
    except ExecutionError:
        return None
    if any(isinstance(part, int) and part > 9 for part in parts):
        return None
    return "".join(f"\\{part}" if isinstance(part, int) else part.replace("\\", "\\\\") for part in parts)
