"""Staging folders of tables, which other sessions may drop during the write."""

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
    """Return the folder of a table's location, with the session's access if it is remote."""
    return table_folder(location, session.catalog.access_id)


def new_staging(location: str, session: EngineSession, *, is_new: bool = False, in_new_folder: bool = True) -> str:
    """Make and note a staging folder in `location`; `is_new` for a table that does not exist yet.

    Raise SourceError 58P01 if `location` does not exist and `in_new_folder` is False. Raise NotAllowedError if links
    lead out of the session's bounds.
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
    """Remove the staged files of a write.

    In a remote folder, the note stays if the removal fails or the outcome of the write is unknown. The next start of
    the warehouse then removes uncommitted files.
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
    """Undo a placed write; failures in remote storage are logged.

    If readers see the rows already (`is_seen`), raise ExecutionError 40003.
    """
    folder = folder_at(placed.location, session)
    if uri.is_remote(placed.location) and not is_seen:
        _is_done(placed.location, partial(folder.take_back, placed))
    else:
        folder.take_back(placed)


def _is_done(location: str, clean: Callable[[], None]) -> bool:
    """Run a cleanup in remote storage even after a cancellation. Return False if the storage fails."""
    try:
        with Cancellation().active():
            clean()
    except SharkError as error:
        _log.warning('what a statement has left in "%s" could not be removed: %s', uri.redacted(location), error)
        return False
    return True


def table_staging(table: Table, location: str, session: EngineSession) -> str:
    """Make a staging folder for the table's rows.

    Raise TableNotFoundError if the table was dropped and its folder is gone. If the folder still exists, placing the
    rows raises the error.
    """
    if not session.catalog.is_read_only:
        try:
            return new_staging(location, session, in_new_folder=False)
        except SourceError as error:
            if error.sqlstate != _MISSING:
                raise
    # The first rows create the table's folder, in a transaction, so that the table cannot be dropped meanwhile.
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
