"""A pattern as a tree, the measures that decide on limits and the engine, and the errors of patterns."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from sharkpy.base.errors import BindError, ExecutionError
from sharkpy.base.records import dataclass
from sharkpy.udf.java_regex.character_sets import CharSet


@dataclass(frozen=True, slots=True)
class Char:
    """One character. `fold`: in any case of Unicode."""

    code: int
    fold: bool = False


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    chars: CharSet
    fold: bool = False


@dataclass(frozen=True, slots=True)
class Sequence:
    parts: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Alternation:
    branches: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A capturing group."""

    body: Node


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A group that backtracks in its own way: `?=` `?!` `?<=` `?<!` `?>`."""

    opening: str
    body: Node


@dataclass(frozen=True, slots=True)
class Repeat:
    """A repetition. `most` is None without a limit. `kind` is "" greedy, "?" reluctant, "+" possessive."""

    body: Node
    least: int
    most: int | None
    kind: str = ""


@dataclass(frozen=True, slots=True)
class BackReference:
    """The text of a group, by number."""

    group: int
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class Assertion:
    """A position in the text, or \\X, by its row in the table of `spelling`."""

    name: str


Node = Char | Chars | Sequence | Alternation | Group | Enclosed | Repeat | BackReference | Assertion


_CATEGORY_WEIGHT = 800
_RANGE_WEIGHT = 4


@dataclass(frozen=True, slots=True)
class Measures:
    """Measures of a node and all nodes below it."""

    least: int = 0
    """Characters of its shortest match."""
    size: int = 0
    """Characters and sets, multiplied by repetition counts."""
    program: int = 0
    """Approximate instructions of RE2, also multiplied."""
    written: int = 0
    """Ranges and parts, without repetition."""
    count: int = 1
    """Largest product of nested counts."""
    groups: int = 0
    has_final: bool = False
    """The pattern has a `$` or \\Z, which also match before a final line terminator."""
    repeats_nothing: bool = False
    """The body of a repetition may be empty: engines differ in the groups and choices of such a round."""

    def before(self, other: Measures) -> Measures:
        return Measures(
            self.least + other.least,
            self.size + other.size,
            self.program + other.program,
            self.written + other.written,
            max(self.count, other.count),
            self.groups + other.groups,
            self.has_final or other.has_final,
            self.repeats_nothing or other.repeats_nothing,
        )


def measure(node: Node) -> Measures:
    match node:
        case Chars(chars):
            weight = _weight(chars)
            return Measures(1, 1, weight, 1 + len(chars.ranges))
        case Sequence(parts):
            return _sum(parts)
        case Alternation(branches):
            least = min(measure(branch).least for branch in branches)
            return replace(_sum(branches), least=least)
        case Group(body):
            inner = measure(body)
            return replace(inner, groups=inner.groups + 1)
        case Enclosed(opening, body):
            inner = measure(body)
            return inner if opening == "(?>" else replace(inner, least=0)
        case Repeat():
            return _repeated(node)
        case Assertion(name):
            return Measures(written=1, program=1, has_final=name in ("final", "unix_final"))
        case BackReference():
            return Measures(0, 1, 1, 1)
    return Measures(1, 1, 1, 1)


def _sum(nodes: tuple[Node, ...]) -> Measures:
    total = Measures()
    for node in nodes:
        total = total.before(measure(node))
    return total


def _repeated(node: Repeat) -> Measures:
    inner = measure(node.body)
    times = max(node.least + 1 if node.most is None else node.most, 1)
    return Measures(
        inner.least * node.least,
        inner.size * times,
        inner.program * times,
        inner.written + 1,
        inner.count * max(node.least if node.most is None else node.most, 1),
        inner.groups,
        inner.has_final,
        inner.repeats_nothing or (inner.least == 0 and node.most != 1),
    )


@lru_cache(maxsize=256)
def _weight(chars: CharSet) -> int:
    beyond_ascii = sum(high > 127 for _, high in chars.ranges) + chars.negated
    return 1 + _RANGE_WEIGHT * beyond_ascii + _CATEGORY_WEIGHT * len(chars.categories)


_MOST_SHOWN = 100


def shown(pattern: str) -> str:
    return pattern if len(pattern) <= _MOST_SHOWN else f"{pattern[:_MOST_SHOWN]}…"


def not_a_pattern(pattern: str, why: str) -> BindError:
    return BindError(f'"{shown(pattern)}" is not a regular expression: {why}', sqlstate="2201B")


def too_complex(pattern: str, why: str) -> BindError:
    return BindError(f'regular expression "{shown(pattern)}" is too complex: {why}', sqlstate="54001")


def takes_too_long(pattern: str, text: str) -> ExecutionError:
    return ExecutionError(
        f'regular expression "{shown(pattern)}" takes too long on a text of {len(text):,} characters',
        hint="look-around, back-references, atomic groups, possessive quantifiers, and counts over 1,000 in groups"
        " are matched by trial and error; without them the time grows as the text does",
        sqlstate="54001",
    )
