"""ALTER TABLE … ADD, DROP and EXCHANGE PARTITION."""

from __future__ import annotations

from collections.abc import Iterator

from sharkpy.base.settings import Conf
from sharkpy.catalog.model import Table
from sharkpy.plan.commands import AddPartitions, Command, DropPartitions, ExchangePartition, PartitionSpec
from sharkpy.sql.statements.bind_partition import full_spec, partition_filter, partitioned_table, values_spec
from sharkpy.sql.statements.command_binder import CommandBinder

_IGNORE_MISSING = "hive.exec.drop.ignorenonexistent"


def ignores_missing(conf: Conf) -> bool:
    """Return whether DROP of a missing object is not an error, which is Hive's default."""
    return conf.get(_IGNORE_MISSING, "true").lower() == "true"


def add_partitions(binder: CommandBinder, table: Table, if_not_exists: bool) -> Command:
    partitioned_table(binder, table, binder.reader.current)
    return AddPartitions(table, tuple(_added(binder, table)), if_not_exists)


def _added(binder: CommandBinder, table: Table) -> Iterator[tuple[PartitionSpec, str | None]]:
    reader = binder.reader
    while reader.peek("PARTITION"):
        yield full_spec(binder, table), reader.optional_string("LOCATION")
        reader.match(",")


def drop_partitions(binder: CommandBinder, table: Table, if_exists: bool) -> Command:
    reader = binder.reader
    partitioned_table(binder, table, reader.current)
    filters = [partition_filter(binder, table)]
    while reader.match(","):
        filters.append(partition_filter(binder, table))
    reader.match("IGNORE", "PROTECTION")
    reader.match("PURGE")
    return DropPartitions(table, tuple(filters), if_exists or ignores_missing(binder.context.conf))


def exchange_partition(binder: CommandBinder, table: Table) -> Command:
    """EXCHANGE PARTITION (…) WITH TABLE source: move these partitions of `source` here."""
    reader = binder.reader
    token = reader.current
    spec = values_spec(binder, table)
    reader.expect("WITH", "TABLE")
    source = partitioned_table(binder, binder.written_table("EXCHANGE PARTITION"), token)
    forms = [[(field.name, field.dtype) for field in one.schema] for one in (table, source)]
    if forms[0] != forms[1] or table.partition_columns != source.partition_columns:
        raise binder.error(f"{table.qualified_name} and {source.qualified_name} differ in their columns", token)
    return ExchangePartition(table, source, spec)
