"""SHOW commands, with Hive's column names."""

from __future__ import annotations

from sharkpy.catalog.pattern import matching
from sharkpy.commands import ShowColumns, ShowDatabases, ShowFunctions, ShowTableProperties, ShowTables
from sharkpy.execution.commands.result import CommandResult, text_rows
from sharkpy.execution.commands.session import CommandSession


def show_databases(command: ShowDatabases, session: CommandSession) -> CommandResult:
    return text_rows(("database_name",), [(name,) for name in session.catalog.database_names(command.pattern)])


def show_tables(command: ShowTables, session: CommandSession) -> CommandResult:
    names = session.catalog.table_names(command.database, command.pattern, views_only=command.views_only)
    return text_rows(("tab_name",), [(name,) for name in names])


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
