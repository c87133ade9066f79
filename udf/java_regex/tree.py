"""A pattern as a tree."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.udf.java_regex.code_points import CharSet


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
