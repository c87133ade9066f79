"""Hive's name patterns in SHOW: `*` and `%` any characters, `|` alternatives, case ignored."""

from __future__ import annotations

import re
from collections.abc import Iterable


def matching(names: Iterable[str], pattern: str | None) -> list[str]:
    """Names that match `pattern` (None: all), sorted."""
    if pattern is None:
        return sorted(names)
    compiled = [re.compile(_regex(part.strip()), re.IGNORECASE) for part in pattern.split("|")]
    return sorted(name for name in names if any(regex.fullmatch(name) for regex in compiled))


def _regex(pattern: str) -> str:
    wildcards = {"*": ".*", "%": ".*"}
    return "".join(wildcards.get(char) or re.escape(char) for char in pattern)
