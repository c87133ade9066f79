"""UPDATE, DELETE, MERGE and TRUNCATE: changed parts are rewritten and replace the old ones atomically."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sharkpy.base.errors import BindError, ExecutionError
from sharkpy.catalog.hive_partition import partition_name
from sharkpy.catalog.model import Table, TableKind
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.insert import stage, write_partitions
from sharkpy.execution.commands.partition_spec import matching_spec, no_such_partition
from sharkpy.execution.commands.shared_source import Resolve, num_changed_rows, shared_source, with_update_count
from sharkpy.execution.commands.writes.staged_write import (
    ConflictCheck,
    StagedWrite,
    discarding,
    folder_at,
    publish,
    reporting_dropped_table,
    retry_on_conflict,
    table_staging,
)
from sharkpy.execution.commands.writes.table_files import TableBlocks, TableFiles
from sharkpy.execution.commands.writes.table_partitions import TablePartitions
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.queries.run_plan import query_rows
from sharkpy.execution.statement import Statement
from sharkpy.execution.tables.snapshot import QuerySnapshot
from sharkpy.plan.commands import ChangeRows, Insert, PartitionSpec, TruncateTable
from sharkpy.plan.expr import Call, Cast, ColumnRef, Expr, conjunction, disjunction, string_literal
from sharkpy.plan.logical import Filter, LogicalPlan
from sharkpy.plan.subqueries import read_tables
from sharkpy.values.types import BOOLEAN

_MOST_NAMED = 500
"""Largest number of Hive partitions to which a scan is restricted. With more, all are scanned."""
_SEVERAL_ROWS = "21000"
Texts = tuple[str | None, ...]
"""Values of a Hive partition's columns as texts."""


def change_rows(command: ChangeRows, session: EngineSession, snapshot: QuerySnapshot) -> CommandResult:
    """Change rows. Start again if another write has changed the table meanwhile, so that none of its rows is lost."""
    try:
        retry_on_conflict(lambda: _change(command, session, snapshot), snapshot)
    except ExecutionError as error:
        if command.source is not None and error.sqlstate == _SEVERAL_ROWS:
            message = f"several rows of the source match one row of {command.table.qualified_name}"
            raise ExecutionError(message, hint="MERGE changes a row once", sqlstate=_SEVERAL_ROWS) from None
        raise
    return NOTHING


def _change(command: ChangeRows, session: EngineSession, snapshot: QuerySnapshot) -> None:
    writes: list[StagedWrite] = [ConflictCheck.now(command.table, session)]
    queries = [query for query in (command.rows, command.changed, command.added) if query is not None]
    snapshot.capture(read_tables(*queries, *([] if command.source is None else [command.source])))
    with discarding(writes):
        with (
            session.as_statement() as statement,
            shared_source(command.source, queries, session, snapshot) as resolved,
        ):
            statement.rows_written = _stage(command, resolved, statement, session, snapshot, writes)
        snapshot.release()
        publish(writes, session.catalog)


def _stage(
    command: ChangeRows,
    resolved: Resolve,
    statement: Statement,
    session: EngineSession,
    snapshot: QuerySnapshot,
    writes: list[StagedWrite],
) -> int:
    """Stage the remaining and the added rows; return the number of changed rows."""
    table, changed = command.table, 0
    if command.rows is not None:
        rows, before = resolved(command.rows), command.before
        if command.changed is None:
            stage(Insert(table, with_update_count(rows, command), overwrite=True), session, snapshot, writes)
            changed = num_changed_rows(before, statement, session, snapshot)
        elif found := _partitions(resolved(command.changed), table, session, snapshot):
            if len(found) <= _MOST_NAMED:
                rows = _of_partitions(rows, table, found)
                before = before and replace(before, child=_of_partitions(before.child, table, found))
            _stage_partitions(with_update_count(rows, command), found, table, session, snapshot, writes)
            changed = num_changed_rows(before, statement, session, snapshot)
    if command.added is not None:
        partition = tuple((name, None) for name in table.partition_columns)
        added = Insert(table, resolved(command.added), overwrite=False, partition=partition)
        stage(added, session, snapshot, writes)
        changed += statement.rows_written
    return changed


def _partitions(changed: LogicalPlan, table: Table, session: EngineSession, snapshot: QuerySnapshot) -> Sequence[Texts]:
    """Return the values of the Hive partitions with changed rows."""
    columns = table.partition_columns
    return [
        tuple(row[name] for name in columns)
        for batch in query_rows(session, changed, snapshot)
        for row in batch.rename_columns(list(columns)).to_pylist()
    ]


def _stage_partitions(
    rows: LogicalPlan,
    found: Sequence[Texts],
    table: Table,
    session: EngineSession,
    snapshot: QuerySnapshot,
    writes: list[StagedWrite],
) -> None:
    """Stage all new rows of each Hive partition with changed rows, even if it has none."""
    columns = table.partition_columns
    staging = table_staging(table, table.location or "", session)
    names = [partition_name(columns, texts) for texts in found]
    writes.append(TablePartitions(table, staging, names, True, session))
    with reporting_dropped_table(table, session):
        write_partitions(table, rows, tuple((name, None) for name in columns), staging, session, snapshot)
        folder = folder_at(table.location or "", session)
        for name in names:
            folder.staged_subfolder(staging, name)


def _of_partitions(rows: LogicalPlan, table: Table, found: Sequence[Texts]) -> LogicalPlan:
    """Restrict `rows` to the Hive partitions with these values."""
    named = {column.name: column for column in rows.output}
    columns = table.partition_columns
    terms = [
        conjunction(_is_value(named[name], text) for name, text in zip(columns, texts, strict=True)) for texts in found
    ]
    is_one = disjunction(term for term in terms if term is not None)
    return rows if is_one is None else Filter(rows, is_one)


def _is_value(column: ColumnRef, text: str | None) -> Expr:
    if text is None:
        return Call("is_null", (column,), BOOLEAN)
    return Call("eq", (column, Cast(string_literal(text), column.dtype)), BOOLEAN)


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
    partitions = session.catalog.partitions(table)
    chosen = partitions if partition is None else matching_spec(table, partitions, partition)
    if partition is not None and not chosen:
        raise no_such_partition(table, ", ".join(f"{name}='{value}'" for name, value in partition))
    staging = table_staging(table, table.location or "", session)
    folder = folder_at(table.location or "", session)
    for one in chosen:
        folder.staged_subfolder(staging, one.name)
    return TablePartitions(table, staging, [one.name for one in chosen], True, session)
