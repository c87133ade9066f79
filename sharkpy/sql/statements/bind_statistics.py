"""ANALYZE TABLE, which stores statistics of a table, and SUMMARIZE, which returns statistics of columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from sharkpy.base.errors import ColumnNotFoundError, InternalError, did_you_mean
from sharkpy.catalog.model import Table
from sharkpy.plan.commands import AnalyzeTable, Command, UpdateStatistics
from sharkpy.plan.expr import AggregateCall, Alias, Call, ColumnRef, Expr, Literal, string_literal
from sharkpy.plan.logical import Aggregate, Expand, LogicalPlan
from sharkpy.sql.expressions.bind_function import aggregate_type
from sharkpy.sql.expressions.coercion import cast, cast_all
from sharkpy.sql.statements.bind_partition import AlterTarget, partial_spec
from sharkpy.sql.statements.command_binder import QUERY_WORDS, CommandBinder
from sharkpy.udf import registry
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DOUBLE,
    STRING,
    DataType,
    DecimalType,
    is_nested,
    is_numeric,
    is_string,
)


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


def update_statistics(binder: CommandBinder, target: AlterTarget) -> Command:
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


_PERCENT = DecimalType(9, 2)
_COLUMNS: tuple[tuple[str, DataType], ...] = (
    ("column_name", STRING),
    ("column_type", STRING),
    ("min", STRING),
    ("max", STRING),
    ("approx_unique", BIGINT),
    ("avg", DOUBLE),
    ("std", DOUBLE),
    ("q25", DOUBLE),
    ("q50", DOUBLE),
    ("q75", DOUBLE),
    ("count", BIGINT),
    ("null_percentage", _PERCENT),
)
_QUARTILES = (Decimal("0.25"), Decimal("0.50"), Decimal("0.75"))


def bind_summarize(binder: CommandBinder) -> LogicalPlan:
    """Bind SUMMARIZE as a query: one aggregation over all columns, turned into one row for each column."""
    reader, context = binder.reader, binder.context
    reader.expect("SUMMARIZE")
    plan = binder.query() if reader.word() in QUERY_WORDS else binder.file_query() or _table(binder)
    aggregates: list[Alias] = []

    def computed(function: str, *args: Expr) -> Expr:
        """Add an aggregate. Return its column."""
        aggregates.append(Alias(_aggregate(function, args), next(context.ids), f"{function}{len(aggregates)}"))
        return aggregates[-1].ref

    rows = computed("count")
    figures = tuple(_figures(column, rows, computed) for column in plan.output)
    columns = tuple(context.column(name, dtype) for name, dtype in _COLUMNS)
    return Expand(Aggregate(plan, (), tuple(aggregates)), columns, figures)


def _table(binder: CommandBinder) -> LogicalPlan:
    table = binder.table()
    return binder.query_of(f"SELECT * FROM `{table.database}`.`{table.name}`")


def _figures(column: ColumnRef, rows: Expr, computed: Callable[..., Expr]) -> tuple[Expr, ...]:
    """The row of a column: its statistics, cast to the types of the result."""
    values = computed("count", column)
    extremes = [Literal(None, STRING) if is_nested(column.dtype) else computed(name, column) for name in ("min", "max")]
    moments: list[Expr] = [Literal(None, DOUBLE)] * 5
    if is_numeric(column.dtype):
        quartiles = (computed("percentile_approx", column, Literal(part, DecimalType(2, 2))) for part in _QUARTILES)
        moments = [computed("avg", column), computed("stddev_samp", column), *quartiles]
    name, dtype = string_literal(column.name), string_literal(str(column.dtype))
    figures = (name, dtype, *extremes, computed("approx_count_distinct", column), *moments, rows)
    types = [dtype for _, dtype in _COLUMNS]
    return cast_all((*figures, _null_percentage(rows, values)), types)


def _null_percentage(rows: Expr, values: Expr) -> Expr:
    """Percentage of NULL; NULL if there are no rows."""
    nulls = _scalar("multiply", cast(_scalar("subtract", rows, values), DOUBLE), Literal(100.0, DOUBLE))
    return cast(_scalar("divide", nulls, cast(rows, DOUBLE)), _PERCENT)


def _aggregate(function: str, args: Sequence[Expr]) -> AggregateCall:
    row = registry.aggregate(function)
    if row is None or (types := row.arguments([arg.dtype for arg in args])) is None:
        raise InternalError(f"{function} of {args[0].dtype}")
    cast_args = cast_all(args, types)
    return AggregateCall(row.name, cast_args, aggregate_type(row, cast_args))


def _scalar(function: str, *args: Expr) -> Expr:
    row = registry.scalar(function)
    if row is None or (types := row.arguments([arg.dtype for arg in args])) is None:
        raise InternalError(f"{function} of {args[0].dtype}")
    return Call(row.name, cast_all(args, types), row.result(types))
