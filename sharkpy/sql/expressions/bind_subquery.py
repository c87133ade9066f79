"""Subqueries in expressions: scalar, EXISTS, IN, and comparisons with ANY, SOME and ALL rows of a query.

`= ANY` is IN, `<> ALL` is NOT IN. For other comparisons, ANY needs four facts of the query, which one row holds: the
number of rows, the number of values, the least and the greatest value. ALL is the negation of ANY with the opposite
comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.base.errors import TypeMismatchError
from sharkpy.plan.expr import AggregateCall, Alias, Call, ColumnRef, Expr, string_literal
from sharkpy.plan.logical import Aggregate, LogicalPlan, Project
from sharkpy.plan.subqueries import Exists, InSubquery, ScalarSubquery
from sharkpy.sql.expressions.coercion import cast
from sharkpy.udf.conditions import QUERY_FACTS
from sharkpy.values.common_types import comparison_type
from sharkpy.values.types import BIGINT, BOOLEAN, DataType, StructType, is_nested

if TYPE_CHECKING:
    from sharkpy.sql.context import Context
    from sharkpy.sql.expressions.expr_binder import ExprBinder


def _plan(binder: ExprBinder, query: exp.Expr) -> LogicalPlan:
    scope = binder.scope.taking_aggregates() if binder.clause.aggregates else binder.scope
    return binder.context.bind_query(query, binder.context, scope)


def bind_scalar(binder: ExprBinder, node: exp.Expr) -> Expr:
    plan = _plan(binder, node)
    if len(plan.output) != 1:
        message = f"a scalar subquery has one column, this one has {len(plan.output)}"
        raise binder.context.error(message, node, sqlstate="42823")
    return ScalarSubquery(plan)


def bind_exists(binder: ExprBinder, node: exp.Expr) -> Expr:
    return Exists(_plan(binder, node.this))


def bind_in_subquery(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind values IN (query)."""
    return in_query(binder, node.this, node.args["query"], node)


def in_query(binder: ExprBinder, left: exp.Expr, query: exp.Expr, node: exp.Expr) -> Expr:
    """Return whether a value, or a tuple of values, is a row of a query."""
    return InSubquery(*compared_with_query(binder, left, query, node, "IN"))


def compared_with_query(
    binder: ExprBinder, left: exp.Expr, query: exp.Expr, node: exp.Expr, operator: str
) -> tuple[tuple[Expr, ...], LogicalPlan]:
    """Bind a value or tuple of values, and a query, both cast to their common types."""
    items = left.expressions if isinstance(left, exp.Tuple) else [left]
    values = tuple(map(binder.bind, items))
    plan = _plan(binder, query)
    if len(plan.output) != len(values):
        message = f"the subquery of {operator} has {len(plan.output)} columns for {len(values)} values"
        raise binder.context.error(message, node, sqlstate="42823")
    targets = []
    for value, column in zip(values, plan.output, strict=True):
        target = comparison_type(value.dtype, column.dtype)
        if target is None:
            message = f"{value.dtype} and {column.dtype} cannot be compared"
            raise binder.context.error(message, node, TypeMismatchError)
        targets.append(target)
    cast_values = tuple(cast(value, target) for value, target in zip(values, targets, strict=True))
    return cast_values, cast_output(binder.context, plan, targets)


def cast_output(context: Context, plan: LogicalPlan, targets: Sequence[DataType]) -> LogicalPlan:
    """Cast the columns of `plan`. Return the same plan if they have these types already."""
    if all(column.dtype == target for column, target in zip(plan.output, targets, strict=True)):
        return plan
    items: list[Alias | ColumnRef] = []
    for column, target in zip(plan.output, targets, strict=True):
        if column.dtype == target:
            items.append(column)
        else:
            items.append(Alias(cast(column, target), next(context.ids), column.name))
    return Project(plan, tuple(items))


_OPPOSITES = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
_WORDS = {"any": exp.Any, "some": exp.Any, "all": exp.All}


def quantified_query(node: exp.Expr) -> tuple[bool, exp.Expr] | None:
    """Return whether ALL precedes a query, and the query; None for other operands."""
    match node:
        case exp.Any(this=exp.Query() as query) | exp.All(this=exp.Query() as query):
            return isinstance(node, exp.All), query
        case exp.Anonymous(expressions=[exp.Subquery() as query]) if node.name.lower() in _WORDS:
            # With a second pair of parentheses it is parsed as a call.
            return _WORDS[node.name.lower()] is exp.All, query
        case exp.Paren():
            return quantified_query(node.this)
    return None


def bind_quantified(binder: ExprBinder, function: str, node: exp.Expr, is_all: bool, query: exp.Expr) -> Expr:
    if function not in _OPPOSITES:
        raise binder.context.unsupported("<=> with ANY or ALL of a query", node)
    function = _OPPOSITES[function] if is_all else function
    result = in_query(binder, node.this, query, node) if function == "eq" else _any(binder, function, node, query)
    return Call("not", (result,), BOOLEAN) if is_all else result


def _any(binder: ExprBinder, function: str, node: exp.Expr, query: exp.Expr) -> Expr:
    if isinstance(node.this, exp.Tuple):
        raise binder.context.unsupported("ANY or ALL of a query with several columns, but by = and <>", node)
    (value,), plan = compared_with_query(binder, node.this, query, node, "ANY or ALL")
    if is_nested(value.dtype):
        raise binder.context.unsupported(f"ANY or ALL of a query of {value.dtype}", node)
    return Call(f"{function}_any", (value, ScalarSubquery(_facts(binder.context, plan))), BOOLEAN)


def _facts(context: Context, plan: LogicalPlan) -> LogicalPlan:
    """One row with a struct of the facts about the query's rows."""
    column = plan.output[0]
    calls = (
        AggregateCall("count", (), BIGINT),
        AggregateCall("count", (column,), BIGINT),
        AggregateCall("min", (column,), column.dtype),
        AggregateCall("max", (column,), column.dtype),
    )
    aggregates = tuple(Alias(call, next(context.ids), name) for name, call in zip(QUERY_FACTS, calls, strict=True))
    pairs = tuple(part for item in aggregates for part in (string_literal(item.name), item.ref))
    struct = Call("named_struct", pairs, StructType(QUERY_FACTS, tuple(item.dtype for item in aggregates)))
    return Project(Aggregate(plan, (), aggregates), (Alias(struct, next(context.ids), "facts"),))
