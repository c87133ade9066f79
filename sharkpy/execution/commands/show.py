"""SHOW commands, with Hive's column names."""

from __future__ import annotations

from sharkpy.base import uri
from sharkpy.base.secrets import redacted
from sharkpy.base.settings import SETTINGS
from sharkpy.base.wildcards import names_matching
from sharkpy.catalog.readable_catalog import TEMPORARY_KINDS
from sharkpy.execution.commands.command_result import CommandResult, table_of, text_rows
from sharkpy.execution.commands.current_statistics import current_statistics
from sharkpy.execution.commands.partition_spec import the_partition
from sharkpy.execution.commands.table_facts import memory_statistics, schema_tree, table_facts
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import (
    ShowColumns,
    ShowConf,
    ShowDatabases,
    ShowEmpty,
    ShowSettings,
    ShowTableExtended,
    ShowTableProperties,
    ShowTables,
)
from sharkpy.values.types import BOOLEAN, STRING, Field, Schema

_EXTENDED = Schema(
    (Field("database", STRING), Field("tableName", STRING), Field("isTemporary", BOOLEAN), Field("information", STRING))
)


def show_databases(command: ShowDatabases, session: EngineSession) -> CommandResult:
    return text_rows(("database_name",), [(name,) for name in session.catalog.database_names(command.pattern)])


def show_tables(command: ShowTables, session: EngineSession) -> CommandResult:
    names = session.catalog.table_names(command.database, command.pattern, views_only=command.views_only)
    return text_rows(("tab_name",), [(name,) for name in names])


def show_table_extended(command: ShowTableExtended, session: EngineSession) -> CommandResult:
    """Return SHOW TABLE EXTENDED in Spark's form, which dbt reads, from one read of the catalog."""
    if command.partition is not None:
        return _one_partition(command, session)
    tables = {table.name: table for table in session.catalog.tables(command.database)}
    rows = []
    for table in (tables[name] for name in names_matching(tables, command.pattern)):
        facts = table_facts(table, memory_statistics(table, session.table_cache))
        lines = [*(f"{name}: {' '.join(value.splitlines())}" for name, value in facts), *schema_tree(table)]
        rows.append((table.database, table.name, table.kind in TEMPORARY_KINDS, "\n".join(lines) + "\n"))
    return CommandResult(_EXTENDED, table_of(_EXTENDED, rows))


def _one_partition(command: ShowTableExtended, session: EngineSession) -> CommandResult:
    """Return one row with the facts of a Hive partition."""
    table = session.catalog.table(command.database, command.pattern)
    one = the_partition(table, session.catalog.partitions(table), command.partition or ())
    values = ", ".join(one.name.split("/"))
    facts = [("Partition Values", f"[{values}]"), ("Location", uri.redacted(one.folder(table)))]
    if found := current_statistics(table, one, session):
        rows = "" if found.num_rows is None else f", {found.num_rows} rows"
        facts.append(("Partition Statistics", f"{found.total_bytes} bytes{rows}"))
    lines = [f"{name}: {value}" for name, value in facts]
    row = (table.database, table.name, False, "\n".join(lines) + "\n")
    return CommandResult(_EXTENDED, table_of(_EXTENDED, [row]))


def show_columns(command: ShowColumns, _: EngineSession) -> CommandResult:
    """Return the columns of a table, in its order."""
    taken = set(names_matching(command.table.shown_schema.names, command.pattern))
    return text_rows(("field",), [(name,) for name in command.table.shown_schema.names if name in taken])


def show_empty(command: ShowEmpty, _: EngineSession) -> CommandResult:
    return text_rows(command.columns, [])


def show_conf(command: ShowConf, _: EngineSession) -> CommandResult:
    setting = next(one for one in SETTINGS if one.key == command.key)
    kind = {bool: "BOOLEAN", int: "LONG", float: "FLOAT"}.get(type(setting.default), "STRING")
    return text_rows(("default", "type", "desc"), [(str(setting.default), kind, setting.doc)])


def show_settings(command: ShowSettings, session: EngineSession) -> CommandResult:
    """Known settings by name: the session's value, without secrets, and the texts of the settings page."""
    names = {name: setting for setting in SETTINGS for name in (setting.key, *setting.synonyms)}
    found = {names[name].key: names[name] for name in names_matching(names, command.pattern)}
    rows = [
        (key, _value(key, session), one.type_name, one.default_text, one.allowed, one.doc)
        for key, one in sorted(found.items())
    ]
    return text_rows(("setting", "value", "type", "default", "allowed", "meaning"), rows)


def _value(key: str, session: EngineSession) -> str:
    return redacted(f"{key}={session.conf[key]}").removeprefix(f"{key}=")


def show_table_properties(command: ShowTableProperties, _: EngineSession) -> CommandResult:
    """Return the properties of a table, or one property's value in the first column, as in Hive."""
    properties = dict(command.table.properties)
    if command.key is None:
        return text_rows(("prpt_name", "prpt_value"), sorted(properties.items()))
    name = command.table.qualified_name
    value = properties.get(command.key, f"Table {name} does not have property: {command.key}")
    return text_rows(("prpt_name", "prpt_value"), [(value, "")])
