"""Names of tables and databases, and of their folders."""

from __future__ import annotations

import xxhash

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


def is_name(text: str) -> bool:
    """Return whether a table or database may have this name."""
    return bool(text) and not _FORBIDDEN & set(text)


def check_name(name: str) -> None:
    """Raise BindError 42602 for a name that would lead out of its folder, or that cannot be qualified."""
    if not is_name(name):
        raise BindError(f'"{name}" cannot be a name: / \\ and . are not allowed', sqlstate="42602")


_MOST_BYTES = 240
"""Some bytes are left for suffixes of related folders."""
_KEPT_BYTES = 200


def folder_name(name: str, suffix: str = "") -> str:
    """Return the default folder name of a table or database. A long name is truncated and gets a hash of the whole
    name.
    """
    stored = name.encode("utf-8", "surrogatepass")
    if len(stored) + len(suffix) <= _MOST_BYTES:
        return name + suffix
    start = stored[:_KEPT_BYTES].decode("utf-8", "ignore")
    return f"{start}-{xxhash.xxh3_64_hexdigest(stored)}{suffix}"
