"""ALTER, DROP, TRUNCATE."""

from __future__ import annotations

from collections.abc import Iterator

from sharkpy.catalog.model import Table, TableKind
from sharkpy.commands import (
    AddColumns,
    AddPartitions,
    Command,
    CreateView,
    DropDatabase,
    DropPartitions,
    DropTable,
    PartitionSpec,
    RenamePartition,
    RenameTable,
    RepairTable,
    SetPartitionLocation,
    SetTableProperties,
    TruncateTable,
)
from sharkpy.errors import TableExistsError
from sharkpy.sql.bind_create import check_column, view_of
from sharkpy.sql.bind_partition import full_spec, partition_filter, partitioned_table, values_spec
from sharkpy.sql.command_binder import CommandBinder
from sharkpy.types import Field, Schema

_IGNORE_MISSING = "hive.exec.drop.ignorenonexistent"


def bind_drop(binder: CommandBinder) -> Command:
    reader = binder.reader
    reader.expect("DROP")
    if reader.match_any("DATABASE", "SCHEMA"):
        if_exists = reader.if_exists()
        name = reader.name("a database name")
        return DropDatabase(name, if_exists, reader.match_any("CASCADE", "RESTRICT") == "CASCADE")
    if reader.word() not in ("TABLE", "VIEW"):
        if reader.word() in ("FUNCTION", "TEMPORARY", "INDEX", "ROLE", "MATERIALIZED", "MACRO"):
            raise reader.unsupported(f"DROP {reader.word()}")
        raise reader.error("TABLE, VIEW or DATABASE expected")
    is_view = reader.expect_any("TABLE", "VIEW") == "VIEW"
    if_exists = reader.if_exists() or binder.context.conf.get(_IGNORE_MISSING, "true").lower() == "true"
    token = reader.current
    table = binder.optional_table() if if_exists else binder.table()
    if table is not None and table.is_view != is_view and table.kind is not TableKind.TEMPORARY_VIEW:
        kind, word = ("view", "VIEW") if table.is_view else ("table", "TABLE")
        message = f"{table.qualified_name} is a {kind}"
        raise binder.error(message, token, hint=f"use DROP {word}", sqlstate="42809")
    return DropTable(table, reader.match("PURGE"))


def bind_truncate(binder: CommandBinder) -> TruncateTable:
    reader = binder.reader
    reader.expect("TRUNCATE")
    reader.match("TABLE")
    token = reader.current
    table = binder.base_table("TRUNCATE")
    if table.kind is TableKind.EXTERNAL:
        message = f"{table.qualified_name} is external: its files are not the engine's to delete"
        raise binder.error(message, token, sqlstate="42809")
    return TruncateTable(table, values_spec(binder, table) if reader.peek("PARTITION") else None)


def bind_alter(binder: CommandBinder) -> Command:
    reader = binder.reader
    reader.expect("ALTER")
    if reader.word() in ("DATABASE", "SCHEMA", "INDEX", "MATERIALIZED"):
        raise reader.unsupported(f"ALTER {reader.word()}")
    is_view = reader.expect_any("TABLE", "VIEW") == "VIEW"
    token = reader.current
    table = binder.table()
    if table.is_view != is_view:
        kind = "view" if table.is_view else "table"
        raise binder.error(
            f"{table.qualified_name} is a {kind}", token, hint=f"use ALTER {kind.upper()}", sqlstate="42809"
        )
    if reader.match("RENAME", "TO"):
        token = reader.current
        database, name = binder.new_name()
        if binder.context.catalog.find_table(database, name) is not None:
            raise binder.error(f"the table {database}.{name} exists already", token, TableExistsError)
        return RenameTable(table, database, name)
    if reader.match("SET", "TBLPROPERTIES"):
        return SetTableProperties(table, reader.properties())
    if reader.match("UNSET", "TBLPROPERTIES"):
        return SetTableProperties(table, (), _unset(binder, dict(table.properties)))
    if is_view and reader.match("AS"):
        temporary = table.kind is TableKind.TEMPORARY_VIEW
        view = CreateView(
            table.database, table.name, Schema(()), "", False, True, temporary, table.comment, table.properties
        )
        return view_of(binder, view, None)
    if not is_view and (command := _bind_partitions(binder, table)):
        return command
    if not is_view and reader.match("ADD", "COLUMNS"):
        return AddColumns(table, _added_columns(binder, table.schema))
    if reader.current is None:
        raise reader.error("RENAME TO, SET TBLPROPERTIES, UNSET TBLPROPERTIES or ADD COLUMNS expected")
    words = [token.text.upper() for token in reader.rest[:2]]
    raise reader.unsupported(f"ALTER {'VIEW' if is_view else 'TABLE'} {' '.join(words)}")


def _bind_partitions(binder: CommandBinder, table: Table) -> Command | None:
    """ALTER TABLE t ADD | DROP [IF …] PARTITION, and ALTER TABLE t PARTITION (…) RENAME TO | SET LOCATION."""
    reader = binder.reader
    start, token = reader.position, reader.current
    verb = reader.match_any("ADD", "DROP")
    has_condition = (reader.if_not_exists() if verb == "ADD" else reader.if_exists()) if verb else False
    if not reader.peek("PARTITION"):
        reader.position = start
        return None
    partitioned_table(binder, table, token)
    match verb:
        case "ADD":
            return AddPartitions(table, tuple(_added_partitions(binder, table)), has_condition)
        case "DROP":
            filters = [partition_filter(binder, table)]
            while reader.match(","):
                filters.append(partition_filter(binder, table))
            reader.match("PURGE")
            return DropPartitions(table, tuple(filters), has_condition)
    spec = full_spec(binder, table)
    if reader.match("RENAME", "TO"):
        return RenamePartition(table, spec, full_spec(binder, table))
    if reader.match("SET", "LOCATION"):
        return SetPartitionLocation(table, spec, reader.string("a path"))
    if reader.current is None:
        raise reader.error("RENAME TO or SET LOCATION expected")
    raise reader.unsupported(f"ALTER TABLE PARTITION {reader.word()}")


def _added_partitions(binder: CommandBinder, table: Table) -> Iterator[tuple[PartitionSpec, str | None]]:
    while binder.reader.peek("PARTITION"):
        yield full_spec(binder, table), binder.reader.optional_string("LOCATION")


def bind_repair(binder: CommandBinder) -> RepairTable:
    """MSCK [REPAIR] TABLE t [ADD | DROP | SYNC PARTITIONS]."""
    reader = binder.reader
    reader.expect("MSCK")
    if not reader.match("REPAIR"):
        raise reader.unsupported("MSCK without REPAIR")
    reader.match("TABLE")
    token = reader.current
    table = partitioned_table(binder, binder.base_table("MSCK REPAIR"), token)
    mode = reader.match_any("ADD", "DROP", "SYNC")
    if mode is not None:
        reader.expect("PARTITIONS")
    return RepairTable(table, adds=mode != "DROP", drops=mode in ("DROP", "SYNC"))


def _unset(binder: CommandBinder, known: dict[str, str]) -> tuple[str, ...]:
    reader = binder.reader
    if_exists = reader.if_exists()
    reader.expect("(")
    keys: list[str] = []
    while True:
        token = reader.current
        keys.append(reader.key())
        if keys[-1] not in known and not if_exists:
            raise binder.error(f'the table has no property "{keys[-1]}"', token)
        if reader.match(")"):
            return tuple(keys)
        reader.expect(",")


def _added_columns(binder: CommandBinder, schema: Schema) -> tuple[Field, ...]:
    reader = binder.reader
    has_parentheses = reader.match("(")
    fields: list[Field] = []
    while True:
        token = reader.current
        name = reader.name("a column name")
        field = Field(name, reader.data_type(), reader.optional_string("COMMENT"))
        check_column(binder, [*schema, *fields], field, token)
        fields.append(field)
        if reader.match(")") if has_parentheses else reader.current is None:
            return tuple(fields)
        reader.expect(",")
