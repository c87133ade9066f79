"""Staging folders of tables that others may drop while rows are written there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sharkpy.base.errors import SharkError
from sharkpy.catalog.model import Table
from sharkpy.execution.engine_session import EngineSession
from sharkpy.sources import layout

_SYSTEM_ERRORS = "58"
"""What the SQLSTATEs of files that are missing or cannot be written begin with."""


def new_staging(location: str, session: EngineSession, *, is_new: bool = False) -> str:
    """A staging folder in `location`, noted; `is_new`: of a table that is about to be made, where no folder was."""
    staging = layout.staging_path(layout.local_path(location))
    session.catalog.unfinished.begin(staging, is_new=is_new)
    try:
        return layout.make_staging(staging)
    except BaseException:
        session.catalog.unfinished.end(staging)
        raise


def discard_staging(staging: str, session: EngineSession) -> None:
    layout.discard_staging(staging)
    session.catalog.unfinished.end(staging)


def table_staging(table: Table, location: str, session: EngineSession) -> str:
    """A new folder for the table's rows. TableNotFoundError where the table was dropped: its folder stays away."""
    with session.catalog.transaction():
        session.catalog.require(table)
        return new_staging(location, session)


@contextmanager
def while_known(table: Table, session: EngineSession) -> Iterator[None]:
    """TableNotFoundError, instead of an error about files, where the table was dropped and they with it."""
    try:
        yield
    except SharkError as error:
        if error.sqlstate.startswith(_SYSTEM_ERRORS):
            session.catalog.require(table)
        raise
