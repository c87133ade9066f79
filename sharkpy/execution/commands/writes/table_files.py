"""Files of a table that is not partitioned."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.errors import UnsupportedError
from sharkpy.catalog.model import Table
from sharkpy.catalog.path_gate import local_path
from sharkpy.catalog.table_folders import TableFolders
from sharkpy.catalog.unfinished_writes import FileSyncs
from sharkpy.execution.commands.writes.new_blocks import load_new_blocks, make_blocks, will_load
from sharkpy.execution.commands.writes.plain_write import PlainWrite, plain_write
from sharkpy.execution.commands.writes.publish import QuietWrite
from sharkpy.execution.commands.writes.staging import discard_staging, folder_at, table_staging, take_back, while_known
from sharkpy.execution.commands.writes.table_feed import TableFeed
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.staged_blocks import StagedBlocks
from sharkpy.sources.folders.generations import Placed
from sharkpy.sources.new_files import WrittenRowsCache
from sharkpy.sources.remote_files import is_file


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
        with while_known(self.table, self.session):
            is_far = uri.is_remote(self.location)
            if self.blocks is None and not self.overwrite and not is_far and will_load(self.table, self.session):
                self.blocks = self.session.table_cache.stage(self.table)
            if self.blocks is not None and make_blocks(self.blocks, self.staging) and self.rows is not None:
                self.rows.forget()
            if self.syncing is not None:
                self.syncing.result()

    def place(self) -> None:
        self.session.catalog.require(self.table)
        if self.table.is_plain:
            self.plain = plain_write(self.staging, self.location, self.overwrite, self.session)
            self.plain.place()
            self.session.catalog.note_written(self.table)
            return
        newest = self.session.catalog.newest_generation(self.table)
        if newest is None:
            self.placed = folder_at(self.location, self.session).place(self.staging, self.overwrite)
        else:
            self.placed = self._place_behind(newest)

    def _place_behind(self, newest: int) -> Placed | None:
        """Add the files as a new generation, which the catalog's commit makes visible."""
        folder = folder_at(self.location, self.session)
        if not self.overwrite and not folder.staged_files(self.staging):
            return None
        feed = self.feed = TableFeed(self.table, self.session.catalog)
        is_wanted = feed.is_wanted and not self.keeps_rows
        is_rewrite = is_wanted and self.overwrite and folder.files(lambda: newest)
        placed = folder.place_after(self.staging, newest, self.overwrite)
        folder.sync()
        self.session.catalog.streams.set_newest(self.table.table_id, placed.number)
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
            is_seen = self.session.catalog.newest_generation(self.table) is None
            take_back(self.placed, self.session, is_seen=is_seen)

    def clean(self) -> None:
        if self.plain is not None:
            self.plain.clean()
        if self.placed is not None:
            newest, hidden = {self.location: self.placed.number}, self.session.table_cache.hidden
            note = hidden.note if self.overwrite else hidden.note_added
            note(self.table.location or "", newest)
        load_new_blocks(self.table, self.session, added=None if self.overwrite else self.placed)

    def discard(self) -> None:
        if self.syncing is not None:
            wait([self.syncing])
        if self.blocks is not None:
            self.blocks.free()
        if self.rows is not None:
            self.rows.forget()
        discard_staging(self.staging, self.session)
