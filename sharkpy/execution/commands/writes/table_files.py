"""Writes of a table that is not partitioned: files, or blocks if it has no files.

Files of a table that other engines write too are placed directly in its folder. Blocks of new files of a table in
memory are made by the write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sharkpy.base import uri
from sharkpy.base.errors import CancelledError, ExecutionError, ResourceError, SharkError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.path_gate import local_path
from sharkpy.catalog.table_folders import TableFolders
from sharkpy.catalog.unfinished_writes import FileSyncs
from sharkpy.execution.commands.writes.staged_write import (
    QuietWrite,
    discard_staging,
    folder_at,
    reporting_dropped_table,
    table_staging,
)
from sharkpy.execution.commands.writes.table_feed import TableFeed
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.staged_blocks import StagedBlocks
from sharkpy.sources.folders.generations import Placed
from sharkpy.sources.folders.local_folder import LocalFolder
from sharkpy.sources.folders.logged_folder import LoggedFolder
from sharkpy.sources.folders.table_folder import home_of
from sharkpy.sources.new_files import WrittenRowsCache
from sharkpy.sources.open_files import store_for_access
from sharkpy.sources.plain_folders import PlainFiles, PlainObjects
from sharkpy.sources.remote_files import is_file
from sharkpy.sources.staged_files import take_back

if TYPE_CHECKING:
    from sharkpy.columnar.handle import BlockHandle
    from sharkpy.columnar.statistics_table import PackedStatistics


def target_folder(table: Table, session: EngineSession, *, overwrite: bool = False) -> str:
    """Return the table's folder for added rows, or for rows that replace its content.

    Raise UnsupportedError if the location is a file.
    """
    location = table.location or ""
    if not uri.is_remote(location):
        location = local_path(location)
    if _is_file(location, session):
        raise UnsupportedError(
            f'the location of table "{table.name}" is the file "{location}": adding rows is not supported'
        )
    if overwrite:
        require_overwritable(table, [location], session)
    return location


def _is_file(location: str, session: EngineSession) -> bool:
    if uri.is_remote(location):
        return is_file(location, session.catalog.access_id(location))
    return Path(location).is_file()


def require_overwritable(table: Table, folders: Iterable[str], session: EngineSession) -> None:
    """Raise BindError if replacing the content of a table's `folders` would delete files of other owners.

    A managed table of a metastore at its default location is not checked: that would list all tables.
    """
    catalog = session.catalog
    if catalog.is_shared and table.location == catalog.managed_location(table.database, table.name):
        return
    others = TableFolders(catalog)
    for folder in folders:
        session.restrictions.gate.require_below(folder)
        others.require_no_others(folder, "overwriting the table", table.table_id)


@dataclass(slots=True)
class TableFiles(QuietWrite):
    """Write of files in `staging` that replace or extend the table's data."""

    table: Table
    location: str
    staging: str
    overwrite: bool
    session: EngineSession
    placed: Placed | None = None
    """New generation of the table."""
    plain: PlainWrite | None = None
    """Write of a table that other engines write too."""
    feed: TableFeed | None = None
    keeps_rows: bool = False
    """True if the replaced rows are the same."""
    rows: WrittenRowsCache | None = None
    """The staged rows, if blocks will be made of them."""
    syncing: Future[None] | None = None
    """Sync of the staged files to the disk."""
    blocks: StagedBlocks | None = None
    """Blocks of the staged rows."""
    check: Callable[[], None] | None = None
    """Check of staged rows that no query has read. It is called if no blocks are made of them."""

    @classmethod
    def begin(cls, table: Table, overwrite: bool, session: EngineSession) -> TableFiles:
        location = target_folder(table, session, overwrite=overwrite)
        write = cls(table, location, table_staging(table, location, session), overwrite, session)
        try:
            write._keep_rows()
        except BaseException:
            write.discard()
            raise
        return write

    def _keep_rows(self) -> None:
        """Keep the rows that will be written for making blocks, if the table will be in memory."""
        if not will_load(self.table, self.session) or uri.is_remote(self.location):
            return
        # An overwrite may be refused when it is placed, and blocks of all rows would delay that.
        self.blocks = None if self.overwrite else self.session.table_cache.stage(self.table)
        if self.table.storage.name == "parquet":
            self.rows = WrittenRowsCache(self.staging, None if self.blocks is None else self.blocks.taker)

    def start(self, syncs: FileSyncs) -> None:
        self.syncing = syncs.begin(partial(folder_at(self.location, self.session).sync_staged, self.staging))

    def prepare(self) -> None:
        with reporting_dropped_table(self.table, self.session):
            is_far = uri.is_remote(self.location)
            if self.blocks is None and not self.overwrite and not is_far and will_load(self.table, self.session):
                self.blocks = self.session.table_cache.stage(self.table)
            is_made = self.blocks is not None and make_blocks(self.blocks, self.staging)
            if is_made and self.rows is not None:
                self.rows.forget()
            if not is_made and self.check is not None:
                self.check()
            if self.syncing is not None:
                self.syncing.result()

    def place(self) -> None:
        self.session.catalog.require(self.table)
        folder, catalog = folder_at(self.location, self.session), self.session.catalog
        if isinstance(folder, LoggedFolder):
            is_counted = catalog.newest_generation(self.table) is not None
            self.placed = self._place_counted(folder) if is_counted else folder.place(self.staging, self.overwrite)
        elif self.table.kind is TableKind.TEMPORARY:
            self.placed = LocalFolder(self.location).place(self.staging, self.overwrite)
        else:
            # The table has no streams: see `become_targets`.
            self.plain = plain_write(self.staging, self.location, self.overwrite, self.session)
            self.plain.place()
            catalog.note_written(self.table)

    def _place_counted(self, folder: LoggedFolder) -> Placed | None:
        """Add the files to a table that continuous queries write or streams follow."""
        if not self.overwrite and not folder.staged_files(self.staging):
            return None
        catalog = self.session.catalog
        feed = self.feed = TableFeed(self.table, catalog)
        is_wanted = feed.is_wanted and not self.keeps_rows
        is_rewrite = is_wanted and self.overwrite and folder.files()
        placed = folder.place_all(self.staging, self.overwrite)
        folder.sync_moved(placed, self.staging)
        catalog.streams.set_newest(self.table.table_id, placed.number)
        if is_rewrite:
            feed.is_rewritten = True
        elif is_wanted:
            feed.add_files(folder.files_of(placed))
        feed.end()
        return placed

    def take_back(self) -> None:
        if self.plain is not None:
            self.plain.take_back()
        if self.feed is not None:
            self.feed.take_back()
        if self.placed is not None:
            take_back(self.placed)

    def clean(self) -> None:
        if self.plain is not None:
            self.plain.clean()
        if self.placed is not None:
            newest, hidden = {self.location: self.placed.number}, self.session.table_cache.hidden
            note = hidden.note if self.overwrite else hidden.note_added
            note(self.table, newest)
        load_new_blocks(self.table, self.session, added=None if self.overwrite else self.placed)

    def discard(self) -> None:
        if self.syncing is not None:
            wait([self.syncing])
        if self.blocks is not None:
            self.blocks.free()
        if self.rows is not None:
            self.rows.forget()
        discard_staging(self.staging, self.session)


class PlainWrite(Protocol):
    """Publication of staged files as a folder's new content, or in addition to it."""

    def place(self) -> None: ...

    def take_back(self) -> None: ...

    def clean(self) -> None:
        """Remove the replaced files after all targets of the statement are in place."""


def plain_write(staging: str, location: str, overwrite: bool, session: EngineSession) -> PlainWrite:
    """Return the write of the staged files into a location that is local or remote like the staging folder.

    Added rows follow the generations that releases before 0.3 have put into the folder, as another generation.
    """
    newest = 0 if overwrite else folder_at(location, session).newest()
    target = uri.join(location, f"delta_{newest + 1:07d}") if newest else location
    if not uri.is_remote(location):
        return PlainFiles(staging, local_path(target), overwrite)
    store = store_for_access(location, session.catalog.access_id(location))
    staged = partial(folder_at(home_of(staging), session).staged_files, staging)
    return PlainObjects(staged, target, overwrite, store)


@dataclass(slots=True)
class TableBlocks(QuietWrite):
    """Write of `blocks` that replace or extend the table's."""

    table: Table
    overwrite: bool
    session: EngineSession
    blocks: Sequence[tuple[BlockHandle, PackedStatistics]]

    def place(self) -> None:
        self.session.catalog.require(self.table)

    def show(self) -> None:
        blocks, self.blocks = self.blocks, ()
        self.session.table_cache.append(self.table, blocks, overwrite=self.overwrite)

    def discard(self) -> None:
        blocks, self.blocks = self.blocks, ()
        self.session.table_cache.discard(blocks)


def make_blocks(blocks: StagedBlocks, staging: str) -> bool:
    """Make the blocks of staged files before the commit, so that no reader waits for them.

    Return False if that fails; it is tried again after the commit.
    """
    try:
        blocks.make(staging)
    except CancelledError:
        raise
    except ExecutionError:
        blocks.free()
        return False
    return True


def load_new_blocks(
    table: Table, session: EngineSession, written: Sequence[str] = ("",), added: Placed | None = None
) -> None:
    """Load the blocks of new files of a table in memory, or fold the files of another table later.

    The statement does not depend on it: if memory is full, or remote files cannot be read now, the next query loads
    them. A continuous table is loaded before the first query. Files are folded in the Hive partitions that were
    `written`. If the generation `added` is the only change, no other files are read.
    """
    cache = session.table_cache
    if not will_load(table, session):
        cache.fold_later(table, written)
        return
    with session.catalog.readers.reading(table.location or ""):
        try:
            if added is None or not cache.add(table, added):
                cache.version(table)
        except SharkError as error:
            if not isinstance(error, (CancelledError, ResourceError)) and not uri.is_remote(table.location or ""):
                raise
            cache.release(table)


def will_load(table: Table, session: EngineSession) -> bool:
    """Whether the blocks of new files are made at once."""
    cache = session.table_cache
    return cache.is_loaded(table) or (bool(table.continuous) and cache.is_cached(table))
