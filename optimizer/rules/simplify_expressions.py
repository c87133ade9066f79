"""Rewrite expressions to their simplest equivalent form, by a table with one simplification per function."""

from __future__ import annotations

from collections.abc import Callable

from sharkpy.base.cancellation import check_cancelled
from sharkpy.optimizer.context import Context
from sharkpy.optimizer.rules.simplify_conditions import (
    CONNECTIVES,
    connect,
    flatten,
    simplify_and,
    simplify_between,
    simplify_comparison,
    simplify_in,
    simplify_is_not_null,
    simplify_is_null,
    simplify_like,
    simplify_not,
    simplify_or,
)
from sharkpy.plan.expr import Call, Cast, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Join, JoinKind, LogicalPlan
from sharkpy.plan.subqueries import SUBQUERIES


def simplify_expressions(plan: LogicalPlan, context: Context) -> LogicalPlan:
    """Simplify every expression of the plan, including subqueries.

    The condition of a null-aware anti join stays unchanged, since its meaning depends on the equality.
    """
    plan = plan.map_children(lambda child: simplify_expressions(child, context))
    if not plan.computations or (isinstance(plan, Join) and plan.kind is JoinKind.NULL_AWARE_ANTI):
        return plan
    return plan.map_expressions(lambda expr: simplify_expr(expr, context))


def simplify_expr(expr: Expr, context: Context) -> Expr:
    """Simplify arguments first. Results are memoized, so that simplifying them again is a lookup."""
    if isinstance(expr, (ColumnRef, Literal)):
        return expr
    entry = context.simplified.get(id(expr))
    if entry is not None:
        return entry[1]
    check_cancelled()
    result = _with_simple_arguments(expr, context)
    match result:
        case Call(function):
            rule = SIMPLIFICATIONS.get(function)
            if rule is not None and context.is_deterministic(result):
                changed = rule(result)
                result = changed if changed is result else simplify_expr(changed, context)
        case Cast(inner, dtype) if inner.dtype == dtype:
            result = inner
        case _ if isinstance(result, SUBQUERIES):
            plan = simplify_expressions(result.plan, context)
            if plan is not result.plan:
                result = result.map_held(LogicalPlan, lambda _: plan)
    context.simplified[id(expr)] = (expr, result)
    context.simplified[id(result)] = (result, result)
    return result


def _with_simple_arguments(expr: Expr, context: Context) -> Expr:
    """Simplify the arguments of `expr`. A chain of AND or OR is flattened first, so that it is simplified once."""
    if not isinstance(expr, Call) or expr.function not in CONNECTIVES:
        return expr.map_children(lambda arg: simplify_expr(arg, context))
    terms = flatten(expr.function, expr.args)
    simple = [simplify_expr(term, context) for term in terms]
    is_same = all(one is other for one, other in zip(terms, simple, strict=True))
    return expr if is_same else connect(expr.function, simple)


# CASE, IF and COALESCE


def simplify_case_when(call: Call) -> Expr:
    """Drop branches that cannot be taken. A branch that is always taken ends the list."""
    *pairs, default = call.args
    kept: list[Expr] = []
    for condition, value in zip(pairs[::2], pairs[1::2], strict=True):
        if isinstance(condition, Literal):
            if condition.value is True:
                default = value
                break
            continue
        kept += [condition, value]
    if not kept:
        return _typed(default, call)
    args = (*kept, default)
    return call if len(args) == len(call.args) and args[-1] is call.args[-1] else Call(call.function, args, call.dtype)


def simplify_if(call: Call) -> Expr:
    condition, value, default = call.args
    if isinstance(condition, Literal):
        return _typed(value if condition.value is True else default, call)
    return call


def simplify_coalesce(call: Call) -> Expr:
    kept: list[Expr] = []
    for arg in call.args:
        if isinstance(arg, Literal):
            if arg.value is None:
                continue
            kept.append(arg)
            break
        kept.append(arg)
    if not kept:
        return Literal(None, call.dtype)
    if len(kept) == 1:
        return _typed(kept[0], call)
    return call if len(kept) == len(call.args) else Call(call.function, tuple(kept), call.dtype)


def _typed(expr: Expr, call: Call) -> Expr:
    return expr if expr.dtype == call.dtype else Cast(expr, call.dtype)


SIMPLIFICATIONS: dict[str, Callable[[Call], Expr]] = {
    "and": simplify_and,
    "or": simplify_or,
    "not": simplify_not,
    "eq": simplify_comparison,
    "ne": simplify_comparison,
    "lt": simplify_comparison,
    "le": simplify_comparison,
    "gt": simplify_comparison,
    "ge": simplify_comparison,
    "eq_null_safe": simplify_comparison,
    "in": simplify_in,
    "between": simplify_between,
    "is_null": simplify_is_null,
    "is_not_null": simplify_is_not_null,
    "like": simplify_like,
    "case_when": simplify_case_when,
    "if": simplify_if,
    "coalesce": simplify_coalesce,
}
"""Every row preserves the value of the call for all arguments, including NULL. Rows may change how often an argument is
evaluated: they are applied only to deterministic calls.
"""
