"""Limit on the nesting of JSON: Python's parser recurses on the stack of its thread, which may be small."""

from __future__ import annotations

import re

MOST_LEVELS = 1_000
"""Jackson's default limit."""
_PART = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


def check_json_nesting(text: str) -> None:
    """Raise ValueError if arrays and objects are nested more than MOST_LEVELS deep."""
    if text.count("[") + text.count("{") <= MOST_LEVELS:
        return
    level = 0
    for part in _PART.finditer(text):
        sign = part[0]
        if sign in "[{":
            level += 1
            if level > MOST_LEVELS:
                raise ValueError(f"JSON nested more than {MOST_LEVELS:,} levels deep")
        elif sign in "]}":
            level -= 1
