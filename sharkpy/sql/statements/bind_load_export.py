"""LOAD DATA, EXPORT TABLE and IMPORT."""

from __future__ import annotations

from sharkpy.catalog.hive_formats import CONTAINERS, format_of_classes
from sharkpy.catalog.model import StorageFormat, Table
from sharkpy.plan.commands import ExportTable, ImportTable, LoadData, PartitionSpec
from sharkpy.sql.statements.bind_partition import insert_spec, partitioned_table, values_spec
from sharkpy.sql.statements.bind_storage import with_serde
from sharkpy.sql.statements.command_binder import CommandBinder


def bind_load(binder: CommandBinder) -> LoadData:
    """LOAD DATA [LOCAL] INPATH 'path' [OVERWRITE] INTO TABLE table [PARTITION (…)] [INPUTFORMAT 'class' [SERDE …]]."""
    reader = binder.reader
    reader.expect("LOAD", "DATA")
    is_local = reader.match("LOCAL")
    reader.expect("INPATH")
    path = reader.string("a path")
    overwrite = reader.match("OVERWRITE")
    reader.expect("INTO", "TABLE")
    table = binder.written_table("LOAD DATA")
    partition = _partition(binder, table)
    return LoadData(table, path, is_local, overwrite, partition, _storage(binder))


def _partition(binder: CommandBinder, table: Table) -> PartitionSpec:
    """Read PARTITION (…). Partition columns without a value are the last columns of the files."""
    if binder.reader.peek("PARTITION"):
        return insert_spec(binder, table)
    return tuple((name, None) for name in table.partition_columns)


def _storage(binder: CommandBinder) -> StorageFormat | None:
    reader = binder.reader
    if not reader.match("INPUTFORMAT"):
        return None
    name = reader.string("the class of an input format")
    outputs = next((one.outputs for one in CONTAINERS if name in one.inputs), None)
    storage = None if outputs is None else format_of_classes(name, outputs[0])
    if storage is None:
        reader.position -= 1
        raise reader.unsupported(f"the input format {name}")
    return with_serde(reader, storage, reader.string("the class of a SerDe"), ()) if reader.match("SERDE") else storage


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
