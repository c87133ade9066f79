"""Names of tables and databases, which become names of folders."""

from __future__ import annotations

from sharkpy.base.errors import BindError

DEFAULT_DATABASE = "default"
GLOBAL_TEMP = "global_temp"
"""Database of global temporary views, which no catalog stores."""
TableName = tuple[str, str]
"""Names of a database, and of a table or function in it."""
_FORBIDDEN = frozenset("/\\.\0")


def qualified(name: str, database: str) -> TableName:
    """What `name`, or `database.name`, means where the current database is `database`."""
    given, _, short = name.lower().rpartition(".")
    return given or database.lower(), short


def check_name(name: str) -> None:
    """BindError 42602 for a name that would lead out of its folder, or that no statement can qualify."""
    if not name or _FORBIDDEN & set(name):
        raise BindError(f'"{name}" cannot be a name: / \\ and . are not allowed in one', sqlstate="42602")
