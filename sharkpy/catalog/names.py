"""Names of tables and databases, which become names of folders."""

from __future__ import annotations

from sharkpy.base.errors import BindError

DEFAULT_DATABASE = "default"
_FORBIDDEN = frozenset("/\\.\0")


def check_name(name: str) -> None:
    """BindError 42602 for a name that would lead out of its folder, or that no statement can qualify."""
    if not name or _FORBIDDEN & set(name):
        raise BindError(f'"{name}" cannot be a name: / \\ and . are not allowed in one', sqlstate="42602")
