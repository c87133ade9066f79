"""Merge two projections into one."""

from __future__ import annotations

from collections import Counter

from sharkpy.optimizer.context import Context
from sharkpy.plan.expr import Alias, ColumnRef, Expr, Literal
from sharkpy.plan.logical import LogicalPlan, Project
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
