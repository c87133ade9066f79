"""Run a selective semi join before the inner joins of its left side."""

from __future__ import annotations

from sharkpy.optimizer.context import Context
from sharkpy.optimizer.estimate import estimate_rows
from sharkpy.plan.expr import conjuncts
from sharkpy.plan.logical import Join, JoinKind, LogicalPlan, Project

MAX_SHARE = 0.3
"""Largest share of a relation's rows that a semi join may keep to be moved down to it."""

_INNER = (JoinKind.INNER, JoinKind.CROSS)


def push_down_semi_joins(plan: LogicalPlan, context: Context) -> LogicalPlan:
    """Move semi joins through inner joins to the side that has all columns of their condition."""
    if isinstance(plan, Join) and plan.kind is JoinKind.SEMI and plan.condition is not None:
        moved = _push(plan.left, plan, context)
        if moved is not None:
            plan = moved
    return plan.map_children(lambda child: push_down_semi_joins(child, context))


def _push(target: LogicalPlan, semi: Join, context: Context) -> LogicalPlan | None:
    """Return `target` with the semi join inside, or None if that would not help."""
    if isinstance(target, Project):
        if not _left_columns(semi, context) <= context.output_ids(target.child):
            return None
        inner = _push(target.child, semi, context)
        return None if inner is None else target.with_children(inner)
    if not isinstance(target, Join) or target.kind not in _INNER:
        return None
    used = _left_columns(semi, context)
    for is_left, side in ((True, target.left), (False, target.right)):
        if not used or not used <= context.output_ids(side):
            continue
        new = _push(side, semi, context)
        if new is None:
            new = Join(side, semi.right, JoinKind.SEMI, semi.condition, semi.hint)
            if estimate_rows(new, context) > MAX_SHARE * estimate_rows(side, context):
                return None
        left, right = (new, target.right) if is_left else (target.left, new)
        return Join(left, right, target.kind, target.condition, target.hint)
    return None


def _left_columns(semi: Join, context: Context) -> frozenset[int]:
    used = frozenset().union(*(context.ids(term) for term in conjuncts(semi.condition)))
    return used - context.output_ids(semi.right)
