"""TRUNCATE TABLE: removes all rows atomically."""

from __future__ import annotations

from sharkpy.base.errors import BindError
from sharkpy.catalog.model import Table, TableKind
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.partition_spec import matching_spec, no_such_partition
from sharkpy.execution.commands.writes.publish import StagedWrite, publish
from sharkpy.execution.commands.writes.staging import folder_at, table_staging
from sharkpy.execution.commands.writes.table_blocks import TableBlocks
from sharkpy.execution.commands.writes.table_files import TableFiles
from sharkpy.execution.commands.writes.table_partitions import TablePartitions
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import PartitionSpec, TruncateTable


def truncate_table(command: TruncateTable, session: EngineSession) -> CommandResult:
    table = command.table
    if table.is_view or not (table.owns_data or table.kind is TableKind.TEMPORARY):
        raise BindError(f'TRUNCATE of "{table.name}", which is not a managed table', sqlstate="42809")
    publish([without_rows(table, session, command.partition)], session.catalog)
    return NOTHING


def without_rows(table: Table, session: EngineSession, partition: PartitionSpec | None = None) -> StagedWrite:
    """Return a write that empties a table, or some of its Hive partitions."""
    if table.is_partitioned:
        return _empty_partitions(table, session, partition)
    if table.location is None:
        return TableBlocks(table, True, session, ())
    return TableFiles.begin(table, True, session)


def _empty_partitions(table: Table, session: EngineSession, partition: PartitionSpec | None) -> TablePartitions:
    """Return a write that empties all or the given Hive partitions; they stay registered."""
    chosen = list(session.catalog.partitions(table))
    if partition is not None:
        chosen = matching_spec(table, chosen, partition)
        if not chosen:
            raise no_such_partition(table, ", ".join(f"{name}='{value}'" for name, value in partition))
    staging = table_staging(table, table.location or "", session)
    folder = folder_at(table.location or "", session)
    for one in chosen:
        folder.staged_subfolder(staging, one.name)
    return TablePartitions(table, staging, [one.name for one in chosen], True, session)
