"""Files of one or more Hive partitions of a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack
from dataclasses import field
from functools import partial

from sharkpy.base import uri
from sharkpy.base.errors import UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.json_rows import partition_format_to_text
from sharkpy.catalog.model import Table
from sharkpy.catalog.path_gate import check_local
from sharkpy.catalog.table_store import PartitionChanges
from sharkpy.catalog.unfinished_writes import FileSyncs
from sharkpy.execution.commands.partition_spec import PartitionIndex
from sharkpy.execution.commands.writes.staged_write import (
    QuietWrite,
    discard_staging,
    folder_at,
    reporting_dropped_table,
)
from sharkpy.execution.commands.writes.table_feed import TableFeed
from sharkpy.execution.commands.writes.table_files import PlainWrite, load_new_blocks, plain_write, require_overwritable
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.adopted_folders import log_partition
from sharkpy.execution.tables.data_files import partition_files
from sharkpy.sources.folders.generations import Placed
from sharkpy.sources.folders.logged_folder import LoggedFolder
from sharkpy.sources.folders.table_folder import sync_all
from sharkpy.sources.layout import DataFile
from sharkpy.sources.lenient_conversion import typed_values
from sharkpy.sources.staged_files import take_back


@dataclass(slots=True)
class TablePartitions(QuietWrite):
    """Write of Hive partitions: `staging`/name becomes data of each of `names`, which are registered if new.

    1. The log of files names the new files, and the catalog's commit makes all of them visible. Before it nothing
       changes, even if it fails.
    2. Plain files, in folders without a log, are visible at once.
    3. `overwrite` replaces the data of these partitions and deletes the old data afterwards; they then have the table's
       format. `only_new` skips registered partitions.
    """

    table: Table
    staging: str
    names: Sequence[str]
    overwrite: bool
    session: EngineSession
    only_new: bool = False
    placed: list[Placed] = field(default_factory=list)
    """New generations."""
    written: list[str] = field(default_factory=list)
    """Names of the Hive partitions with a new generation."""
    plain: list[PlainWrite] = field(default_factory=list)
    """Writes of plain files."""
    feed: TableFeed | None = None
    keeps_rows: bool = False
    """True if the replaced rows are the same."""
    syncing: Future[None] | None = None
    """Sync of the staged files to the disk."""

    def start(self, syncs: FileSyncs) -> None:
        self.syncing = syncs.begin(
            partial(folder_at(self.table.location or "", self.session).sync_staged, self.staging)
        )

    def prepare(self) -> None:
        with reporting_dropped_table(self.table, self.session):
            if self.syncing is not None:
                self.syncing.result()

    def place(self) -> None:
        self.feed = None if self.keeps_rows else TableFeed(self.table, self.session.catalog)
        with self.session.catalog.partition_changes(self.table) as changes:
            targets = self._targets(changes)
            self._check_places(targets)
            if self.overwrite:
                placed = [one.location for one in targets.values() if one is not None and one.location is not None]
                require_overwritable(self.table, [self.table.location or "", *placed], self.session)
            self.session.catalog.unfinished.note_partitions(
                self.table.table_id, (self._folder(name, known) for name, known in targets.items())
            )
            for name, known in targets.items():
                if known is not None and self.only_new:
                    continue
                is_kept = known is None and not self._is_cleared(name)
                self._place(name, known, changes, is_kept=is_kept)
            if self.feed is not None:
                self.feed.end()
            sync_all((one.location for one in self.placed), self.session.catalog)
            self.session.catalog.note_written(self.table)

    def take_back(self) -> None:
        with ExitStack() as undone:
            for one in self.placed:
                undone.callback(take_back, one)
            if self.feed is not None:
                undone.callback(self.feed.take_back)
            for files in self.plain:
                undone.callback(files.take_back)

    def clean(self) -> None:
        with ExitStack() as cleaned:
            for files in self.plain:
                cleaned.callback(files.clean)
        folder_at(self.table.location or "", self.session).remove_abandoned()
        if hidden := {one.location: one.number for one in self.placed}:
            self.session.table_cache.hidden.note(self.table, hidden)
        load_new_blocks(self.table, self.session, self.written)

    def discard(self) -> None:
        if self.syncing is not None:
            wait([self.syncing])
        discard_staging(self.staging, self.session)

    def _targets(self, changes: PartitionChanges) -> dict[str, HivePartition | None]:
        """Return the registered Hive partition for each name. One with equal values may be spelled differently."""
        if all(name in changes.known for name in self.names):
            return {name: changes.known[name] for name in self.names}
        index = PartitionIndex(self.table, changes.before)
        pairs = zip(self.names, typed_values(self.names, self.table.partition_schema), strict=True)
        equal = {name: index.with_values(values) for name, values in pairs}
        return {name: changes.known.get(name) or (found[-1] if found else None) for name, found in equal.items()}

    def _check_places(self, targets: Mapping[str, HivePartition | None]) -> None:
        """Check that staged files can be placed in the Hive partitions' folders.

        Raise UnsupportedError if a remote table's partition is outside its folder, NotAllowedError if links lead out of
        the session's bounds.
        """
        home = self.table.location or ""
        for name, known in targets.items():
            folder = self._folder(name, known)
            if not uri.is_remote(home):
                check_local(folder)
                self.session.restrictions.gate.check_folder(folder, home)
            elif uri.below(folder, home) is None:
                fact = f'the partition {name} in "{uri.redacted(folder)}" is not below its table'
                message = f"{fact}: adding rows is not supported"
                raise UnsupportedError(message)

    def _folder(self, name: str, known: HivePartition | None) -> str:
        return uri.join(self.table.location or "", name) if known is None else known.folder(self.table)

    def _is_cleared(self, name: str) -> bool:
        """Remove the files of a dropped Hive partition from a new one's folder.

        Return False if readers still need them; the new generation then hides them.
        """
        catalog, folder = self.session.catalog, uri.join(self.table.location or "", name)
        if catalog.keep_garbage(folder):
            return False
        catalog.clear_garbage(folder)
        return True

    def _place(self, name: str, known: HivePartition | None, changes: PartitionChanges, *, is_kept: bool) -> None:
        """Place a Hive partition's rows; `is_kept` if the folder still holds files of a dropped one."""
        location, staged = self._folder(name, known), uri.join(self.staging, name)
        catalog = self.session.catalog
        if known is None and not is_kept:
            catalog.log_new_partition(self.table, location)
        folder, newest = folder_at(location, self.session), None
        if known is not None and self._is_wanted and not isinstance(folder, LoggedFolder):
            log_partition(self.table, known, catalog)
            folder = folder_at(location, self.session)
        if isinstance(folder, LoggedFolder):
            newest = self._place_logged(name, known, folder, staged, is_kept=is_kept)
        else:
            if known is not None and known.newest is not None:
                # All files count from now on, so a generation that a killed process has left must not stay.
                folder.remove_beyond(known.newest)
            self.plain.append(plain_write(staged, location, self.overwrite, self.session))
            self.plain[-1].place()
        if known is None:
            changes.add(name, newest=newest)
        else:
            kept = dataclasses.replace(known, newest=newest)
            changes.alter(known, dataclasses.replace(kept, storage=None, columns=None) if self.overwrite else kept)

    def _place_logged(
        self, name: str, known: HivePartition | None, folder: LoggedFolder, staged: str, *, is_kept: bool
    ) -> int:
        """Log the files, and return the number of the commit."""
        is_rewrite = self._is_wanted and self.overwrite and known is not None and self._files_of(known)
        placed = folder.place_all(staged, self.overwrite or is_kept)
        self.placed.append(placed)
        self.written.append(name if known is None else known.name)
        if self.feed is not None and self._is_wanted:
            self._give(self.feed, folder.files_of(placed), name, known, is_rewrite=bool(is_rewrite))
        return placed.number

    @property
    def _is_wanted(self) -> bool:
        return self.feed is not None and self.feed.is_wanted

    def _files_of(self, known: HivePartition) -> Sequence[DataFile]:
        return partition_files(self.table, [known], self.session.catalog)

    def _give(
        self, feed: TableFeed, files: Sequence[DataFile], name: str, known: HivePartition | None, *, is_rewrite: bool
    ) -> None:
        """Add new files to the streams of the table's rows."""
        if is_rewrite:
            feed.is_rewritten = True
        elif known is None:
            feed.add_files(files, name)
        else:
            form = "" if self.overwrite else partition_format_to_text(known.storage, known.columns)
            feed.add_files(files, known.name, form)
