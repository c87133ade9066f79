"""SUMMARIZE table | query: one row of statistics for each column, as in DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from sharkpy.base.errors import InternalError
from sharkpy.plan.expr import AggregateCall, Alias, Call, ColumnRef, Expr, Literal, string_literal
from sharkpy.plan.logical import Aggregate, Expand, LogicalPlan
from sharkpy.sql.expressions.bind_function import aggregate_type
from sharkpy.sql.expressions.coercion import cast, cast_all
from sharkpy.sql.statements.command_binder import QUERY_WORDS, CommandBinder
from sharkpy.udf import registry
from sharkpy.values.types import BIGINT, DOUBLE, STRING, DataType, DecimalType, is_nested, is_numeric

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
