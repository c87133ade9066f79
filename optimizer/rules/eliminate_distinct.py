"""Drop grouping of distinct rows, and DISTINCT without an effect."""

from __future__ import annotations

import dataclasses

from sharkpy.optimizer.context import Context
from sharkpy.plan.expr import AggregateCall, Alias, ColumnRef, Literal
from sharkpy.plan.logical import (
    LEFT_ONLY_JOINS,
    Aggregate,
    Distribute,
    Filter,
    Join,
    Limit,
    LogicalPlan,
    Project,
    Sort,
)

_SAME_WITH_DISTINCT = frozenset(("min", "max", "collect_set", "bool_and", "bool_or"))


def eliminate_distinct(plan: LogicalPlan, _context: Context) -> LogicalPlan:
    """Drop needless grouping and DISTINCT, and constants from group keys if another key is left."""
    return plan.transform_up(_simplify)


def _simplify(plan: LogicalPlan) -> LogicalPlan:
    if not isinstance(plan, Aggregate):
        return plan
    plan = _without_useless_distinct(plan)
    if plan.groups and not plan.aggregates and _is_distinct(plan):
        return Project(plan.child, plan.groups)
    return _without_constant_keys(plan)


def _without_useless_distinct(plan: Aggregate) -> Aggregate:
    def plain(item: Alias) -> Alias:
        call = item.expr
        if isinstance(call, AggregateCall) and call.distinct and call.function in _SAME_WITH_DISTINCT:
            return Alias(dataclasses.replace(call, distinct=False), item.column_id, item.name)
        return item

    items = tuple(map(plain, plan.aggregates))
    changed = any(new is not old for new, old in zip(items, plan.aggregates, strict=True))
    return Aggregate(plan.child, plan.groups, items) if changed else plan


def _is_distinct(plan: Aggregate) -> bool:
    """Return whether the group keys contain a unique key of the child, so that every group has one row."""
    kept = {
        expr.column_id
        for item in plan.groups
        if isinstance(expr := item.expr if isinstance(item, Alias) else item, ColumnRef)
    }
    key = unique_key(plan.child)
    return key is not None and key <= kept


def unique_key(plan: LogicalPlan) -> frozenset[int] | None:
    """Return output columns whose values differ in all rows of `plan`, or None if none are known."""
    match plan:
        case Aggregate():
            return frozenset(item.column_id for item in plan.groups)
        case Filter(child) | Sort(child) | Distribute(child) | Limit(child):
            return unique_key(child)
        case Project(child, items):
            key = unique_key(child)
            if key is None:
                return None
            renamed = {}
            for item in items:
                expr = item.expr if isinstance(item, Alias) else item
                if isinstance(expr, ColumnRef):
                    renamed[expr.column_id] = item.column_id
            return frozenset(renamed[i] for i in key) if key <= renamed.keys() else None
        case Join(left, _, kind) if kind in LEFT_ONLY_JOINS:
            return unique_key(left)
    return None


def _without_constant_keys(plan: Aggregate) -> LogicalPlan:
    constant = [item for item in plan.groups if isinstance(item, Alias) and isinstance(item.expr, Literal)]
    if not constant or len(constant) == len(plan.groups):
        return plan
    groups = tuple(item for item in plan.groups if item not in constant)
    reduced = Aggregate(plan.child, groups, plan.aggregates)
    items = tuple(item if item in constant else _ref(item) for item in plan.groups + plan.aggregates)
    return Project(reduced, items)


def _ref(item: Alias | ColumnRef) -> ColumnRef:
    return item.ref if isinstance(item, Alias) else item
