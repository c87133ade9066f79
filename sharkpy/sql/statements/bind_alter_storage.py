"""ALTER TABLE: location of data, file format, buckets, skew, and merging of files."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from sharkpy.base.errors import BindError
from sharkpy.plan.commands import AlterPartition, AlterTable, Command, Insert, TouchTable
from sharkpy.sql.statements import bind_storage
from sharkpy.sql.statements.alter_target import Target
from sharkpy.sql.statements.bind_buckets import bucket_spec, clustered_by, num_buckets, skewed_by
from sharkpy.sql.statements.bind_partition import partitioned_table, values_spec
from sharkpy.sql.statements.command_binder import CommandBinder


def set_location(binder: CommandBinder, target: Target) -> Command:
    token = binder.reader.current
    location = binder.reader.string("a path")
    if ":" not in location and not Path(location).expanduser().is_absolute():
        hint = "only the LOCATION of ADD PARTITION may be one below the table's folder"
        raise binder.error(f'the path "{location}" is not absolute', token, BindError, hint)
    if target.partition is not None:
        return AlterPartition(target.table, target.full_partition(binder), location=location)
    return AlterTable(target.table, dataclasses.replace(target.table, location=location))


def set_file_format(binder: CommandBinder, target: Target) -> Command:
    storage = bind_storage.stored_as(binder.reader)
    if target.partition is not None:
        return AlterPartition(target.table, target.full_partition(binder), storage=storage)
    return AlterTable(target.table, dataclasses.replace(target.table, storage=storage))


def set_serde(binder: CommandBinder, target: Target) -> Command:
    reader = binder.reader
    name = reader.string("the class of a SerDe")
    storage = bind_storage.with_serde(reader, target.table.storage, name, ())
    if properties := bind_storage.serde_properties(reader):
        storage = bind_storage.with_serde(reader, target.table.storage, name, properties)
    if target.partition is not None:
        return AlterPartition(target.table, target.full_partition(binder), storage=storage)
    return AlterTable(target.table, dataclasses.replace(target.table, storage=storage))


def set_serde_properties(binder: CommandBinder, target: Target) -> Command:
    table = target.table
    properties = bind_storage.format_serde_properties(binder.reader, table.storage)
    if target.partition is not None:
        return AlterPartition(table, target.full_partition(binder), serde_properties=properties)
    merged = dict(table.storage.properties) | dict(properties)
    storage = dataclasses.replace(table.storage, properties=tuple(merged.items()))
    return AlterTable(table, dataclasses.replace(table, storage=storage))


def unset_serde_properties(binder: CommandBinder, target: Target) -> Command:
    storage = target.table.storage
    gone = unset_keys(binder, dict(storage.properties), "the SerDe")
    kept = tuple((key, value) for key, value in storage.properties if key not in gone)
    altered = dataclasses.replace(target.table, storage=dataclasses.replace(storage, properties=kept))
    return AlterTable(target.table, altered)


def clustered(binder: CommandBinder, target: Target) -> Command:
    table = target.table
    buckets = bucket_spec(binder, clustered_by(binder.reader), table.data_schema.fields, (), None)
    return AlterTable(table, dataclasses.replace(table, buckets=buckets))


def into_buckets(binder: CommandBinder, target: Target) -> Command:
    table = target.table
    if table.buckets is None:
        hint = "use CLUSTERED BY (…) INTO n BUCKETS"
        raise binder.error(f"{table.qualified_name} has no bucket columns", None, hint=hint)
    buckets = dataclasses.replace(table.buckets, num_buckets=num_buckets(binder.reader))
    return AlterTable(table, dataclasses.replace(table, buckets=buckets))


def not_clustered(_: CommandBinder, target: Target) -> Command:
    return AlterTable(target.table, dataclasses.replace(target.table, buckets=None))


def not_sorted(_: CommandBinder, target: Target) -> Command:
    buckets = target.table.buckets and dataclasses.replace(target.table.buckets, sort_columns=())
    return AlterTable(target.table, dataclasses.replace(target.table, buckets=buckets))


def skewed(binder: CommandBinder, target: Target) -> Command:
    skew = skewed_by(binder, target.table.data_schema.names)
    return AlterTable(target.table, dataclasses.replace(target.table, skew=skew))


def not_skewed(_: CommandBinder, target: Target) -> Command:
    return AlterTable(target.table, dataclasses.replace(target.table, skew=None))


def not_in_directories(_: CommandBinder, target: Target) -> Command:
    skew = target.table.skew and dataclasses.replace(target.table.skew, in_directories=False)
    return AlterTable(target.table, dataclasses.replace(target.table, skew=skew))


def touch(binder: CommandBinder, target: Target) -> Command:
    reader = binder.reader
    if not reader.peek("PARTITION"):
        return TouchTable(target.table)
    return TouchTable(partitioned_table(binder, target.table, reader.current), values_spec(binder, target.table))


def merge_files(binder: CommandBinder, target: Target) -> Command:
    """CONCATENATE and COMPACT: rewrite the rows into few files of full size, with all guarantees of DML."""
    reader, table = binder.reader, target.table
    if reader.tokens[reader.position - 1].text.upper() == "COMPACT":
        reader.string("'major' or 'minor'")
        reader.match("AND", "WAIT")
        if reader.match("WITH", "OVERWRITE", "TBLPROPERTIES"):
            reader.properties()
    if table.location is None:
        raise reader.unsupported(f"merging the files of {table.qualified_name}, which has none,")
    spec = target.partition if target.partition is not None else tuple((n, None) for n in table.partition_columns)
    given = dict(spec)
    full = tuple((name, given.get(name)) for name in table.partition_columns)
    columns = ", ".join(f"`{field.name}`" for field in table.schema if given.get(field.name) is None)
    terms = [f"`{name}` = '{_escaped(value)}'" for name, value in full if value is not None]
    where = f" WHERE {' AND '.join(terms)}" if terms else ""
    text = f"SELECT {columns} FROM `{table.database}`.`{table.name}`{where}"
    return Insert(table, binder.query_of(text), True, full, keeps_rows=True)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def unset_keys(binder: CommandBinder, known: dict[str, str], owner: str) -> tuple[str, ...]:
    """[IF EXISTS] ('key', …): keys to unset. Without IF EXISTS, they have to be in `known`."""
    reader = binder.reader
    if_exists = reader.if_exists()
    reader.expect("(")
    keys: list[str] = []
    while True:
        token = reader.current
        keys.append(reader.key())
        if keys[-1] not in known and not if_exists:
            raise binder.error(f'{owner} has no property "{keys[-1]}"', token)
        if reader.match(")"):
            return tuple(keys)
        reader.expect(",")
