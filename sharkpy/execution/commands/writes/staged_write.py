"""Atomic publication of all targets of a statement: the steps of a write, its staging folder, conflicts.

Other sessions may drop or change a table during the write.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import SharkError, SourceError, TableChangedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Table
from sharkpy.catalog.unfinished_writes import FileSyncs
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.adopted_folders import log_before_write
from sharkpy.execution.tables.data_files import table_files
from sharkpy.sources.folders.logged_folder import LoggedFolder
from sharkpy.sources.folders.staged_writes import STAGED
from sharkpy.sources.folders.table_folder import TableFolder, home_of, table_folder

if TYPE_CHECKING:
    from sharkpy.execution.tables.snapshot import QuerySnapshot


class StagedWrite(Protocol):
    """Write of one target, staged in a place that no reader looks at.

    1. `start` begins to sync staged files to the disk, for all targets at once.
    2. `prepare` waits for that, and does other work that takes time or may fail if space runs out. Nothing is visible
       yet.
    3. `place` runs inside a catalog transaction, while other writers wait: renames and catalog rows.
    4. `take_back` runs if any target could not be placed, inside the transaction, or after it if its commit failed.
    5. `show`, after the transaction, publishes data that is only in memory. It does not fail.
    6. `clean` deletes replaced data and loads blocks of new files.
    7. `discard` frees the staged rows. It may be called at any time, and repeatedly.
    """

    def start(self, syncs: FileSyncs) -> None: ...

    def prepare(self) -> None: ...

    def place(self) -> None: ...

    def take_back(self) -> None: ...

    def show(self) -> None: ...

    def clean(self) -> None: ...

    def discard(self) -> None: ...


class QuietWrite:
    """Base of writes that need only a few of the steps of `StagedWrite`."""

    __slots__ = ()

    def start(self, syncs: FileSyncs) -> None:
        pass

    def prepare(self) -> None:
        pass

    def place(self) -> None:
        pass

    def take_back(self) -> None:
        pass

    def show(self) -> None:
        pass

    def clean(self) -> None:
        pass

    def discard(self) -> None:
        pass


def publish(writes: Sequence[StagedWrite], catalog: Catalog, *, is_durable: bool = True) -> None:
    """Publish the targets, in order if one occurs twice. `is_durable`: see `Catalog.transaction`.

    Hive partitions become visible with the commit. The folders of other tables have no generation in the catalog and
    are renamed right before the commit. If the process is killed in between, each of them is either old or new.
    """
    with discarding(writes):
        for write in writes:
            write.start(catalog.syncs)
        for write in writes:
            write.prepare()
        is_placed = False
        try:
            with catalog.transaction(is_durable=is_durable):
                _place(writes)
                is_placed = True
        except BaseException:
            if is_placed:
                _take_back(writes)
            raise
        for write in writes:
            write.show()
        with contextlib.ExitStack() as cleaned:
            for write in reversed(writes):
                cleaned.callback(write.clean)


def _place(writes: Sequence[StagedWrite]) -> None:
    """Place all or none. The transaction keeps other writers away until the rest is taken back."""
    try:
        for write in writes:
            write.place()
    except BaseException:
        _take_back(writes)
        raise


def _take_back(writes: Sequence[StagedWrite]) -> None:
    """Take back all writes, the last first, even if one of them fails."""
    with contextlib.ExitStack() as stack:
        for write in writes:
            stack.callback(write.take_back)


@contextlib.contextmanager
def discarding(writes: Sequence[StagedWrite]) -> Iterator[None]:
    """Discard the staged rows of `writes` at the end of the body."""
    try:
        yield
    finally:
        # The body may have added some.
        with contextlib.ExitStack() as stack:
            for write in reversed(writes):
                stack.callback(write.discard)


_log = logging.getLogger(__name__)
_SYSTEM_ERRORS = "58"
"""Prefix of the SQLSTATEs for files that are missing or cannot be written."""
_MISSING = "58P01"


def folder_at(location: str, session: EngineSession) -> TableFolder:
    """Return the folder of a table's location, with the session's access if it is remote."""
    return table_folder(location, session.catalog)


def new_staging(
    location: str,
    session: EngineSession,
    *,
    is_new: bool = False,
    in_new_folder: bool = True,
    folder: TableFolder | None = None,
) -> str:
    """Make and note a staging folder in `location`; `is_new` for a table that does not exist yet.

    Raise SourceError 58P01 if `location` does not exist and `in_new_folder` is False. Raise NotAllowedError if links
    lead out of the session's bounds.
    """
    session.restrictions.gate.check_folder(location)
    folder = folder or folder_at(location, session)
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
    unfinished = session.catalog.unfinished
    if staging not in unfinished.open_folders():
        return
    folder = folder_at(home_of(staging), session)
    if not uri.is_remote(staging):
        folder.discard_staging(staging)
        STAGED.end(staging)
    elif not _is_done(staging, partial(folder.discard_staging, staging)) or STAGED.knows(staging):
        return
    unfinished.end(staging)


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
        folder = folder_at(location, session)
        if not isinstance(folder, LoggedFolder):
            log_before_write(table, session.catalog)
            folder = folder_at(location, session)
        try:
            return new_staging(location, session, in_new_folder=False, folder=folder)
        except SourceError as error:
            if error.sqlstate != _MISSING:
                raise
    # The first rows create the table's folder, in a transaction, so that the table cannot be dropped meanwhile.
    with session.catalog.transaction():
        session.catalog.require(table)
        return new_staging(location, session)


@contextmanager
def reporting_dropped_table(table: Table, session: EngineSession) -> Iterator[None]:
    """Raise TableNotFoundError, instead of an error about files, if the table was dropped together with them."""
    try:
        yield
    except SharkError as error:
        if error.sqlstate.startswith(_SYSTEM_ERRORS):
            session.catalog.require(table)
        raise


_ATTEMPTS = 5


@dataclass(slots=True)
class ConflictCheck(QuietWrite):
    """First of a statement's writes: it raises TableChangedError if the table has changed.

    It does so before the other writes are placed.
    """

    table: Table
    session: EngineSession
    state: object

    @classmethod
    def now(cls, table: Table, session: EngineSession) -> ConflictCheck:
        """Note the table's state before it is read."""
        return cls(table, session, _state(table, session))

    def place(self) -> None:
        if _state(self.table, self.session) != self.state:
            raise TableChangedError(f"{self.table.qualified_name} was changed while the statement ran")


def retry_on_conflict(work: Callable[[], None], snapshot: QuerySnapshot) -> None:
    """Run `work`, again over a renewed snapshot if another write has changed the table meanwhile.

    Raise TableChangedError after 5 attempts.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            work()
        except TableChangedError:
            if attempt == _ATTEMPTS:
                raise
            snapshot.renew()
        else:
            return


def _newest(one: HivePartition, table: Table, session: EngineSession) -> int:
    if one.newest is not None:
        return one.newest
    return folder_at(one.folder(table), session).newest()


def _state(table: Table, session: EngineSession) -> object:
    """Return a table's state, which changes with every write."""
    if table.is_partitioned:
        known = session.catalog.partitions(table)
        newest = [_newest(one, table, session) for one in known]
        return [(one.partition_id, one.name, one.location) for one in known], newest
    if table.location is None:
        version = session.table_cache.loaded_version(table)
        return None if version is None else [block.block_id for block in version.blocks]
    return session.table_cache.versions.contents.of(table_files(table, session.catalog))
