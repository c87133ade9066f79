"""Plans by hand: small tables t1, t2, t3 with columns a, b INT and s STRING, and short names for expressions."""

from __future__ import annotations

from sharkpy.base.settings import Conf
from sharkpy.catalog.model import Table, TableKind
from sharkpy.optimizer.context import ColumnEstimate, Context, NoStatistics, StatisticsProvider
from sharkpy.plan.expr import AggregateCall, Alias, Call, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Aggregate, Filter, Join, JoinKind, LogicalPlan, Project, Scan
from sharkpy.values.types import BIGINT, BOOLEAN, INT, STRING, DataType, Field, Schema

SCHEMA = Schema((Field("a", INT), Field("b", INT), Field("s", STRING)))
TABLES = {
    name: Table(name, "default", name, TableKind.MANAGED, SCHEMA) for name in ("t1", "t2", "t3", "t4", "big", "small")
}


class Statistics:
    """Rows by table name, and columns by (table, column) name."""

    def __init__(self, rows: dict[str, int], columns: dict[tuple[str, str], ColumnEstimate] | None = None) -> None:
        self.rows = rows
        self.columns = columns or {}

    def num_rows(self, table: Table) -> int | None:
        return self.rows.get(table.name)

    def column(self, table: Table, name: str) -> ColumnEstimate | None:
        return self.columns.get((table.name, name))


def context(plan: LogicalPlan, statistics: StatisticsProvider | None = None) -> Context:
    return Context(plan, statistics or NoStatistics(), Conf())


def scan(name: str, first_id: int, predicate: Expr | None = None) -> Scan:
    """A scan whose columns a, b, s have the ids first_id, first_id + 1, first_id + 2."""
    columns = tuple(ColumnRef(first_id + i, field.name, field.dtype) for i, field in enumerate(SCHEMA))
    return Scan(TABLES[name], columns, SCHEMA.names, predicate)


def lit(value: object, dtype: DataType | None = None) -> Literal:
    inferred = {bool: BOOLEAN, int: INT, str: STRING}.get(type(value), INT)
    return Literal(value, dtype or inferred)  # type: ignore[arg-type]


def expr(value: object) -> Expr:
    return value if isinstance(value, Expr) else lit(value)


def call(function: str, *args: object) -> Call:
    """A call of type BOOLEAN, or of the first argument's type for arithmetic."""
    exprs = tuple(map(expr, args))
    arithmetic = function in ("add", "subtract", "multiply", "negate")
    return Call(function, exprs, exprs[0].dtype if arithmetic else BOOLEAN)


def eq(left: object, right: object) -> Call:
    return call("eq", left, right)


def lt(left: object, right: object) -> Call:
    return call("lt", left, right)


def gt(left: object, right: object) -> Call:
    return call("gt", left, right)


def both(*terms: Expr) -> Expr:
    result = terms[0]
    for term in terms[1:]:
        result = call("and", result, term)
    return result


def either(*terms: Expr) -> Expr:
    result = terms[0]
    for term in terms[1:]:
        result = call("or", result, term)
    return result


def negated(term: Expr) -> Call:
    return call("not", term)


def where(child: LogicalPlan, *terms: Expr) -> Filter:
    return Filter(child, both(*terms))


def join(left: LogicalPlan, right: LogicalPlan, condition: Expr | None, kind: JoinKind = JoinKind.INNER) -> Join:
    return Join(left, right, kind, condition)


def cross(left: LogicalPlan, right: LogicalPlan) -> Join:
    return Join(left, right, JoinKind.CROSS)


def count(column_id: int, *args: Expr, distinct: bool = False) -> Alias:
    return Alias(AggregateCall("count", args, BIGINT, distinct), column_id, "n")


def aggregate(function: str, arg: Expr, column_id: int, dtype: DataType | None = None) -> Alias:
    return Alias(AggregateCall(function, (arg,), dtype or arg.dtype), column_id, function)


def group(child: LogicalPlan, groups: tuple[Alias | ColumnRef, ...], *aggregates: Alias) -> Aggregate:
    return Aggregate(child, groups, aggregates)


def select(child: LogicalPlan, *items: Alias | ColumnRef) -> Project:
    return Project(child, items)


def nodes(plan: LogicalPlan, kind: type) -> list[LogicalPlan]:
    return [node for node in plan.walk() if isinstance(node, kind)]
