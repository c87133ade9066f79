"""Hive's name patterns in SHOW: `*` and `%` any characters, `|` alternatives, case ignored."""

from __future__ import annotations

import re
from collections.abc import Iterable


def matching(names: Iterable[str], pattern: str | None) -> list[str]:
    """Names that match `pattern` (None: all), sorted."""
    return sorted(names) if pattern is None else sorted(name for name in names if matches(name, pattern))


def matches(text: str, pattern: str) -> bool:
    """Whether the whole of `text` matches `pattern`."""
    return any(
        re.fullmatch(_regex(part.strip()), text, re.IGNORECASE | re.DOTALL) is not None for part in pattern.split("|")
    )


def _regex(pattern: str) -> str:
    wildcards = {"*": ".*", "%": ".*"}
    return "".join(wildcards.get(char) or re.escape(char) for char in pattern)
