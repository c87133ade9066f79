"""Names of tables and databases, which become folder names."""

from __future__ import annotations

from sharkpy.base.errors import BindError

DEFAULT_DATABASE = "default"
GLOBAL_TEMP = "global_temp"
"""Database of global temporary views, which are not stored in a catalog."""
TableName = tuple[str, str]
"""Names of a database, and of a table or function in it."""
_FORBIDDEN = frozenset("/\\.\0")


def qualified(name: str, database: str) -> TableName:
    """Resolve `name` or `database.name` in the current database `database`."""
    given, _, short = name.lower().rpartition(".")
    return given or database.lower(), short


def check_name(name: str) -> None:
    """Raise BindError 42602 for a name that would lead out of its folder, or that cannot be qualified."""
    if not name or _FORBIDDEN & set(name):
        raise BindError(f'"{name}" cannot be a name: / \\ and . are not allowed', sqlstate="42602")
