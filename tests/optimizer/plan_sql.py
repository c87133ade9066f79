"""Logical plans as DuckDB SQL, for tests: what a plan means, written without the engine's own lowering.

A column with id 12 is named c12. Joins that SQL does not have are written as the subqueries they come from.
"""

from __future__ import annotations

import duckdb

from sharkpy.execution.tasks.task import run_query
from sharkpy.plan.expr import AggregateCall, Alias, Call, Cast, ColumnRef, Expr, Literal, SortKey, WindowCall, conjuncts
from sharkpy.plan.logical import (
    Aggregate,
    Expand,
    Filter,
    Join,
    JoinKind,
    Limit,
    LogicalPlan,
    Project,
    Scan,
    Sort,
    Union,
    Values,
    Window,
)
from sharkpy.plan.subqueries import Exists, InSubquery, ScalarSubquery

_OPERATORS = {
    "eq": "=",
    "ne": "<>",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and": "AND",
    "or": "OR",
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "like": "LIKE",
    "eq_null_safe": "IS NOT DISTINCT FROM",
}
_JOINS = {
    JoinKind.INNER: "JOIN",
    JoinKind.LEFT: "LEFT JOIN",
    JoinKind.RIGHT: "RIGHT JOIN",
    JoinKind.FULL: "FULL JOIN",
    JoinKind.SINGLE: "LEFT JOIN",
}


def name(column: ColumnRef | Alias) -> str:
    return f"c{column.column_id}"


def expr_sql(expr: Expr) -> str:
    match expr:
        case ColumnRef():
            return name(expr)
        case Alias(inner, _, _):
            return f"{expr_sql(inner)} AS {name(expr)}"
        case Literal(value, dtype):
            text = "NULL" if value is None else repr(value) if isinstance(value, str) else str(value)
            return f"CAST({text} AS {dtype})"
        case Cast(inner, dtype):
            return f"TRY_CAST({expr_sql(inner)} AS {dtype})"
        case Call():
            return _call_sql(expr)
        case AggregateCall(function, args, _, distinct):
            inside = ", ".join(map(expr_sql, args)) or "*"
            return f"{function}({'DISTINCT ' if distinct else ''}{inside})"
        case WindowCall(function, args, partition_by, order_by):
            over = f"PARTITION BY {', '.join(map(expr_sql, partition_by))}" if partition_by else ""
            order = f" ORDER BY {', '.join(map(expr_sql, order_by))}" if order_by else ""
            return f"{function}({', '.join(map(expr_sql, args))}) OVER ({over}{order})"
        case SortKey(inner, ascending, nulls_first):
            nulls = "FIRST" if nulls_first else "LAST"
            return f"{expr_sql(inner)} {'ASC' if ascending else 'DESC'} NULLS {nulls}"
        case ScalarSubquery(plan):
            return f"({plan_sql(plan)})"
        case Exists(plan):
            return f"EXISTS ({plan_sql(plan)})"
        case InSubquery(values, plan):
            left = ", ".join(map(expr_sql, values))
            return f"(({left}) IN ({plan_sql(plan)}))"
    raise NotImplementedError(type(expr).__name__)


def _call_sql(call: Call) -> str:
    args = [expr_sql(arg) for arg in call.args]
    match call.function:
        case "not":
            return f"(NOT {args[0]})"
        case "is_null":
            return f"({args[0]} IS NULL)"
        case "is_not_null":
            return f"({args[0]} IS NOT NULL)"
        case "in":
            return f"({args[0]} IN ({', '.join(args[1:])}))"
        case "between":
            return f"({args[0]} BETWEEN {args[1]} AND {args[2]})"
        case "case_when":
            pairs = zip(args[:-1:2], args[1:-1:2], strict=True)
            return f"(CASE {' '.join(f'WHEN {c} THEN {v}' for c, v in pairs)} ELSE {args[-1]} END)"
        case "rand" | "coalesce":
            return f"{call.function.replace('rand', 'random')}({', '.join(args)})"
    return f"({args[0]} {_OPERATORS[call.function]} {args[1]})"


def plan_sql(plan: LogicalPlan) -> str:
    """A SELECT that gives the plan's columns in order."""
    columns = ", ".join(map(name, plan.output)) or "1"
    match plan:
        case Scan(table, _, names, predicate):
            items = ", ".join(f"{source} AS {name(c)}" for source, c in zip(names, plan.columns, strict=True))
            base = f"SELECT {items} FROM {table.name}"
            return base if predicate is None else f"SELECT * FROM ({base}) WHERE {expr_sql(predicate)}"
        case Values(_, rows):
            items = ", ".join(f"CAST(NULL AS {c.dtype}) AS {name(c)}" for c in plan.output) or "1"
            if not rows:
                return f"SELECT {items} WHERE false"
            return " UNION ALL ".join(f"SELECT {_row_sql(row, plan.columns)}" for row in rows)
        case Project(child, items):
            return f"SELECT {', '.join(map(expr_sql, items))} FROM ({plan_sql(child)})"
        case Filter(child, predicate):
            return f"SELECT * FROM ({plan_sql(child)}) WHERE {expr_sql(predicate)}"
        case Aggregate(child, groups, aggregates):
            keys = ", ".join(expr_sql(g.expr if isinstance(g, Alias) else g) for g in groups)
            by = f" GROUP BY {keys}" if groups else ""
            return f"SELECT {', '.join(map(expr_sql, groups + aggregates)) or '1'} FROM ({plan_sql(child)}){by}"
        case Window(child, windows):
            return f"SELECT *, {', '.join(map(expr_sql, windows))} FROM ({plan_sql(child)})"
        case Sort(child, keys):
            return f"SELECT * FROM ({plan_sql(child)}) ORDER BY {', '.join(map(expr_sql, keys))}"
        case Limit(child, count, offset):
            bound = f" LIMIT {count}" if count is not None else ""
            return f"{plan_sql(child)}{bound} OFFSET {offset}"
        case Union(inputs):
            parts = [f"SELECT * FROM ({plan_sql(child)})" for child in inputs]
            aliases = ", ".join(map(name, plan.columns))
            return f"SELECT * FROM ({' UNION ALL '.join(parts)}) AS u({aliases})"
        case Expand(child, columns_, projections):
            return " UNION ALL ".join(
                f"SELECT {', '.join(f'{expr_sql(e)} AS {name(c)}' for e, c in zip(row, columns_, strict=True))} "
                f"FROM ({plan_sql(child)})"
                for row in projections
            )
        case Join():
            return _join_sql(plan, columns)
    raise NotImplementedError(type(plan).__name__)


def _row_sql(row: tuple[Expr, ...], columns: tuple[ColumnRef, ...]) -> str:
    return ", ".join(f"{expr_sql(v)} AS {name(c)}" for v, c in zip(row, columns, strict=True)) or "1"


def _join_sql(plan: Join, columns: str) -> str:
    left, right = plan_sql(plan.left), plan_sql(plan.right)
    condition = "true" if plan.condition is None else expr_sql(plan.condition)
    match plan.kind:
        case JoinKind.CROSS:
            return f"SELECT {columns} FROM ({left}) CROSS JOIN ({right})"
        case JoinKind.SEMI:
            return f"SELECT {columns} FROM ({left}) WHERE EXISTS (SELECT 1 FROM ({right}) WHERE {condition})"
        case JoinKind.ANTI:
            return f"SELECT {columns} FROM ({left}) WHERE NOT EXISTS (SELECT 1 FROM ({right}) WHERE {condition})"
        case JoinKind.NULL_AWARE_ANTI:
            (term,) = conjuncts(plan.condition)
            assert isinstance(term, Call)
            value, item = term.args
            if isinstance(value, ColumnRef) and value.column_id in plan.right.output_ids:
                value, item = item, value
            return (
                f"SELECT {columns} FROM ({left}) WHERE {expr_sql(value)} NOT IN "
                f"(SELECT {expr_sql(item)} FROM ({right}))"
            )
    return f"SELECT {columns} FROM ({left}) {_JOINS[plan.kind]} ({right}) ON {condition}"


def rows(connection: duckdb.DuckDBPyConnection, plan: LogicalPlan) -> list[tuple[object, ...]]:
    """The plan's rows as a sorted bag."""
    columns = [column.to_pylist() for column in run_query(connection, plan_sql(plan), 1_000).read_all().columns]
    return sorted(zip(*columns, strict=True), key=repr)
