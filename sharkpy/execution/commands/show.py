"""SHOW commands, with Hive's column names."""

from __future__ import annotations

from sharkpy.catalog.pattern import matching
from sharkpy.catalog.store import TEMPORARY_KINDS
from sharkpy.commands import (
    ShowColumns,
    ShowDatabases,
    ShowFunctions,
    ShowTableExtended,
    ShowTableProperties,
    ShowTables,
)
from sharkpy.execution.commands.result import CommandResult, table_of, text_rows
from sharkpy.execution.commands.session import CommandSession
from sharkpy.execution.commands.table_facts import memory_statistics, schema_tree, table_facts
from sharkpy.types import BOOLEAN, STRING, Field, Schema

_EXTENDED = Schema(
    (Field("database", STRING), Field("tableName", STRING), Field("isTemporary", BOOLEAN), Field("information", STRING))
)


def show_databases(command: ShowDatabases, session: CommandSession) -> CommandResult:
    return text_rows(("database_name",), [(name,) for name in session.catalog.database_names(command.pattern)])


def show_tables(command: ShowTables, session: CommandSession) -> CommandResult:
    names = session.catalog.table_names(command.database, command.pattern, views_only=command.views_only)
    return text_rows(("tab_name",), [(name,) for name in names])


def show_table_extended(command: ShowTableExtended, session: CommandSession) -> CommandResult:
    """As Spark, for dbt reads these lines; Hive's text in one column has no reader. One read of the catalog."""
    tables = {table.name: table for table in session.catalog.tables(command.database)}
    rows = []
    for table in (tables[name] for name in matching(tables, command.pattern)):
        facts = table_facts(table, memory_statistics(table, session.table_cache))
        lines = [*(f"{name}: {' '.join(value.splitlines())}" for name, value in facts), *schema_tree(table)]
        rows.append((table.database, table.name, table.kind in TEMPORARY_KINDS, "\n".join(lines) + "\n"))
    return CommandResult(_EXTENDED, table_of(_EXTENDED, rows))


def show_columns(command: ShowColumns, _: CommandSession) -> CommandResult:
    return text_rows(("field",), [(name,) for name in command.table.schema.names])


def show_functions(command: ShowFunctions, _: CommandSession) -> CommandResult:
    from sharkpy.udf import registry

    return text_rows(("tab_name",), [(name,) for name in matching(set(registry.names()), command.pattern)])


def show_table_properties(command: ShowTableProperties, _: CommandSession) -> CommandResult:
    properties = dict(command.table.properties)
    if command.key is None:
        return text_rows(("prpt_name", "prpt_value"), sorted(properties.items()))
    name = command.table.qualified_name
    value = properties.get(command.key, f"Table {name} does not have property: {command.key}")
    return text_rows(("prpt_name", "prpt_value"), [(command.key, value)])
