"""Functions of a catalog that no session has provided: they refuse remote locations."""

from __future__ import annotations

from collections.abc import Callable, Collection

from sharkpy.base import uri
from sharkpy.base.errors import InternalError
from sharkpy.catalog.path_gate import check_local
from sharkpy.catalog.trash import Leavings


def no_text(location: str, _: str) -> str:
    """Text reader of a catalog without a session."""
    raise InternalError(f'the text at "{uri.redacted(location)}" was asked for without a session')


def no_access(location: str, _: bool) -> str:
    """Access lookup of a catalog without a session, which reaches local files only."""
    check_local(location)
    return ""


def no_data(_: str, _kept: Collection[str]) -> Callable[[], Collection[str]]:
    """Data removal of a catalog without a session: the folder's removal does it."""
    return tuple


def no_removal(location: str, _: Leavings) -> None:
    """Folder removal of a catalog without a session."""
    check_local(location)
