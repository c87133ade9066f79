"""Choice of string columns to read as indexes into their few values: columns that only group rows."""

from __future__ import annotations

from collections.abc import Iterable

from sharkpy.physical.operators import (
    AggregateMode,
    BlockScan,
    Filter,
    HashAggregate,
    HashJoin,
    NestedLoopJoin,
    Project,
)
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.expr import Alias, ColumnRef, Expr
from sharkpy.plan.logical import JoinKind

_LEFT_NOT_NULL = frozenset(JoinKind) - {JoinKind.RIGHT, JoinKind.FULL}
_RIGHT_NOT_NULL = frozenset({JoinKind.INNER, JoinKind.CROSS, JoinKind.RIGHT})
_NONE: frozenset[int] = frozenset()


def coded_columns(plan: PhysicalPlan, wanted: frozenset[int] = _NONE) -> frozenset[int]:
    """Return the scans' columns that are only used for grouping. `wanted` are such columns of the output."""
    match plan:
        case HashAggregate(mode=AggregateMode.COMPLETE | AggregateMode.PARTIAL):
            groups = frozenset(item.column_id for item in map(_bare, plan.groups) if isinstance(item, ColumnRef))
            others = _used(
                (*(item for item in plan.groups if not isinstance(_bare(item), ColumnRef)), *plan.aggregates)
            )
            return coded_columns(plan.child, groups - others)
        case Project():
            return coded_columns(plan.child, _through_project(plan, wanted))
        case Filter():
            return coded_columns(plan.child, wanted - _used((plan.predicate,)))
        case HashJoin() | NestedLoopJoin():
            rest = wanted - _used(plan.expressions)
            left = coded_columns(plan.left, rest if plan.kind in _LEFT_NOT_NULL else _NONE)
            return left | coded_columns(plan.right, rest if plan.kind in _RIGHT_NOT_NULL else _NONE)
        case BlockScan():
            few = {name for name, _ in plan.bounds.distinct}
            known = {c.column_id for c, name in zip(plan.columns, plan.names, strict=True) if name in few}
            used = _used((plan.predicate,)) if plan.predicate is not None else _NONE
            return (wanted & known) - used
    return _NONE.union(*(coded_columns(child) for child in plan.children))


def _bare(item: Alias | ColumnRef) -> Expr:
    return item.expr if isinstance(item, Alias) else item


def _through_project(plan: Project, wanted: frozenset[int]) -> frozenset[int]:
    """Return the child's columns that the projection only renames, to columns in `wanted`."""
    passed: set[int] = set()
    others: list[Expr] = []
    for item in plan.items:
        bare = _bare(item)
        if item.column_id in wanted and isinstance(bare, ColumnRef):
            passed.add(bare.column_id)
        else:
            others.append(item)
    return frozenset(passed) - _used(others)


def _used(exprs: Iterable[Expr]) -> frozenset[int]:
    return frozenset(node.column_id for expr in exprs for node in expr.walk() if isinstance(node, ColumnRef))
