"""Distinct names for columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def distinct_names(names: Sequence[str]) -> list[str]:
    """Return the names in order, with a number appended to repeated ones, as in DuckDB: `a`, `a_1`, `a_2`."""
    taken, numbers = set(names), Counter[str]()
    found: list[str] = []
    seen: set[str] = set()
    for name in names:
        made = name
        while made in seen or (made != name and made in taken):
            numbers[name] += 1
            made = f"{name}_{numbers[name]}"
        seen.add(made)
        found.append(made)
    return found
