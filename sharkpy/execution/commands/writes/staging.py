"""Staging folders of tables that others may drop while rows are written there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sharkpy.base import uri
from sharkpy.base.errors import SharkError, SourceError
from sharkpy.catalog.model import Table
from sharkpy.execution.engine_session import EngineSession
from sharkpy.sources.folders.table_folder import table_folder

_SYSTEM_ERRORS = "58"
"""Prefix of the SQLSTATEs for files that are missing or cannot be written."""
_MISSING = "58P01"


def new_staging(location: str, session: EngineSession, *, is_new: bool = False, in_new_folder: bool = True) -> str:
    """Make a staging folder in `location`, and note it; `is_new`: for a table to be made, without a folder yet.

    SourceError 58P01 where there is no folder `location` and none is to be made.
    """
    folder = table_folder(location)
    staging = folder.new_staging()
    session.catalog.unfinished.begin(staging, is_new=is_new)
    try:
        return folder.make_staging(staging, in_new_folder=in_new_folder)
    except BaseException:
        session.catalog.unfinished.end(staging)
        raise


def discard_staging(staging: str, session: EngineSession) -> None:
    table_folder(uri.parent(staging)).discard_staging(staging)
    session.catalog.unfinished.end(staging)


def table_staging(table: Table, location: str, session: EngineSession) -> str:
    """Make a folder for the table's rows. TableNotFoundError if the table was dropped and its folder is gone, which
    stays away; where that is still there, who puts the rows in place is told.
    """
    if not session.catalog.is_read_only:
        try:
            return new_staging(location, session, in_new_folder=False)
        except SourceError as error:
            if error.sqlstate != _MISSING:
                raise
    # The first rows of a table make its folder, while nobody can drop it.
    with session.catalog.transaction():
        session.catalog.require(table)
        return new_staging(location, session)


@contextmanager
def while_known(table: Table, session: EngineSession) -> Iterator[None]:
    """Raise TableNotFoundError, instead of an error about files, if the table was dropped together with them."""
    try:
        yield
    except SharkError as error:
        if error.sqlstate.startswith(_SYSTEM_ERRORS):
            session.catalog.require(table)
        raise
