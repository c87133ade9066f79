"""ROLLBACK CONTINUOUS TABLE, or INSERT with state. In a table with Hive partitions it restores the changed ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import BindError
from sharkpy.base.records import dataclass
from sharkpy.catalog.continuous_query import QueryState
from sharkpy.catalog.epoch_store import RetainedEpoch, epoch_text
from sharkpy.catalog.model import Table
from sharkpy.catalog.table_folders import drops_folder
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.writes.staged_write import (
    QuietWrite,
    StagedWrite,
    discard_staging,
    folder_at,
    reporting_dropped_table,
    table_staging,
)
from sharkpy.execution.commands.writes.table_feed import TableFeed
from sharkpy.execution.commands.writes.table_files import TableFiles, load_new_blocks
from sharkpy.plan.commands import RollbackContinuous
from sharkpy.sources.folders.table_folder import logged_folder, sync_all
from sharkpy.sources.staged_files import take_back
from sharkpy.streaming.commands.control_continuous import check_rereadable, query_of, table_of_rows
from sharkpy.streaming.scheduler import StreamSession

if TYPE_CHECKING:
    from sharkpy.catalog.epoch_store import RetainedEpoch
    from sharkpy.catalog.hive_partition import HivePartition
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.table_store import PartitionChanges
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.sources.folders.generations import Placed


def rollback_continuous(command: RollbackContinuous, session: StreamSession) -> CommandResult:
    """Restore the rows of a table, or the state of an insert, at one of its last epochs.

    Later epochs are computed again by the current query. A paused or stopped query stays so. Raise BindError 22023 for
    an epoch that is not kept, and 55000 for an insert that runs, since the rows in its targets stay.
    """
    table, streams = command.table, session.streams
    query = query_of(table, session)
    check_rereadable(query, table, "ROLLBACK")
    if table.gives and query.state is QueryState.RUNNING:
        later = f"the epochs behind {epoch_text(command.to)}"
        hint = f"PAUSE it, and take the rows of {later} out of its targets: they come again"
        message = f"{table.qualified_name} runs: ROLLBACK of a continuous insert leaves its targets as they are"
        raise BindError(message, hint=hint, sqlstate="55000")
    to = session.catalog.streams.epochs.wanted(query.query_id, table.qualified_name, command.to)
    location = table_of_rows(table, session).location or ""
    # The files of the epoch stay until the new rows name them, even if they are folded meanwhile.
    with session.catalog.readers.reading(location):
        streams.roll_back(query.query_id, to, lambda: _rows_of(table_of_rows(table, session), to, session))
    session.table_cache.hidden.delete(location)
    session.catalog.collect_garbage()
    streams.wake()
    return NOTHING


def _rows_of(table: Table, to: RetainedEpoch, session: StreamSession) -> StagedWrite:
    """Return the write that replaces a table's files by the files of an epoch."""
    if table.is_partitioned:
        return PartitionRollback.begin(table, to, session)
    write = TableFiles.begin(table, True, session)
    try:
        logged_folder(table.location or "", session.catalog).second_names(to.generation, write.staging)
    except BaseException:
        write.discard()
        raise
    return write


@dataclass(slots=True)
class PartitionRollback(QuietWrite):
    """Write that restores the Hive partitions of a continuous table to an epoch.

    1. A partition that was written since the epoch gets the files that it had in the epoch.
    2. A partition that is newer than the epoch is dropped. Unchanged partitions cost nothing.
    3. All changes take effect with the commit of the catalog.
    """

    table: Table
    to: RetainedEpoch
    staging: str
    session: EngineSession
    staged: dict[int, int] = field(default_factory=dict)
    """Last generation in the epoch, by id, of each Hive partition whose files are in `staging` once more."""
    placed: dict[str, Placed] = field(default_factory=dict)
    """New generation of each Hive partition, by name."""
    feed: TableFeed | None = None

    @classmethod
    def begin(cls, table: Table, to: RetainedEpoch, session: EngineSession) -> PartitionRollback:
        write = cls(table, to, table_staging(table, table.location or "", session), session)
        try:
            write._stage(*write._changed(session.catalog.partitions(table)))
        except BaseException:
            write.discard()
            raise
        return write

    def prepare(self) -> None:
        with reporting_dropped_table(self.table, self.session):
            folder_at(self.table.location or "", self.session).sync_staged(self.staging)

    def place(self) -> None:
        catalog = self.session.catalog
        feed = self.feed = TableFeed(self.table, catalog)
        with catalog.partition_changes(self.table) as changes:
            changed, undone = self._changed(changes.known.values())
            feed.is_rewritten = feed.is_wanted and bool(changed)
            kept = [one for one in changed if undone[one.partition_id] is not None]
            # Another process may have written an epoch since they were staged. Now no process can.
            for folder in self._stage(kept, undone):
                folder_at(self.table.location or "", self.session).sync_staged(folder)
            catalog.unfinished.note_partitions(self.table.table_id, (one.folder(self.table) for one in kept))
            for one in kept:
                self._place(one, changes)
            self._drop([one for one in changed if undone[one.partition_id] is None], changes)
            feed.end()
            sync_all((one.location for one in self.placed.values()), catalog)

    def take_back(self) -> None:
        if self.feed is not None:
            self.feed.take_back()
        for one in self.placed.values():
            take_back(one)

    def clean(self) -> None:
        hidden = {one.location: one.number for one in self.placed.values()}
        self.session.table_cache.hidden.note(self.table, hidden)
        load_new_blocks(self.table, self.session, list(self.placed))

    def discard(self) -> None:
        discard_staging(self.staging, self.session)

    def _stage(self, changed: Iterable[HivePartition], undone: dict[int, int | None]) -> list[str]:
        """Stage the files of the epoch once more, unless they are staged. Return the staging folders."""
        folders, home = [], folder_at(self.table.location or "", self.session)
        for one in changed:
            newest = undone[one.partition_id]
            if newest is None or self.staged.get(one.partition_id) == newest:
                continue
            self.staged[one.partition_id] = newest
            folder = home.staged_subfolder(self.staging, self._staged_name(one))
            logged_folder(one.folder(self.table), self.session.catalog).second_names(newest, folder)
            folders.append(folder)
        return folders

    def _staged_name(self, one: HivePartition) -> str:
        return f"{one.partition_id}-{self.staged[one.partition_id]}"

    def _changed(self, known: Iterable[HivePartition]) -> tuple[list[HivePartition], dict[int, int | None]]:
        """Return the Hive partitions that changed after the epoch, and their last generations in the epoch by id."""
        undone = self.session.catalog.streams.epochs.undone(self.table.continuous, self.to.number)
        return [one for one in known if one.partition_id in undone], undone

    def _place(self, one: HivePartition, changes: PartitionChanges) -> None:
        staged = uri.join(self.staging, self._staged_name(one))
        placed = logged_folder(one.folder(self.table), self.session.catalog).place_all(staged, overwrite=True)
        self.placed[one.name] = placed
        changes.alter(one, replace(one, newest=placed.number))

    def _drop(self, gone: list[HivePartition], changes: PartitionChanges) -> None:
        warehouse = self.session.catalog.warehouse_dir
        owned = [one for one in gone if drops_folder(one, self.table, warehouse)]
        changes.drop(owned, with_data=True)
        changes.drop([one for one in gone if one.name in changes.known], with_data=False)
