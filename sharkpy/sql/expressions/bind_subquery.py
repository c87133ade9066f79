"""Subqueries inside expressions: scalar, EXISTS, IN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.base.errors import TypeMismatchError
from sharkpy.plan.expr import Alias, ColumnRef, Expr
from sharkpy.plan.logical import LogicalPlan, Project
from sharkpy.plan.subqueries import Exists, InSubquery, ScalarSubquery
from sharkpy.sql.expressions.coercion import cast
from sharkpy.values.common_types import comparison_type
from sharkpy.values.types import DataType

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
