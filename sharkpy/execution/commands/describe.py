"""DESCRIBE of tables, databases and functions, in Hive's layout."""

from __future__ import annotations

from collections.abc import Iterator

from sharkpy.base import uri
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Table
from sharkpy.execution.commands.command_result import CommandResult, text_rows
from sharkpy.execution.commands.describe_column import column_rows
from sharkpy.execution.commands.describe_details import (
    BLANK,
    Row,
    constraint_details,
    partition_details,
    partition_summary,
    table_details,
    table_summary,
)
from sharkpy.execution.commands.partition_spec import the_partition
from sharkpy.execution.commands.stream_facts import stream_facts
from sharkpy.execution.commands.table_facts import file_statistics, memory_statistics, table_facts
from sharkpy.execution.commands.watermark_facts import watermark_facts
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import DescribeDatabase, DescribeQuery, DescribeTable
from sharkpy.values.types import Schema

_COLUMNS = ("col_name", "data_type", "comment")


def describe_table(command: DescribeTable, session: EngineSession) -> CommandResult:
    table = command.table
    one = None
    if command.partition is not None:
        one = the_partition(table, session.catalog.partitions(table), command.partition)
    if command.column:
        return text_rows(_COLUMNS, column_rows(command, one, session))
    columns = table.data_schema if one is None else one.columns_of(table)
    columns = Schema((*columns, *table.computed_fields))
    rows = [*_fields(columns), *_fields(table.partition_schema), *_partition_fields(table)]
    match command.style:
        case "formatted":
            rows = [("# col_name", "data_type", "comment"), *_fields(columns), *_partition_fields(table)]
            details = table_details(table, session) if one is None else partition_details(table, one, session)
            rows += [BLANK, *details, *_memory_rows(table, one, session)]
        case "extended":
            details = _facts(table, session) if one is None else _partition_fact(table, one)
            rows += [BLANK, *details, *constraint_details(table), *_memory_rows(table, one, session)]
    return text_rows(_COLUMNS, rows)


def describe_query(command: DescribeQuery, _: EngineSession) -> CommandResult:
    return text_rows(_COLUMNS, [(column.name, str(column.dtype), None) for column in command.query.output])


def _partition_fields(table: Table) -> Iterator[Row]:
    if table.is_partitioned:
        yield BLANK
        yield "# Partition Information", None, None
        yield "# col_name", "data_type", "comment"
        yield from _fields(table.partition_schema)


def _memory_rows(table: Table, one: HivePartition | None, session: EngineSession) -> Iterator[Row]:
    """Rows about the Hive partitions of a cached table in memory, and its cache policy."""
    if not table.is_partitioned or not session.table_cache.is_cached(table):
        return
    held = session.table_cache.bytes_by_partition(table)
    yield BLANK
    yield "# Memory Information", None, None
    if one is not None:
        yield "In Memory:", "Yes" if one.name in held else "No", None
        yield "Bytes in Memory:", str(held.get(one.name, 0)), None
        return
    yield "Cache Policy:", str(table.cache_policy), None
    yield "Partitions in Memory:", f"{len(held)} of {len(session.catalog.partitions(table))}", None
    for name, size in held.items():
        yield "", name, f"{size} bytes"


def _facts(table: Table, session: EngineSession) -> Iterator[Row]:
    """Rows of one fact each, for dbt and Spark's clients, then Hive's single row with all facts."""
    yield "# Detailed Table Information", None, None
    statistics = memory_statistics(table, session.table_cache) or file_statistics(table, session)
    of_streams = [*stream_facts(table, session.catalog), *watermark_facts(table, session)]
    for name, value in (*table_facts(table, statistics), *of_streams):
        yield name, value, ""
    yield "Detailed Table Information", table_summary(table), ""


def _partition_fact(table: Table, one: HivePartition) -> Iterator[Row]:
    yield "Detailed Partition Information", partition_summary(table, one), ""


def _fields(schema: Schema) -> Iterator[Row]:
    for field in schema:
        yield field.name, str(field.dtype), field.comment or ""


def describe_database(command: DescribeDatabase, session: EngineSession) -> CommandResult:
    database = session.catalog.database(command.name)
    names = ("db_name", "comment", "location", "owner_name", "owner_type", "parameters")
    pairs = ", ".join(f"{key}={value}" for key, value in sorted(database.properties))
    parameters = f"{{{pairs}}}" if pairs and command.extended else ""
    place = uri.redacted(database.location)
    facts = (database.name, database.comment or "", place, database.owner, database.owner_kind, parameters)
    return text_rows(names, [facts])
