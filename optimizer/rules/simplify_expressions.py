"""Rewrite expressions to their simplest equivalent form."""

from __future__ import annotations

from sharkpy.base.cancellation import check_cancelled
from sharkpy.optimizer.context import Context
from sharkpy.optimizer.simplify.boolean import CONNECTIVES, connect, flatten
from sharkpy.optimizer.simplify.table import SIMPLIFICATIONS
from sharkpy.plan.expr import Call, Cast, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Join, JoinKind, LogicalPlan
from sharkpy.plan.subqueries import SUBQUERIES


def simplify_expressions(plan: LogicalPlan, context: Context) -> LogicalPlan:
    """Simplify every expression of the plan, including subqueries.

    The condition of a null-aware anti join stays unchanged, since its meaning depends on the equality.
    """
    plan = plan.map_children(lambda child: simplify_expressions(child, context))
    if isinstance(plan, Join) and plan.kind is JoinKind.NULL_AWARE_ANTI:
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
