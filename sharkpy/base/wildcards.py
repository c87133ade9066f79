"""Patterns of characters and wildcards, matched without backtracking; Hive's patterns of names in SHOW."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum


class Wildcard(Enum):
    """A part of a pattern that matches other characters."""

    ANY = "any characters"
    ONE = "any one character"


Pattern = Sequence[str | Wildcard]
"""Single characters and wildcards."""


def matches_wildcards(text: str, pattern: Pattern) -> bool:
    """Return whether all of `text` matches, ignoring case.

    The text between two ANY wildcards is matched at the first place where it fits: a later place never leaves more text
    for the rest.
    """
    text = _lower(text)
    pieces = _pieces(pattern)
    if len(pieces) == 1:
        return len(text) == len(pieces[0]) and _fits(text, 0, pieces[0])
    first, *between, last = pieces
    place, end = len(first), len(text) - len(last)
    if place > end or not _fits(text, 0, first) or not _fits(text, end, last):
        return False
    for piece in between:
        place = _find(text, piece, place, end)
        if place < 0:
            return False
        place += len(piece)
    return True


def _lower(text: str) -> str:
    """Lower-case each character whose lower case is one character."""
    if text.isascii():
        return text.lower()
    return "".join(lower if len(lower := char.lower()) == 1 else char for char in text)


def _pieces(pattern: Pattern) -> list[Pattern]:
    """Split a pattern at its ANY wildcards. Parts are texts, or lists if they have a ONE wildcard."""
    pieces: list[list[str | Wildcard]] = [[]]
    for part in pattern:
        if part is Wildcard.ANY:
            pieces.append([])
        else:
            pieces[-1].append(part if isinstance(part, Wildcard) else _lower(part))
    return [_as_text(piece) for piece in pieces]


def _as_text(piece: list[str | Wildcard]) -> Pattern:
    texts = [part for part in piece if isinstance(part, str)]
    return "".join(texts) if len(texts) == len(piece) else piece


def _fits(text: str, place: int, piece: Pattern) -> bool:
    if isinstance(piece, str):
        return text.startswith(piece, place)
    return all(
        part is Wildcard.ONE or part == char for part, char in zip(piece, text[place : place + len(piece)], strict=True)
    )


def _find(text: str, piece: Pattern, place: int, end: int) -> int:
    if isinstance(piece, str):
        return text.find(piece, place, end)
    return next((at for at in range(place, end - len(piece) + 1) if _fits(text, at, piece)), -1)


_WILDCARDS = {"*": Wildcard.ANY, "%": Wildcard.ANY}


def names_matching(names: Iterable[str], pattern: str | None) -> list[str]:
    """Return the sorted names that match `pattern`, or all names if it is None."""
    return sorted(names) if pattern is None else sorted(name for name in names if name_matches(name, pattern))


def name_matches(text: str, pattern: str) -> bool:
    """Return whether all of `text` matches `pattern`."""
    return any(
        matches_wildcards(text, [_WILDCARDS.get(char, char) for char in part.strip()]) for part in pattern.split("|")
    )
