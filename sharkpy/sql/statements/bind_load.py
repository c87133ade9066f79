"""LOAD DATA."""

from __future__ import annotations

from sharkpy.catalog.hive_formats import CONTAINERS, format_of_classes
from sharkpy.catalog.model import StorageFormat, Table
from sharkpy.plan.commands import LoadData, PartitionSpec
from sharkpy.sql.statements.bind_partition import insert_spec
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
