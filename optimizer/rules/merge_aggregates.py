"""Merge two groupings: sums of sums and counts, and minimum and maximum values of the same."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from sharkpy.optimizer.context import Context
from sharkpy.plan.expr import AggregateCall, Alias, Call, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Aggregate, LogicalPlan, Project
from sharkpy.udf.aggregate_states import FormKind
from sharkpy.values.types import BIGINT, BOOLEAN

_ONE, _NONE = Literal(1, BIGINT), Literal(0, BIGINT)


def merge_aggregates(plan: LogicalPlan, context: Context) -> LogicalPlan:
    """Compute aggregates of another Aggregate's groups directly from its rows, if the result is the same.

    Totals of a view, or of a continuous table, then do not need its groups.
    """
    return plan.transform_up(lambda node: _merged(node, context) if isinstance(node, Aggregate) else node)


def _merged(outer: Aggregate, context: Context) -> Aggregate:
    below, names = outer.child, dict[int, Expr]()
    if isinstance(below, Project):
        names = {item.column_id: item.expr if isinstance(item, Alias) else item for item in below.items}
        below = below.child
    if not isinstance(below, Aggregate) or not below.groups:
        return outer
    inner = {
        item.column_id: item.expr if isinstance(item, Alias) else item for item in (*below.groups, *below.aggregates)
    }
    # A column of the projection is looked up below it. An expression computed there is neither a group nor an
    # aggregate.
    values: Mapping[int, Expr | None] = inner
    if names:
        values = {column_id: _below(expr, inner) for column_id, expr in names.items()}
    groups = tuple(_group(item, values, context) for item in outer.groups)
    aggregates = tuple(_aggregate(item, values) for item in outer.aggregates)
    found_groups = tuple(item for item in groups if item is not None)
    found = tuple(item for item in aggregates if item is not None)
    if len(found_groups) < len(groups) or len(found) < len(aggregates):
        return outer
    return Aggregate(below.child, found_groups, found)


def _below(expr: Expr, inner: Mapping[int, Expr]) -> Expr | None:
    """Return a column of the projection in terms of the rows below, or None if it is computed."""
    if isinstance(expr, Literal):
        return expr
    return inner.get(expr.column_id) if isinstance(expr, ColumnRef) else None


def _group(item: Alias | ColumnRef, values: Mapping[int, Expr | None], context: Context) -> Alias | ColumnRef | None:
    """Return a group in terms of the rows below, or None if it is computed from the inner groups or their
    aggregates.
    """
    expr = item.expr if isinstance(item, Alias) else item
    found = values.get(expr.column_id) if isinstance(expr, ColumnRef) else expr if isinstance(expr, Literal) else None
    if found is None or isinstance(found, AggregateCall) or not context.is_deterministic(found):
        return None
    if isinstance(found, ColumnRef) and found.column_id == item.column_id:
        return found
    return Alias(found, item.column_id, item.name)


def _aggregate(item: Alias, values: Mapping[int, Expr | None]) -> Alias | None:
    """Return an aggregate of groups as one of their rows, or None if the result would differ."""
    outer = item.expr
    if not isinstance(outer, AggregateCall) or outer.distinct or outer.filter is not None or outer.form is not None:
        return None
    match outer.args:
        case (ColumnRef(column_id),):
            inner = values.get(column_id)
        case _:
            return None
    found = _combined(outer, inner) if isinstance(inner, AggregateCall) and not inner.distinct else None
    return None if found is None or found.dtype != outer.dtype else Alias(found, item.column_id, item.name)


def _combined(outer: AggregateCall, inner: AggregateCall) -> AggregateCall | None:
    is_merge = inner.form is not None and inner.form.kind is FormKind.MERGE
    if inner.form is not None and not is_merge:
        return None
    match outer.function, inner.base:
        case ("min", "min") | ("max", "max"):
            return inner
        case ("sum", "sum") if inner.dtype == BIGINT:
            # Sums of integers wrap, in any order of addition.
            return inner
        case "sum", "count":
            # Over no rows the sum is NULL, but a count is 0.
            number = inner.args[0] if is_merge else _counted(inner)
            return AggregateCall("sum", (number,), BIGINT)
    return None


def _counted(call: AggregateCall) -> Expr:
    """1 for a counted row, else 0."""
    terms = [
        *([] if call.filter is None else [call.filter]),
        *(Call("is_not_null", (arg,), BOOLEAN) for arg in call.args),
    ]
    if not terms:
        return _ONE
    is_counted = reduce(lambda one, other: Call("and", (one, other), BOOLEAN), terms)
    return Call("case_when", (is_counted, _ONE, _NONE), BIGINT)
