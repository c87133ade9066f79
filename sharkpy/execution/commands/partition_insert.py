"""Inserts of a query's rows into Hive partitions."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.settings import MAX_DYNAMIC_PARTITIONS, MAX_TASK_PARTITIONS
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Table
from sharkpy.execution.commands.partition_spec import matching_spec, spec_name
from sharkpy.execution.commands.storage import stored_query
from sharkpy.execution.commands.writes.publish import StagedWrite
from sharkpy.execution.commands.writes.staging import folder_at, table_staging, while_known
from sharkpy.execution.commands.writes.table_partitions import TablePartitions
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.queries.write_plan import write_files
from sharkpy.execution.tasks.partitioned_files import too_many_partitions
from sharkpy.physical.sinks import FileSink
from sharkpy.plan.commands import Insert, PartitionSpec
from sharkpy.plan.expr import SortKey
from sharkpy.plan.logical import LogicalPlan, Sort
from sharkpy.values.types import STRING, Schema

if TYPE_CHECKING:
    from sharkpy.execution.tables.snapshot import QuerySnapshot


def has_partition(command: Insert, session: EngineSession) -> bool:
    """True if the Hive partition with all the given values is registered."""
    return bool(matching_spec(command.table, list(session.catalog.partitions(command.table)), command.partition))


def stage_partitions(
    command: Insert, session: EngineSession, snapshot: QuerySnapshot, writes: list[StagedWrite]
) -> None:
    """Stage rows by Hive partition. A partition with all values given is written even without rows."""
    table = command.table
    staging = table_staging(table, table.location or "", session)
    write = TablePartitions(table, staging, (), command.overwrite, session, only_new=command.if_not_exists)
    write.keeps_rows = command.keeps_rows
    writes.append(write)
    known = () if command.overwrite else session.catalog.partitions(table)
    with while_known(table, session):
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

    Partitions in `known` keep their formats; new ones have the table's.
    """
    dynamic = tuple(name for name, value in spec if value is None)
    static = spec_name(table, spec, session)
    folder = folder_at(table.location or "", session).staged_subfolder(staging, static)
    storage = table.storage
    forms = tuple(
        (one.name.removeprefix(static).removeprefix("/"), one.storage_of(table), one.columns_of(table))
        for one in known
        if (one.storage or one.columns) and (one.name == static or one.name.startswith(f"{static}/" if static else ""))
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
    files = write_files(session, _by_folder(query, table, len(dynamic)), sink, snapshot)
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
