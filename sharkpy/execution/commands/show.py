"""SHOW of databases, tables, settings, functions, partitions and queries; DESCRIBE FUNCTION."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from sharkpy.base import uri
from sharkpy.base.cancellation import current_cancellation
from sharkpy.base.errors import BindError, UnsupportedError
from sharkpy.base.secrets import redacted
from sharkpy.base.settings import SETTINGS, Conf
from sharkpy.base.wildcards import names_matching
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Table
from sharkpy.catalog.readable_catalog import TEMPORARY_KINDS
from sharkpy.catalog.statement_records import StatementRecord
from sharkpy.execution.commands.command_result import CommandResult, table_of, text_rows, time_text
from sharkpy.execution.commands.partition_spec import matching_spec, the_partition
from sharkpy.execution.commands.table_facts import memory_statistics, schema_tree, table_facts
from sharkpy.execution.commands.table_statistics import current_statistics
from sharkpy.execution.commands.user_functions import described_users_function
from sharkpy.execution.engine_session import DEFAULT_STATEMENTS, EngineSession
from sharkpy.execution.queries.run_plan import query_rows
from sharkpy.execution.statement import Statement
from sharkpy.plan.commands import (
    DescribeFunction,
    ShowColumns,
    ShowConf,
    ShowDatabases,
    ShowEmpty,
    ShowFunctions,
    ShowPartitions,
    ShowQueries,
    ShowQuery,
    ShowSettings,
    ShowTableExtended,
    ShowTableProperties,
    ShowTables,
)
from sharkpy.plan.expr import Literal, PythonValue
from sharkpy.plan.logical import LogicalPlan, Values
from sharkpy.sources.lenient_conversion import typed_values
from sharkpy.udf import registry
from sharkpy.udf.function import Answer, Failure, Varying
from sharkpy.udf.java_regex.python_engine import matcher
from sharkpy.udf.special_forms import JavaForm
from sharkpy.values.types import BIGINT, BOOLEAN, DOUBLE, PRIMITIVES, STRING, TIMESTAMP, Field, Schema

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


def show_functions(command: ShowFunctions, session: EngineSession) -> CommandResult:
    functions = session.catalog.functions
    users = (*functions.temporary(), *(entry.qualified_name for entry in functions.entries()))
    names = registry.listed().union(users)
    found = _matching_regex(names, command.pattern) if command.is_regex else names_matching(names, command.pattern)
    return text_rows(("tab_name",), [(name,) for name in found])


def _matching_regex(names: frozenset[str], pattern: str | None) -> list[str]:
    """Return the names that fully match a regular expression, or none if the pattern is invalid."""
    if pattern is None:
        return sorted(names)
    try:
        found = matcher(pattern)
    except (BindError, UnsupportedError):
        return []
    return sorted(name for name in names if found.fullmatch(name))


def describe_function(command: DescribeFunction, session: EngineSession) -> CommandResult:
    """Describe a function's usage; EXTENDED adds its synonyms, an example and its type."""
    name = command.name.lower()
    functions = session.catalog.functions
    is_java_form = isinstance(registry.special_form(name), JavaForm) and functions.find_temporary(name) is None
    users = None if is_java_form else session.catalog.find_function(session.current_database, name)
    if users:
        return text_rows(("tab_name",), described_users_function(name, users, command.extended))
    return text_rows(("tab_name",), [(line,) for line in _described(name, command.extended)])


def _described(name: str, extended: bool) -> list[str]:
    row = registry.described(name) or registry.special_form(name)
    if row is not None:
        first = f"{row.usage_as(name)} - {row.doc}"
    elif reason := registry.refused(name):
        first = f"{name}(…) - not supported: {reason}"
    elif name in PRIMITIVES:
        return [f"There is no documentation for function '{name}'"]
    else:
        return [f"Function '{name}' does not exist."]
    if not extended:
        return [first]
    lines = [first]
    if others := registry.synonyms(name):
        lines.append(f"Synonyms: {', '.join(others)}")
    if row is not None:
        lines += ["Example:", f"  > {row.example_statement};", *_answer(row.answer)]
    if isinstance(row, JavaForm):
        lines.append(f"Function class:{row.class_name}")
    return [*lines, "Function type:BUILTIN"]


def _answer(answer: Answer) -> list[str]:
    """Lines of an example's answer."""
    match answer:
        case Failure(message):
            return [f"  Error: {message}"]
        case Varying(sample):
            answer = sample
    return [f"  {line}" for line in answer.split("\n")]


def show_partitions(command: ShowPartitions, session: EngineSession) -> CommandResult:
    partitions, spec = session.catalog.partitions(command.table), command.partition
    found = partitions if spec is None else matching_spec(command.table, partitions, spec)
    names = [one.name for one in found]
    if command.query is not None and command.names is not None:
        query = _over(command.query, command.names, command.table, found)
        names = [str(name) for batch in query_rows(session, query) for name in batch.column(0).to_pylist()]
    return text_rows(("partition",), [(name,) for name in names])


def _over(query: LogicalPlan, leaf: LogicalPlan, table: Table, partitions: Sequence[HivePartition]) -> LogicalPlan:
    """Replace `leaf` in the query by the values and names of the Hive partitions."""
    fields = table.partition_schema.fields
    values = typed_values([one.name for one in partitions], table.partition_schema)
    rows = tuple(
        (
            *(Literal(cast(PythonValue, value), field.dtype) for value, field in zip(row, fields, strict=True)),
            Literal(one.name, STRING),
        )
        for row, one in zip(values, partitions, strict=True)
    )
    known = Values(leaf.output, rows)

    def put(node: LogicalPlan) -> LogicalPlan:
        return known if node is leaf else node

    replaced: LogicalPlan = query.transform_down(put)
    return replaced


_COLUMNS = Schema(
    (
        *(Field(name, STRING) for name in ("query_id", "state", "user", "session", "kind")),
        Field("started", TIMESTAMP),
        *(Field(name, DOUBLE) for name in ("seconds", "queued_seconds", "running_seconds")),
        *(Field(name, BIGINT) for name in ("rows_read", "rows_written")),
        *(Field(name, STRING) for name in ("progress", "sqlstate", "error", "query")),
    )
)


def show_queries(command: ShowQueries, session: EngineSession) -> CommandResult:
    """List the statements without this one; times are in the session's time zone."""
    limit = DEFAULT_STATEMENTS if command.limit is None else command.limit
    statement = current_cancellation()
    own = statement.query_id if isinstance(statement, Statement) else ""
    found = [one for one in session.history(limit + 1, like=command.pattern) if one.query_id != own]
    return CommandResult(_COLUMNS, table_of(_COLUMNS, [_row(one, session.conf) for one in found[:limit]]))


def show_query(command: ShowQuery, session: EngineSession) -> CommandResult:
    found = session.history(query_id=command.query_id)
    if not found:
        hint = "SHOW QUERIES lists the recorded statements"
        raise BindError(f'no statement "{command.query_id}" is known', hint=hint, sqlstate="42704")
    return text_rows(("property", "value"), _properties(found[0], session.conf))


def _row(record: StatementRecord, conf: Conf) -> tuple[str | int | None, ...]:
    return (
        *(record.query_id, record.state.value, record.user, record.session, record.kind),
        time_text(record.started, conf),
        *(f"{seconds:.6f}" for seconds in (record.seconds, record.queued_seconds, record.running_seconds)),
        *(record.rows_read, record.rows_written),
        *(record.progress, record.sqlstate, record.error, record.text),
    )


def _properties(record: StatementRecord, conf: Conf) -> Iterator[tuple[str, str]]:
    """Columns of the listing, then the plan with one row per line, which clients display well."""
    for field, value in zip(_COLUMNS, _row(record, conf), strict=True):
        yield field.name, "" if value is None else str(value)
    for number, line in enumerate(record.plan.splitlines()):
        yield "" if number else "plan", line
