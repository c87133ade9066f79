"""Drop steps without an effect: projections, orderings, DISTINCT, and grouping of distinct rows."""

from __future__ import annotations

import dataclasses
from collections import Counter

from sharkpy.optimizer.context import Context
from sharkpy.optimizer.function_traits import ORDER_SENSITIVE_AGGREGATES
from sharkpy.plan.expr import AggregateCall, Alias, ColumnRef, Expr, Literal
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
from sharkpy.plan.references import substitute


def merge_projects(plan: LogicalPlan, context: Context) -> LogicalPlan:
    """Merge adjacent projections. An expression that is used more than once stays below, so that it runs once."""
    return plan.transform_up(lambda node: _merge(node, context))


def _merge(plan: LogicalPlan, context: Context) -> LogicalPlan:
    if not isinstance(plan, Project):
        return plan
    while isinstance(plan.child, Project) and (merged := _merged(plan, plan.child, context)):
        plan = merged
    return plan


def _merged(outer: Project, inner: Project, context: Context) -> Project | None:
    definitions: dict[int, Expr] = {
        item.column_id: item.expr if isinstance(item, Alias) else item for item in inner.items
    }
    costly = {column_id for column_id, expr in definitions.items() if not isinstance(expr, (ColumnRef, Literal))}
    if costly:
        uses = Counter(node.column_id for item in outer.items for node in item.walk() if isinstance(node, ColumnRef))
        if any(uses[column_id] > 1 or not context.is_deterministic(definitions[column_id]) for column_id in costly):
            return None
    return Project(inner.child, tuple(_inlined(item, definitions) for item in outer.items))


def _inlined(item: Alias | ColumnRef, definitions: dict[int, Expr]) -> Alias | ColumnRef:
    if isinstance(item, Alias):
        return substitute(item, definitions)  # type: ignore[return-value]
    expr = definitions[item.column_id]
    if isinstance(expr, ColumnRef) and expr.column_id == item.column_id:
        return item
    return Alias(expr, item.column_id, item.name)


def remove_projects(plan: LogicalPlan, _context: Context) -> LogicalPlan:
    """Drop each projection to exactly its child's columns."""
    plan = plan.map_children(lambda child: remove_projects(child, _context))
    if isinstance(plan, Project) and all(isinstance(item, ColumnRef) for item in plan.items):
        ids = [item.column_id for item in plan.items]
        child_ids = [column.column_id for column in plan.child.output]
        if ids == child_ids and [i.name for i in plan.items] == [c.name for c in plan.child.output]:
            return plan.child
    return plan


def remove_sorts(plan: LogicalPlan, _context: Context) -> LogicalPlan:
    """Drop each Sort below a join, another Sort or an aggregate, unless a Limit is directly above it."""
    return _visit(plan, is_seen=True)


def _visit(plan: LogicalPlan, is_seen: bool) -> LogicalPlan:
    match plan:
        case Sort(child, _, is_global):
            if not is_seen:
                return _visit(child, False)
            return plan.with_children(_visit(child, is_seen=not is_global))
        case Project(child) | Filter(child):
            return plan.with_children(_visit(child, is_seen))
        case Aggregate(child, _, aggregates):
            return plan.with_children(_visit(child, is_seen=any(map(_is_order_sensitive, aggregates))))
        case Join():
            return plan.map_children(lambda child: _visit(child, False))
        case Limit(child):
            return plan.with_children(_visit(child, True))
    return plan.map_children(lambda child: _visit(child, True))


def _is_order_sensitive(item: Alias) -> bool:
    return isinstance(item.expr, AggregateCall) and item.expr.function in ORDER_SENSITIVE_AGGREGATES


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
