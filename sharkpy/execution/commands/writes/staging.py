"""Staging folders of tables that others may drop while rows are written there."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import SharkError, SourceError
from sharkpy.catalog.model import Table
from sharkpy.execution.engine_session import EngineSession
from sharkpy.sources.folders.generations import Placed
from sharkpy.sources.folders.staged_writes import STAGED
from sharkpy.sources.folders.table_folder import TableFolder, home_of, table_folder

_log = logging.getLogger(__name__)
_SYSTEM_ERRORS = "58"
"""Prefix of the SQLSTATEs for files that are missing or cannot be written."""
_MISSING = "58P01"


def folder_at(location: str, session: EngineSession) -> TableFolder:
    """Folder at a location of a table of the catalog, with the session's access to it where it is remote."""
    return table_folder(location, session.catalog.access_id)


def new_staging(location: str, session: EngineSession, *, is_new: bool = False, in_new_folder: bool = True) -> str:
    """Make a staging folder in `location`, and note it; `is_new`: for a table to be made, without a folder yet.

    SourceError 58P01 where there is no folder `location` and none is to be made, NotAllowedError where links lead from
    there out of the session's bounds.
    """
    session.restrictions.gate.check_folder(location)
    folder = folder_at(location, session)
    staging = folder.new_staging()
    session.catalog.unfinished.begin(staging, is_new=is_new)
    try:
        return folder.make_staging(staging, in_new_folder=in_new_folder)
    except BaseException:
        session.catalog.unfinished.end(staging)
        raise


def discard_staging(staging: str, session: EngineSession) -> None:
    """Remove what a write has left. Where that fails in a remote folder, or it is not known whether it counts, it stays
    noted, and goes at the next start of the warehouse if it does not: what has become of the write is told by others.
    """
    folder, unfinished = folder_at(home_of(staging), session), session.catalog.unfinished
    if not uri.is_remote(staging):
        folder.discard_staging(staging)
    elif (
        staging not in unfinished.open_folders()
        or not _is_done(staging, partial(folder.discard_staging, staging))
        or STAGED.knows(staging)
    ):
        return
    unfinished.end(staging)


def take_back(placed: Placed, session: EngineSession, *, is_seen: bool = False) -> None:
    """Undo a write that was put in place; of a remote one what could not be undone is logged. ExecutionError 40003 for
    rows that readers see already (`is_seen`).
    """
    folder = folder_at(placed.location, session)
    if uri.is_remote(placed.location) and not is_seen:
        _is_done(placed.location, partial(folder.take_back, placed))
    else:
        folder.take_back(placed)


def _is_done(location: str, clean: Callable[[], None]) -> bool:
    """Clean up in a remote folder, though the statement may have been ended; False where its storage fails."""
    try:
        with Cancellation().active():
            clean()
    except SharkError as error:
        _log.warning('what a statement has left in "%s" could not be removed: %s', uri.shown(location), error)
        return False
    return True


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
