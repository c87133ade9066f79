"""Rows of a query into Hive partitions, and none where they are to be emptied."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from sharkpy.catalog.model import Table
from sharkpy.commands import Insert, PartitionSpec, TruncateTable
from sharkpy.conf import MAX_DYNAMIC_PARTITIONS
from sharkpy.errors import ResourceError
from sharkpy.execution.commands.partition_spec import matching_spec, no_such_partition, spec_name
from sharkpy.execution.commands.partition_writes import publish_partitions
from sharkpy.execution.commands.session import CommandSession
from sharkpy.execution.commands.storage import stored_query
from sharkpy.expr import SortKey
from sharkpy.logical import LogicalPlan, Sort
from sharkpy.physical.stage import FileSink
from sharkpy.sources import layout
from sharkpy.types import STRING, Schema


def insert_partitions(command: Insert, session: CommandSession) -> None:
    """A Hive partition with all values given is written even where the query has no rows; others where it has some."""
    table = command.table
    staging = layout.new_staging(table.location or "")
    try:
        names = write_partitions(table, command.query, command.partition, staging, session)
        publish_partitions(table, staging, names, command.overwrite, session)
    except BaseException:
        layout.discard_staging(staging)
        raise


def write_partitions(
    table: Table, query: LogicalPlan, spec: PartitionSpec, staging: str, session: CommandSession
) -> list[str]:
    """Files below `staging`, in folders named after their Hive partitions; the names of these."""
    dynamic = tuple(name for name, value in spec if value is None)
    static = spec_name(table, spec, session)
    folder = Path(staging, static)
    folder.mkdir(parents=True, exist_ok=True)
    storage = table.storage
    sink = FileSink(table.data_schema, storage.name, storage.properties, str(folder), partition_columns=dynamic)
    files = session.write_files(_by_folder(query, table, len(dynamic)), sink)
    if not dynamic:
        return [static]
    names = sorted({str(Path(path).parent.relative_to(staging)) for path, _, _ in files})
    most = session.conf.value(MAX_DYNAMIC_PARTITIONS)
    if len(names) > most:
        hint = f"raise {MAX_DYNAMIC_PARTITIONS.key}"
        raise ResourceError(f"the statement writes {len(names)} partitions, {most} are allowed", hint=hint)
    return names


def _by_folder(query: LogicalPlan, table: Table, num_dynamic: int) -> LogicalPlan:
    """Each task's rows sorted by folder, with the texts that folders are named after as last columns."""
    if not num_dynamic:
        return query
    texts = [dataclasses.replace(field, dtype=STRING) for field in table.partition_schema.fields[-num_dynamic:]]
    named = stored_query(query, Schema((*table.data_schema, *texts)))
    return Sort(named, tuple(SortKey(column) for column in named.output[-num_dynamic:]), is_global=False)


def truncate_partitions(command: TruncateTable, session: CommandSession) -> None:
    """All Hive partitions or those of the statement have no rows; they stay registered."""
    table = command.table
    chosen = list(session.catalog.partitions(table))
    if command.partition is not None:
        chosen = matching_spec(table, chosen, command.partition)
        if not chosen:
            raise no_such_partition(table, ", ".join(f"{name}='{value}'" for name, value in command.partition))
    staging = layout.new_staging(table.location or "")
    try:
        for one in chosen:
            Path(staging, one.name).mkdir(parents=True)
        publish_partitions(table, staging, [one.name for one in chosen], True, session)
    except BaseException:
        layout.discard_staging(staging)
        raise
