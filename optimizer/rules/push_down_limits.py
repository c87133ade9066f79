"""Let a limit stop work early: below projections, in unions and in the preserved side of outer joins."""

from __future__ import annotations

from sharkpy.optimizer.context import Context
from sharkpy.plan.logical import Aggregate, Join, JoinKind, Limit, LogicalPlan, Project, Union, Values


def push_down_limits(plan: LogicalPlan, _context: Context) -> LogicalPlan:
    """Move limits down and merge adjacent ones. A limit stays directly above a Sort (top-N)."""
    if isinstance(plan, Limit):
        plan = _push(plan)
    return plan.map_children(lambda child: push_down_limits(child, _context))


def _push(plan: Limit) -> LogicalPlan:
    count, offset = plan.count, plan.offset
    if count is None and offset == 0:
        return plan.child
    if count == 0:
        return plan if isinstance(plan.child, Values) and not plan.child.rows else Values(plan.output, ())
    match plan.child:
        case Limit(child, inner_count, inner_offset):
            remaining = None if inner_count is None else max(inner_count - offset, 0)
            counts = [c for c in (count, remaining) if c is not None]
            return _push(Limit(child, min(counts) if counts else None, inner_offset + offset))
        case Project(child):
            return plan.child.with_children(Limit(child, count, offset))
        case Union(inputs) as union if count is not None:
            limited = tuple(_bounded(child, count + offset) for child in inputs)
            if all(new is old for new, old in zip(limited, inputs, strict=True)):
                return plan
            return Limit(Union(limited, union.columns), count, offset)
        case Join(left, right, JoinKind.LEFT | JoinKind.SINGLE as kind) as join if count is not None:
            bounded = _bounded(left, count + offset)
            if bounded is left:
                return plan
            return Limit(Join(bounded, right, kind, join.condition, join.hint), count, offset)
    return plan


def _bounded(plan: LogicalPlan, count: int) -> LogicalPlan:
    """Return `plan` with at most `count` rows. Add a limit only if it may have more."""
    node = plan
    while isinstance(node, Project):
        node = node.child
    match node:
        case Limit(_, inner) if inner is not None and inner <= count:
            return plan
        case Values(_, rows) if len(rows) <= count:
            return plan
        case Aggregate(_, ()):
            return plan
    return Limit(plan, count)
