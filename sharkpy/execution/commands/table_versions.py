"""Earlier versions of managed tables: DESCRIBE HISTORY, RESTORE, CLONE, VACUUM and UNDROP.

The log of files names the files of a version again, so a restored table or a clone copies no rows. The last table that
needs a file deletes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from sharkpy.base.records import dataclass
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Table
from sharkpy.execution.commands.command_result import NOTHING, CommandResult, table_of, time_text
from sharkpy.execution.commands.writes.staged_write import (
    ConflictCheck,
    QuietWrite,
    StagedWrite,
    discarding,
    folder_at,
    publish,
    retry_on_conflict,
    table_staging,
)
from sharkpy.execution.commands.writes.table_files import TableFiles
from sharkpy.execution.commands.writes.table_partitions import TablePartitions
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.snapshot import QuerySnapshot
from sharkpy.plan.commands import DescribeHistory, RestoreTable, UndropDatabase, UndropTable, VacuumTable
from sharkpy.sources.folders.table_folder import logged_folder
from sharkpy.values.types import BIGINT, STRING, TIMESTAMP, Field, Schema

_HISTORY = Schema(
    (
        Field("version", BIGINT),
        Field("time", TIMESTAMP),
        Field("user", STRING),
        Field("statement", STRING),
        Field("files_added", BIGINT),
        Field("files_removed", BIGINT),
        Field("rows_added", BIGINT),
        Field("rows_removed", BIGINT),
    )
)
_VACUUMED = Schema((Field("path", STRING), Field("bytes", BIGINT)))


def describe_history(command: DescribeHistory, session: EngineSession) -> CommandResult:
    """Return the versions of a table that can be read, the newest first."""
    table = command.table
    session.catalog.require_history(table, "DESCRIBE HISTORY")
    rows = [
        (
            one.version,
            time_text(datetime.fromtimestamp(one.time_ms / 1000, UTC), session.conf),
            one.user,
            one.statement,
            one.files_added,
            one.files_removed,
            one.rows_added,
            one.rows_removed,
        )
        for one in session.catalog.history.changes(table.table_id)
    ]
    return CommandResult(_HISTORY, table_of(_HISTORY, rows))


def restore_table(command: RestoreTable, session: EngineSession, snapshot: QuerySnapshot) -> CommandResult:
    """Give a table the rows, Hive partitions and columns of an earlier version, as another version.

    Raise BindError 22023 if the earlier version is not available.
    """
    session.catalog.require_history(command.table, "RESTORE")
    retry_on_conflict(lambda: _restore(command, session), snapshot)
    return NOTHING


def _restore(command: RestoreTable, session: EngineSession) -> None:
    table = session.catalog.current_table(command.table.table_id) or command.table
    writes: list[StagedWrite] = [ConflictCheck.now(table, session)]
    with discarding(writes), session.catalog.readers.reading(table.location or ""):
        then = session.catalog.at(table, command.to)
        restored = replace(table, schema=then.schema, storage=then.storage, buckets=then.buckets)
        partitions = {one.name: one for one in session.catalog.partitions(then)}
        session.catalog.log.require_logged(then, partitions.values())
        if table.is_partitioned:
            known = {one.name: one for one in session.catalog.partitions(table)}
            changed = {name: one for name, one in partitions.items() if _is_changed(known.get(name), one)}
            staging = table_staging(table, table.location or "", session)
            writes.append(TablePartitions(restored, staging, list(changed), True, session))
            link_partitions(then, changed, staging, session)
        else:
            write = TableFiles.begin(restored, True, session)
            writes.append(write)
            link_files(then, write.staging, session)
        writes.append(Definition(table, restored, partitions, session))
        publish(writes, session.catalog)


def _is_changed(now: HivePartition | None, then: HivePartition) -> bool:
    """True if a Hive partition has other files than at an earlier version, whose number is in `then.newest`."""
    if now is None or now.newest is None or then.newest is None:
        return True
    return (now.partition_id, now.location) != (then.partition_id, then.location) or now.newest > then.newest


def link_files(source: Table, staging: str, session: EngineSession) -> None:
    """Stage the files of a table, perhaps at an earlier version, once more."""
    newest = None if source.as_of is None else session.catalog.newest_generation(source)
    logged_folder(source.location or "", session.catalog).second_names(newest, staging)


def link_partitions(
    source: Table, partitions: Mapping[str, HivePartition], staging: str, session: EngineSession
) -> None:
    """Stage the files of Hive partitions once more, each under its name in a staging folder."""
    home = folder_at(source.location or "", session)
    for name, one in partitions.items():
        linked = home.staged_subfolder(staging, name)
        logged_folder(one.folder(source), session.catalog).second_names(one.newest, linked)


@dataclass(slots=True)
class Definition(QuietWrite):
    """Write of a table's definition, after its files were placed: its columns and the forms of its Hive partitions.

    Partitions that are not in `partitions` are dropped.
    """

    table: Table
    restored: Table
    partitions: Mapping[str, HivePartition]
    session: EngineSession

    def place(self) -> None:
        catalog = self.session.catalog
        is_same = (self.restored.schema, self.restored.storage) == (self.table.schema, self.table.storage)
        if not is_same:
            catalog.alter_table(self.restored, was=self.table)
        if self.table.is_partitioned:
            with catalog.partition_changes(self.table) as changes:
                changes.drop([one for one in changes.known.values() if one.name not in self.partitions], with_data=True)
                for one in list(changes.known.values()):
                    then = self.partitions[one.name]
                    if (then.storage, then.columns) != (one.storage, one.columns):
                        changes.alter(one, replace(one, storage=then.storage, columns=then.columns))

    def show(self) -> None:
        self.session.table_cache.properties_changed(self.table, self.restored)

    def clean(self) -> None:
        self.session.table_cache.hidden.sweep(self.table)


def vacuum_table(command: VacuumTable, session: EngineSession) -> CommandResult:
    """Delete the files that only versions before the retention need, and return them. With `is_dry`, only return them.

    Files that a query reads are deleted later.
    """
    catalog, table = session.catalog, command.table
    session.catalog.require_history(table, "VACUUM")
    retention = catalog.surroundings.retention(table)
    if command.seconds is not None:
        retention = replace(retention, seconds=command.seconds)
    oldest = catalog.oldest_retained(table, retention)
    rows = [
        (one.path, one.size_bytes)
        for folder in catalog.log.folders_to_sweep(table.table_id, oldest)
        for one in catalog.log.unneeded(folder, oldest)
    ]
    if not command.is_dry:
        session.table_cache.hidden.sweep(table, oldest)
    return CommandResult(_VACUUMED, table_of(_VACUUMED, rows))


def undrop_table(command: UndropTable, session: EngineSession) -> CommandResult:
    session.catalog.undrop_table(command.database, command.name)
    return NOTHING


def undrop_database(command: UndropDatabase, session: EngineSession) -> CommandResult:
    session.catalog.undrop_database(command.name)
    return NOTHING
