"""INSERT INTO, INSERT OVERWRITE and TRUNCATE TABLE."""

from __future__ import annotations

from pathlib import Path

from sharkpy.catalog.model import Table, TableKind
from sharkpy.commands import Insert, TruncateTable
from sharkpy.conf import BLOCK_ROWS
from sharkpy.errors import BindError, CancelledError, ResourceError, UnsupportedError
from sharkpy.execution.commands.bucketed_query import bucketed_query
from sharkpy.execution.commands.partition_insert import insert_partitions, truncate_partitions
from sharkpy.execution.commands.result import NOTHING, CommandResult
from sharkpy.execution.commands.session import CommandSession
from sharkpy.execution.tasks.row_buckets import bucketing
from sharkpy.physical.stage import BlockSink, FileSink
from sharkpy.sources import layout


def insert(command: Insert, session: CommandSession) -> CommandResult:
    """Files are written aside and become data by one rename, after the query has read all it needs."""
    table = command.table
    if table.is_view:
        raise BindError(f'"{table.name}" is a view: rows cannot be inserted', sqlstate="42809")
    if table.is_partitioned:
        insert_partitions(command, session)
        load_new_blocks(table, session)
        return NOTHING
    if table.location is None:
        query = bucketed_query(command.query, table.schema, table.buckets)
        sink = BlockSink(table.schema, session.conf.value(BLOCK_ROWS), None, bucketing(table.buckets, table.schema))
        session.table_cache.append(table, session.write_blocks(query, sink), overwrite=command.overwrite)
        return NOTHING
    location = table_folder(table)
    staging = layout.new_staging(location)
    try:
        buckets = bucketing(table.buckets, table.schema)
        sink_files = FileSink(table.schema, table.storage.name, table.storage.properties, staging, buckets=buckets)
        session.write_files(bucketed_query(command.query, table.schema, table.buckets), sink_files)
        layout.publish(staging, location, overwrite=command.overwrite)
    except BaseException:
        layout.discard_staging(staging)
        raise
    load_new_blocks(table, session)
    return NOTHING


def truncate_table(command: TruncateTable, session: CommandSession) -> CommandResult:
    table = command.table
    if table.is_view or table.kind is TableKind.EXTERNAL:
        raise BindError(f'TRUNCATE of "{table.name}", which is not a managed table', sqlstate="42809")
    if table.is_partitioned:
        truncate_partitions(command, session)
        load_new_blocks(table, session)
        return NOTHING
    if table.location is None:
        session.table_cache.append(table, (), overwrite=True)
        return NOTHING
    location = table_folder(table)
    staging = layout.new_staging(location)
    try:
        layout.publish(staging, location, overwrite=True)
    except BaseException:
        layout.discard_staging(staging)
        raise
    load_new_blocks(table, session)
    return NOTHING


def table_folder(table: Table) -> str:
    """The folder of a table that rows are to be added to."""
    location = layout.local_path(table.location or "")
    if Path(location).is_file():
        raise UnsupportedError(f'adding rows to table "{table.name}", whose location is the file "{location}"')
    return location


def load_new_blocks(table: Table, session: CommandSession) -> None:
    """The statement is done when its files are: blocks that found no room are loaded by the next query."""
    if not session.table_cache.is_loaded(table):
        return
    try:
        session.table_cache.version(table)
    except (CancelledError, ResourceError):
        session.table_cache.release(table)
