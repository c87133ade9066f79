"""Facts about a statement that its text tells the client, because the server does not."""

from __future__ import annotations

import re

_USE = re.compile(r"\s*use\s+(?:database\s+)?`?([^`;\s]+)`?\s*;?\s*", re.IGNORECASE)
_PLAN = re.compile(r"\s*explain\b", re.IGNORECASE)


def used_database(text: str) -> str | None:
    """Return the database that a USE makes the current one, or None for other statements."""
    used = _USE.fullmatch(text)
    return None if used is None else used.group(1).lower()


def is_plan(text: str, num_columns: int) -> bool:
    """Return whether the rows of a statement are the lines of a plan."""
    return num_columns == 1 and _PLAN.match(text) is not None
