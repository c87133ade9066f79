"""INSERT INTO and INSERT OVERWRITE, into one or several tables, Hive partitions and folders."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from sharkpy.base import uri
from sharkpy.base.errors import BindError, BlocksReplacedError, UnsupportedError
from sharkpy.base.settings import BLOCK_ROWS, MAX_DYNAMIC_PARTITIONS, MAX_TASK_PARTITIONS
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.lake_tables import is_lake
from sharkpy.catalog.model import Table
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.lake_tables import stage_lake
from sharkpy.execution.commands.partition_spec import matching_spec, spec_name
from sharkpy.execution.commands.shared_source import shared_source
from sharkpy.execution.commands.storage import check_storage, storage_format, stored_query, stored_schema
from sharkpy.execution.commands.writes.directory import ACTION, begin_directory
from sharkpy.execution.commands.writes.passed_files import PassedFiles
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
from sharkpy.execution.queries.write_query import bucketed_query, stage_files, write_blocks, write_files
from sharkpy.execution.tasks.buckets import bucketing
from sharkpy.execution.tasks.partitioned_writes import too_many_partitions
from sharkpy.physical.stage_program import BlockSink, FileSink
from sharkpy.plan.commands import Insert, InsertDirectory, MultiInsert, PartitionSpec, StateInserts
from sharkpy.plan.expr import SortKey
from sharkpy.plan.logical import LogicalPlan, Sort
from sharkpy.plan.subqueries import read_tables
from sharkpy.sources.lake.lake_table import LakeTable
from sharkpy.values.types import STRING, Field, Schema

if TYPE_CHECKING:
    from sharkpy.execution.statement import Statement
    from sharkpy.execution.tables.snapshot import QuerySnapshot

BadRows: TypeAlias = "Callable[[QuerySnapshot], Insert]"
"""Function that returns the INSERT of the malformed rows of a snapshot's streams."""


def insert(command: Insert | InsertDirectory, session: EngineSession, snapshot: QuerySnapshot) -> CommandResult:
    """Insert the rows of a query.

    Files are staged and become visible by one rename, after the query has read its input.
    """
    if isinstance(command, Insert) and command.keeps_rows:
        retry_on_conflict(lambda: _insert_all([command], session, snapshot), snapshot)
    else:
        _insert_all([command], session, snapshot)
    return NOTHING


def multi_insert(command: MultiInsert, session: EngineSession, snapshot: QuerySnapshot) -> CommandResult:
    """Insert into several targets atomically; all queries read one snapshot."""
    _insert_shared(command, session, snapshot)
    return NOTHING


def insert_with(
    command: Insert | MultiInsert | StateInserts,
    session: EngineSession,
    snapshot: QuerySnapshot,
    also: StagedWrite,
    bad_rows: BadRows | None = None,
) -> None:
    """Insert the rows of one or several queries, and commit `also` in the same catalog transaction.

    The malformed rows that the queries skipped are inserted by `bad_rows` in this transaction too.
    """

    def insert_all() -> None:
        if isinstance(command, StateInserts):
            with added_rows(command, session, snapshot):
                _insert_all(command.given, session, snapshot, [also], bad_rows, command.kept)
        else:
            _insert_shared(command, session, snapshot, [also], bad_rows)

    try:
        insert_all()
    except BlocksReplacedError:
        # The tables that it reads have new blocks. Nothing is committed yet, so it can run again.
        snapshot.renew()
        insert_all()


@contextmanager
def added_rows(command: StateInserts, session: EngineSession, snapshot: QuerySnapshot) -> Iterator[None]:
    """Compute the rows that an epoch adds to a state into blocks, which are dropped after the body."""
    rows, read = command.rows, (command.added, *(one.query for one in (*command.kept, *command.given)))
    snapshot.capture(table for table in read_tables(*read) if table != rows)
    try:
        sink = BlockSink(rows.schema, session.conf.value(BLOCK_ROWS), None)
        session.table_cache.put(rows, write_blocks(session, command.added, sink, snapshot))
        yield
    finally:
        session.table_cache.forget(rows)


def _insert_shared(
    command: Insert | MultiInsert,
    session: EngineSession,
    snapshot: QuerySnapshot,
    also: Sequence[StagedWrite] = (),
    bad_rows: BadRows | None = None,
) -> None:
    """Insert into several targets whose queries share their source, or into one."""
    if isinstance(command, Insert):
        _insert_all([command], session, snapshot, also, bad_rows)
        return
    queries = [one.query for one in command.inserts]
    snapshot.capture(read_tables(command.source, *queries))
    with shared_source(command.source, queries, session, snapshot) as resolved:
        _insert_all(
            [replace(one, query=resolved(one.query)) for one in command.inserts], session, snapshot, also, bad_rows
        )


def _insert_all(
    commands: Sequence[Insert | InsertDirectory],
    session: EngineSession,
    snapshot: QuerySnapshot,
    also: Sequence[StagedWrite] = (),
    bad_rows: BadRows | None = None,
    kept: Sequence[Insert] = (),
) -> None:
    """Insert into several targets. The rows of `kept`, which go into a state, are not counted."""
    _check_lakes([*commands, *kept], also)
    writes: list[StagedWrite] = []
    with discarding(writes):
        with session.as_statement() as statement:
            num_rows, of_source, most = 0, statement.malformed_rows, 0
            for command in commands:
                statement.rows_written = statement.malformed_rows = 0
                if isinstance(command, InsertDirectory):
                    _stage_directory(command, session, snapshot, writes)
                else:
                    stage(command, session, snapshot, writes)
                num_rows += statement.rows_written
                # Targets that read the same records have the same malformed rows.
                most = max(most, statement.malformed_rows)
            # Rows added to a state come from the same records too.
            malformed = max(of_source, most) if kept else of_source + most
            statement.rows_written, statement.malformed_rows = num_rows, malformed
            stage_uncounted(kept, statement, session, snapshot, writes)
            if bad_rows is not None:
                stage_bad_rows(bad_rows, statement, session, snapshot, writes)
        snapshot.release()
        # An epoch that a loss of power undoes runs again.
        publish([*writes, *also], session.catalog, is_durable=not also)


def stage_uncounted(
    commands: Sequence[Insert],
    statement: Statement,
    session: EngineSession,
    snapshot: QuerySnapshot,
    writes: list[StagedWrite],
) -> None:
    """Stage rows without adding to the statement's counts of written and malformed rows."""
    counted = statement.rows_written, statement.malformed_rows
    for command in commands:
        stage(command, session, snapshot, writes)
    statement.rows_written, statement.malformed_rows = counted


def _check_lakes(commands: Sequence[Insert | InsertDirectory], also: Sequence[StagedWrite]) -> None:
    """Raise UnsupportedError if a lake table is one of several targets: its commit is separate."""
    lake = next((one.table for one in commands if isinstance(one, Insert) and is_lake(one.table)), None)
    if lake is not None and (also or len(commands) > 1):
        message = f"{lake.qualified_name}, a table of {lake.storage.name}, cannot be one of several targets"
        raise UnsupportedError(message, hint="write it in a separate statement")


def stage_bad_rows(
    bad_rows: BadRows,
    statement: Statement,
    session: EngineSession,
    snapshot: QuerySnapshot,
    writes: list[StagedWrite],
) -> None:
    """Stage the malformed rows that the statement skipped, if any, by reading the input again."""
    if not statement.malformed_rows:
        return
    num_rows = statement.rows_written
    stage(bad_rows(snapshot), session, snapshot, writes)
    statement.rows_written, statement.malformed_rows = num_rows, statement.rows_written


def stage(command: Insert, session: EngineSession, snapshot: QuerySnapshot, writes: list[StagedWrite]) -> None:
    """Stage the rows. The write is in `writes` as soon as there is something to discard."""
    table = command.table
    if table.is_view:
        raise BindError(f'"{table.name}" is a view: rows cannot be inserted', sqlstate="42809")
    if isinstance(table, LakeTable):
        stage_lake(command, table, session, snapshot, writes)
        return
    if session.catalog.is_shared and table.buckets is not None:
        raise UnsupportedError(
            f"{table.qualified_name} has Hive's buckets in the metastore: adding rows to it is not supported"
        )
    if command.if_not_exists and has_partition(command, session):
        return
    if command.keeps_rows:
        writes.append(ConflictCheck.now(table, session))
    if table.is_partitioned:
        stage_partitions(command, session, snapshot, writes)
        return
    query, buckets = bucketed_query(command.query, table.schema, table.buckets), bucketing(table.buckets, table.schema)
    if table.location is None:
        sink = BlockSink(table.schema, session.conf.value(BLOCK_ROWS), None, buckets)
        writes.append(TableBlocks(table, command.overwrite, session, write_blocks(session, query, sink, snapshot)))
        return
    passed = None if command.overwrite else PassedFiles.of(command.query, table, session, snapshot)
    write = TableFiles.begin(table, command.overwrite, session)
    write.keeps_rows = command.keeps_rows
    writes.append(write)
    if passed is not None:
        write.check = passed.check
        with reporting_dropped_table(table, session), session.as_statement() as statement:
            statement.rows_written = passed.stage(write.staging)
        return
    storage = table.storage
    files = FileSink(table.schema, storage.name, storage.properties, write.staging, buckets=buckets)
    with reporting_dropped_table(table, session):
        stage_files(session, query, files, snapshot)


def _stage_directory(
    command: InsertDirectory, session: EngineSession, snapshot: QuerySnapshot, writes: list[StagedWrite]
) -> None:
    query, storage = command.query, storage_format(command.storage, (), session)
    schema = stored_schema(_distinct_names(query))
    check_storage(storage, schema, session)
    write = begin_directory(command.path, ACTION, session, replaces=True)
    writes.append(write)
    sink = FileSink(schema, storage.name, storage.properties, write.stage_rows())
    write_files(session, stored_query(query, schema), sink, snapshot)


def _distinct_names(query: LogicalPlan) -> Schema:
    """Columns of the query with distinct names, which formats with column names require."""
    taken: set[str] = set()
    fields: list[Field] = []
    for column in query.output:
        name, number = column.name, 0
        while name in taken:
            number += 1
            name = f"{column.name}_{number}"
        taken.add(name)
        fields.append(Field(name, column.dtype))
    return Schema(tuple(fields))


def has_partition(command: Insert, session: EngineSession) -> bool:
    """True if the Hive partition with all the given values is registered."""
    return bool(matching_spec(command.table, session.catalog.partitions(command.table), command.partition))


def stage_partitions(
    command: Insert, session: EngineSession, snapshot: QuerySnapshot, writes: list[StagedWrite]
) -> None:
    """Stage rows by Hive partition. A partition with all values given is written even without rows."""
    table = command.table
    staging = table_staging(table, table.location or "", session)
    write = TablePartitions(table, staging, (), command.overwrite, session, only_new=command.if_not_exists)
    write.keeps_rows = command.keeps_rows
    writes.append(write)
    known = () if command.overwrite else session.catalog.partitions(table).formed
    with reporting_dropped_table(table, session):
        write.names = write_partitions(table, command.query, command.partition, staging, session, snapshot, known)


def write_partitions(
    table: Table,
    query: LogicalPlan,
    spec: PartitionSpec,
    staging: str,
    session: EngineSession,
    snapshot: QuerySnapshot,
    known: Sequence[HivePartition] = (),
) -> list[str]:
    """Write files in folders of `staging` named after Hive partitions; return the partitions' names.

    Partitions in `known` keep their own formats and columns; the others have the table's.
    """
    dynamic = tuple(name for name, value in spec if value is None)
    static = spec_name(table, spec, session)
    folder = folder_at(table.location or "", session).staged_subfolder(staging, static)
    storage = table.storage
    forms = tuple(
        (one.name.removeprefix(static).removeprefix("/"), one.storage_of(table), one.columns_of(table))
        for one in known
        if one.name == static or one.name.startswith(f"{static}/" if static else "")
    )
    sink = FileSink(
        table.data_schema,
        storage.name,
        storage.properties,
        folder,
        partition_columns=dynamic,
        max_partitions=session.conf.value(MAX_TASK_PARTITIONS),
        forms=forms,
    )
    files = stage_files(session, _by_folder(query, table, len(dynamic)), sink, snapshot)
    if not dynamic:
        return [static]
    names = sorted({uri.below(uri.parent(path), staging) or "" for path, _, _ in files})
    most = session.conf.value(MAX_DYNAMIC_PARTITIONS)
    if len(names) > most:
        raise too_many_partitions("the statement", most, MAX_DYNAMIC_PARTITIONS)
    return names


def _by_folder(query: LogicalPlan, table: Table, num_dynamic: int) -> LogicalPlan:
    """Return the query with each task's rows sorted by folder. Its last columns are the texts that name the folder."""
    if not num_dynamic:
        return query
    texts = [dataclasses.replace(field, dtype=STRING) for field in table.partition_schema.fields[-num_dynamic:]]
    named = stored_query(query, Schema((*table.data_schema, *texts)))
    return Sort(named, tuple(SortKey(column) for column in named.output[-num_dynamic:]), is_global=False)
