"""Compute deterministic expressions over literals once, at planning."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sharkpy.optimizer.context import Context, has_subquery
from sharkpy.optimizer.evaluate import evaluate, evaluate_quickly
from sharkpy.plan.expr import Call, Cast, ColumnRef, Expr, InSet, Literal
from sharkpy.plan.logical import LogicalPlan
from sharkpy.plan.subqueries import SUBQUERIES


def fold_constants(plan: LogicalPlan, context: Context) -> LogicalPlan:
    """Replace constant expressions by literals: by Python if the result is certain, the rest in one DuckDB query."""
    pending: list[Expr] = []
    plan = _map_expressions(plan, lambda expr: _fold_quickly(expr, context, pending), context)
    if not pending:
        return plan
    values = {id(expr): (expr, value) for expr, value in zip(pending, evaluate(pending), strict=True)}
    return _map_expressions(plan, lambda expr: _filled(expr, values), context)


def _filled(expr: Expr, values: Mapping[int, tuple[Expr, Literal | None]]) -> Expr:
    """Replace the evaluated parts of `expr`, by their identity, with their values."""
    entry = values.get(id(expr))
    if entry is not None:
        return entry[1] or expr
    return expr.map_children(lambda child: _filled(child, values))


def _map_expressions(plan: LogicalPlan, function: Callable[[Expr], Expr], context: Context) -> LogicalPlan:
    """Apply `function` to the expressions of `plan`, also in subqueries, except expressions that are folded already."""

    def apply(expr: Expr) -> Expr:
        if isinstance(expr, (ColumnRef, Literal)) or id(expr) in context.folded:
            return expr
        return _in_subqueries(function(expr), function, context)

    plan = plan.map_children(lambda child: _map_expressions(child, function, context))
    return plan.map_expressions(apply) if plan.computations else plan


def _in_subqueries(expr: Expr, function: Callable[[Expr], Expr], context: Context) -> Expr:
    if isinstance(expr, (ColumnRef, Literal)):
        return expr
    if isinstance(expr, SUBQUERIES):
        inner = _map_expressions(expr.plan, function, context)
        expr = expr if inner is expr.plan else expr.map_held(LogicalPlan, lambda _: inner)
    return expr.map_children(lambda child: _in_subqueries(child, function, context))


def _fold_quickly(expr: Expr, context: Context, pending: list[Expr]) -> Expr:
    """Fold what Python can, and add the largest remaining constant parts to `pending`."""
    num_pending = len(pending)
    result, is_constant = _fold(expr, context, pending)
    if is_constant and not isinstance(result, Literal):
        pending.append(result)
    if len(pending) == num_pending and not has_subquery(result):
        context.folded[id(result)] = result
    return result


def _fold(expr: Expr, context: Context, pending: list[Expr]) -> tuple[Expr, bool]:
    """Return the folded expression, and whether it is constant (then no part of it is in `pending` yet)."""
    if isinstance(expr, Literal):
        return expr, True
    if isinstance(expr, ColumnRef):
        return expr, False
    folded: list[tuple[Expr, bool]] = []

    def visit(arg: Expr) -> Expr:
        folded.append(_fold(arg, context, pending))
        return folded[-1][0]

    result = expr.map_children(visit)
    foldable = isinstance(result, (Call, Cast, InSet)) and all(is_constant for _, is_constant in folded)
    if foldable and context.is_deterministic(result):
        return evaluate_quickly(result) or result, True
    pending.extend(arg for arg, is_constant in folded if is_constant and not isinstance(arg, Literal))
    return result, False
