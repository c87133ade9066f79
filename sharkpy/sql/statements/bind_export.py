"""EXPORT TABLE and IMPORT."""

from __future__ import annotations

from sharkpy.plan.commands import ExportTable, ImportTable, PartitionSpec
from sharkpy.sql.statements.bind_partition import partitioned_table, values_spec
from sharkpy.sql.statements.command_binder import CommandBinder


def bind_export(binder: CommandBinder) -> ExportTable:
    """EXPORT TABLE table [PARTITION (…)] TO 'path'."""
    reader = binder.reader
    reader.expect("EXPORT", "TABLE")
    table = binder.base_table("EXPORT")
    partition: PartitionSpec = ()
    if reader.peek("PARTITION"):
        partition = values_spec(binder, partitioned_table(binder, table, reader.current))
    reader.expect("TO")
    path = reader.string("a path")
    if reader.peek("FOR"):
        raise reader.unsupported("EXPORT … FOR REPLICATION")
    return ExportTable(table, path, partition)


def bind_import(binder: CommandBinder) -> ImportTable:
    """IMPORT [[EXTERNAL] TABLE table [PARTITION (column = value, …)]] FROM 'path' [LOCATION 'path'].

    The exported files describe the columns. `partition` has the values as written.
    """
    reader = binder.reader
    reader.expect("IMPORT")
    is_external = reader.match("EXTERNAL")
    database, name = binder.context.database, None
    partition: dict[str, str] = {}
    if is_external or reader.peek("TABLE"):
        reader.expect("TABLE")
        database, name = binder.new_name()
        if reader.match("PARTITION"):
            partition = dict(_values(binder))
    reader.expect("FROM")
    path = reader.string("a path")
    location = reader.optional_string("LOCATION")
    return ImportTable(path, database, name, is_external, tuple(partition.items()), location)


def _values(binder: CommandBinder) -> list[tuple[str, str]]:
    reader = binder.reader
    reader.expect("(")
    found: list[tuple[str, str]] = []
    while True:
        name = reader.name("a partition column")
        reader.expect("=")
        found.append((name, str(reader.take().text)))
        if reader.match(")"):
            return found
        reader.expect(",")
