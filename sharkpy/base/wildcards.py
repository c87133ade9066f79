"""Patterns of names: characters and wildcards, matched without trying one choice after the other."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum


class Wildcard(Enum):
    """A part of a pattern that stands for other characters than itself."""

    ANY = "any characters"
    ONE = "any one character"


Pattern = Sequence[str | Wildcard]


def matches_wildcards(text: str, pattern: Pattern) -> bool:
    """Whether all of `text` matches, case ignored; `pattern` has single characters and wildcards.

    What stands between two wildcards ANY is taken where it first fits: no later place would leave more to the rest.
    """
    chars = [char.lower() for char in text]
    parts = [part if isinstance(part, Wildcard) else part.lower() for part in pattern]
    place = part = 0
    retry_place, retry_part = 0, -1
    while place < len(chars):
        if part < len(parts) and parts[part] is Wildcard.ANY:
            part += 1
            retry_place, retry_part = place, part
        elif part < len(parts) and (parts[part] is Wildcard.ONE or parts[part] == chars[place]):
            place, part = place + 1, part + 1
        elif retry_part >= 0:
            retry_place += 1
            place, part = retry_place, retry_part
        else:
            return False
    return all(rest is Wildcard.ANY for rest in parts[part:])
