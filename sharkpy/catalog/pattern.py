"""Hive's name patterns in SHOW: `*` and `%` match any characters, `|` separates alternatives, case is ignored."""

from __future__ import annotations

from collections.abc import Iterable

from sharkpy.base.wildcards import Wildcard, matches_wildcards

_WILDCARDS = {"*": Wildcard.ANY, "%": Wildcard.ANY}


def matching(names: Iterable[str], pattern: str | None) -> list[str]:
    """Return the sorted names that match `pattern`, or all names if it is None."""
    return sorted(names) if pattern is None else sorted(name for name in names if matches(name, pattern))


def matches(text: str, pattern: str) -> bool:
    """Return whether all of `text` matches `pattern`."""
    return any(
        matches_wildcards(text, [_WILDCARDS.get(char, char) for char in part.strip()]) for part in pattern.split("|")
    )
