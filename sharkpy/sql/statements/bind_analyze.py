"""ANALYZE TABLE: the query that computes a table's statistics."""

from __future__ import annotations

from collections.abc import Callable

from sharkpy.base.errors import ColumnNotFoundError, did_you_mean
from sharkpy.catalog.model import Table
from sharkpy.plan.commands import AnalyzeTable, Command, UpdateStatistics
from sharkpy.sql.statements.alter_target import Target
from sharkpy.sql.statements.bind_partition import partial_spec
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.values.types import BINARY, BOOLEAN, DataType, is_nested, is_string


def _is_ordered(dtype: DataType) -> bool:
    return not (is_nested(dtype) or is_string(dtype) or dtype in (BINARY, BOOLEAN))


_COUNTABLE = "approx_count_distinct({0})"
FIGURES: tuple[tuple[str, Callable[[DataType], bool]], ...] = (
    ("count({0})", lambda _: True),
    (_COUNTABLE, lambda dtype: not is_nested(dtype) and dtype != BINARY),
    ("CAST(min({0}) AS STRING)", _is_ordered),
    ("CAST(max({0}) AS STRING)", _is_ordered),
    ("avg(length(CAST({0} AS BINARY)))", lambda dtype: is_string(dtype) or dtype == BINARY),
    ("max(length(CAST({0} AS BINARY)))", lambda dtype: is_string(dtype) or dtype == BINARY),
    ("count(CASE WHEN {0} THEN 1 END)", lambda dtype: dtype == BOOLEAN),
    ("count(CASE WHEN NOT {0} THEN 1 END)", lambda dtype: dtype == BOOLEAN),
)
"""Expression of each column statistic, and the types that have it. It is NULL for other types."""


def bind_analyze(binder: CommandBinder) -> AnalyzeTable:
    """TABLE t [PARTITION (…)] COMPUTE STATISTICS [NOSCAN | FOR [ALL] COLUMNS [a, …]]."""
    reader = binder.reader
    reader.expect("ANALYZE", "TABLE")
    table = binder.base_table("ANALYZE TABLE")
    partition = partial_spec(binder, table) if reader.peek("PARTITION") else ()
    if reader.match("CACHE", "METADATA"):
        raise reader.unsupported("ANALYZE TABLE … CACHE METADATA")
    reader.expect("COMPUTE", "STATISTICS")
    if reader.match("NOSCAN") or reader.match("PARTIALSCAN"):
        return AnalyzeTable(table, partition)
    columns: tuple[str, ...] = ()
    if reader.match("FOR", "ALL", "COLUMNS"):
        columns = _analyzed(table)
    elif reader.match("FOR", "COLUMNS"):
        columns = _columns(binder, table) if reader.current is not None else _analyzed(table)
    return AnalyzeTable(table, partition, columns, binder.query_of(_query(table, partition, columns)))


def update_statistics(binder: CommandBinder, target: Target) -> Command:
    """ALTER TABLE … UPDATE STATISTICS [FOR COLUMN c] SET ('numRows' = '5', …) [COMMENT 'text']."""
    reader, table = binder.reader, target.table
    column = None
    if reader.match("FOR"):
        reader.match("COLUMN")
        token = reader.current
        column = reader.name("a column name")
        if column not in table.data_schema.names:
            hint = did_you_mean(column, table.data_schema.names)
            raise binder.error(f'no column "{column}" in {table.qualified_name}', token, ColumnNotFoundError, hint)
    reader.expect("SET")
    figures = reader.properties()
    reader.optional_string("COMMENT")
    return UpdateStatistics(table, target.partition or (), column, figures)


def _analyzed(table: Table) -> tuple[str, ...]:
    return tuple(field.name for field in table.data_schema if not is_nested(field.dtype))


def _columns(binder: CommandBinder, table: Table) -> tuple[str, ...]:
    reader = binder.reader
    has_parentheses = reader.match("(")
    names: list[str] = []
    while True:
        token = reader.current
        name = reader.name("a column name")
        if name not in table.data_schema.names:
            hint = did_you_mean(name, table.data_schema.names)
            message = f'no column "{name}" to be analyzed in {table.qualified_name}'
            raise binder.error(message, token, ColumnNotFoundError, hint)
        if is_nested(table.schema[name].dtype):
            raise reader.unsupported(f'statistics of column "{name}" of type {table.schema[name].dtype}')
        names.append(name)
        if reader.match(",") or (has_parentheses and not reader.peek(")")):
            continue
        if has_parentheses:
            reader.expect(")")
        return tuple(dict.fromkeys(names))


def _query(table: Table, partition: tuple[tuple[str, str | None], ...], columns: tuple[str, ...]) -> str:
    keys = [f"`{name}`" for name in table.partition_columns]
    items = [*keys, "count(*)"]
    for name in columns:
        dtype = table.schema[name].dtype
        items += [text.format(f"`{name}`") if has(dtype) else "NULL" for text, has in FIGURES]
    given = [f"`{name}` = '{_escaped(value)}'" for name, value in partition if value is not None]
    where = f" WHERE {' AND '.join(given)}" if given else ""
    groups = f" GROUP BY {', '.join(keys)}" if keys else ""
    named = ", ".join(f"{item} AS c{index}" for index, item in enumerate(items))
    return f"SELECT {named} FROM `{table.database}`.`{table.name}`{where}{groups}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
