"""SHOW and DESCRIBE."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from sharkpy.commands import (
    Command,
    DescribeDatabase,
    DescribeFunction,
    DescribeTable,
    ShowColumns,
    ShowCreateTable,
    ShowDatabases,
    ShowFunctions,
    ShowPartitions,
    ShowTableExtended,
    ShowTableProperties,
    ShowTables,
)
from sharkpy.errors import ColumnNotFoundError, FunctionNotFoundError, did_you_mean
from sharkpy.sql.bind_partition import full_spec, partitioned_table, values_spec
from sharkpy.sql.command_binder import CommandBinder
from sharkpy.udf import registry

_SHOWN = ("DATABASES", "SCHEMAS", "TABLES", "VIEWS", "COLUMNS", "FUNCTIONS", "CREATE", "TBLPROPERTIES", "PARTITIONS")
_UNSUPPORTED_SHOWN = (
    "COMPACTIONS",
    "CONF",
    "FORMATTED",
    "GRANT",
    "INDEX",
    "INDEXES",
    "LOCKS",
    "MATERIALIZED",
    "ROLES",
    "TRANSACTIONS",
)


def bind_show(binder: CommandBinder) -> Command:
    reader = binder.reader
    reader.expect("SHOW")
    if reader.match("TABLE"):
        return _show_table_extended(binder)
    if reader.word() in _UNSUPPORTED_SHOWN:
        raise reader.unsupported(f"SHOW {reader.word()}")
    match reader.expect_any(*_SHOWN):
        case "DATABASES" | "SCHEMAS":
            return ShowDatabases(_pattern(binder))
        case "TABLES":
            return ShowTables(_database(binder), _pattern(binder))
        case "VIEWS":
            return ShowTables(_database(binder), _pattern(binder), views_only=True)
        case "COLUMNS":
            return _show_columns(binder)
        case "FUNCTIONS":
            return ShowFunctions(_pattern(binder))
        case "CREATE":
            reader.expect_any("TABLE", "VIEW")
            return ShowCreateTable(binder.table())
        case "PARTITIONS":
            return _show_partitions(binder)
    table = binder.table()
    key = None
    if reader.match("("):
        key = reader.key()
        reader.expect(")")
    return ShowTableProperties(table, key)


def _show_table_extended(binder: CommandBinder) -> ShowTableExtended:
    """SHOW TABLE EXTENDED [(IN | FROM) database] LIKE 'pattern'."""
    reader = binder.reader
    reader.expect("EXTENDED")
    database = _database(binder)
    reader.expect("LIKE")
    token = reader.current
    is_text = token is not None and token.token_type == TokenType.STRING
    pattern = reader.string("a pattern") if is_text else reader.name("a table name")
    if reader.peek("PARTITION"):
        raise reader.unsupported("SHOW TABLE EXTENDED of a partition")
    return ShowTableExtended(database, pattern)


def _database(binder: CommandBinder) -> str:
    reader = binder.reader
    if not reader.match_any("IN", "FROM"):
        return binder.context.database
    token = reader.current
    name = reader.name("a database name")
    assert token is not None  # name() took it
    with binder.place_of(token):
        return binder.context.catalog.database(name).name


def _pattern(binder: CommandBinder) -> str | None:
    reader = binder.reader
    if reader.match("LIKE") or (reader.current is not None and reader.current.token_type == TokenType.STRING):
        return reader.string("a pattern")
    return reader.name() if reader.current is not None else None


def _show_columns(binder: CommandBinder) -> ShowColumns:
    """SHOW COLUMNS (IN | FROM) table [(IN | FROM) database]."""
    reader = binder.reader
    reader.expect_any("IN", "FROM")
    database, name, token = binder.name()
    if reader.peek("IN") or reader.peek("FROM"):
        database = _database(binder)
    with binder.place_of(token):
        return ShowColumns(binder.context.catalog.table(database, name))


def _show_partitions(binder: CommandBinder) -> ShowPartitions:
    reader = binder.reader
    token = reader.current
    table = partitioned_table(binder, binder.base_table("SHOW PARTITIONS"), token)
    return ShowPartitions(table, values_spec(binder, table) if reader.peek("PARTITION") else None)


def bind_describe(binder: CommandBinder) -> Command:
    reader = binder.reader
    reader.expect_any("DESCRIBE", "DESC")
    if reader.match_any("DATABASE", "SCHEMA"):
        extended = reader.match("EXTENDED")
        token = reader.current
        name = reader.name("a database name")
        assert token is not None  # name() took it
        with binder.place_of(token):
            return DescribeDatabase(binder.context.catalog.database(name).name, extended)
    if reader.match("FUNCTION"):
        return _describe_function(binder)
    if reader.word() in ("SELECT", "WITH", "QUERY"):
        raise reader.unsupported("DESCRIBE of a query")
    style = (reader.match_any("FORMATTED", "EXTENDED") or "").lower()
    reader.match("TABLE")
    table = binder.table()
    column, partition = None, None
    if reader.peek("PARTITION") and table.is_partitioned:
        partition = full_spec(binder, table)
    elif reader.current is not None:
        token = reader.current
        column = reader.name("a column name")
        if column not in table.schema.names:
            hint = did_you_mean(column, table.schema.names)
            raise binder.error(f'no column "{column}" in {table.qualified_name}', token, ColumnNotFoundError, hint)
    return DescribeTable(table, style, column, partition)


def _describe_function(binder: CommandBinder) -> DescribeFunction:
    reader = binder.reader
    extended = reader.match("EXTENDED")
    token = reader.take()
    name = token.text.lower()
    if registry.described(name) is None:
        hint = did_you_mean(name, registry.names())
        raise binder.error(f'no function "{name}"', token, FunctionNotFoundError, hint)
    return DescribeFunction(name, extended)
