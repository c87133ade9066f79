"""Rule: a semi join before a shuffle moves only rows of a large side that the small side matches."""

from __future__ import annotations

import dataclasses

from sharkpy.base import settings
from sharkpy.physical.distribution import BroadcastPartitioning, HashPartitioning
from sharkpy.physical.operators import Exchange, ExchangeRead, Filter, HashJoin, Project
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.replan.context import ReplanContext
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import JoinKind
from sharkpy.plan.references import column_ids

REDUCIBLE = (JoinKind.SEMI, JoinKind.ANTI, JoinKind.LEFT, JoinKind.SINGLE)
"""Kinds of join whose left side cannot be broadcast, and whose unmatched right rows do not matter."""
MIN_BYTES = 4 << 20
"""Least bytes of a right side worth reducing."""
MIN_RATIO = 4
"""Least ratio of its bytes to the left side's bytes."""
_SUBSETS = (JoinKind.SEMI, JoinKind.ANTI, JoinKind.NULL_AWARE_ANTI, JoinKind.INNER, JoinKind.LEFT, JoinKind.SINGLE)


def is_reducible(kind: JoinKind, left_bytes: int, right_bytes: int) -> bool:
    return kind in REDUCIBLE and right_bytes >= max(MIN_BYTES, left_bytes * MIN_RATIO)


def reduce_measured_sides(plan: PhysicalPlan, context: ReplanContext) -> PhysicalPlan:
    """Reduce the right side of each suitable join by its left side, if that may be broadcast."""
    if context.settings.value(settings.FORCE_JOIN) == "shuffle":
        return plan
    limit = context.settings.value(settings.BROADCAST_BYTES)

    def visit(node: PhysicalPlan) -> PhysicalPlan:
        if not isinstance(node, HashJoin) or not isinstance(node.right, Exchange):
            return node
        moved = node.right
        read = _source(node.left, frozenset().union(*map(column_ids, node.left_keys)))
        if read is None or read.observed is None or not isinstance(moved.partitioning, HashPartitioning):
            return node
        size = read.observed.size_bytes
        if size > limit or not is_reducible(node.kind, size, moved.estimated_bytes or 0) or _is_reduced(moved, read):
            return node
        keys = dataclasses.replace(read, partitioning=BroadcastPartitioning())
        child = HashJoin(moved.child, keys, JoinKind.SEMI, node.right_keys, node.left_keys, node.null_safe)
        text = f"exchange {moved.exchange_id} moves only rows that exchange {read.exchange_id} matches"
        context.decide("reduce_side", text, bytes=size, limit=limit)
        return dataclasses.replace(node, right=dataclasses.replace(moved, child=child))

    return plan.transform_up(visit)


def reducible_exchanges(plan: PhysicalPlan) -> frozenset[int]:
    """Return the exchanges of right sides that may still be reduced."""
    return frozenset(
        node.right.exchange_id
        for node in plan.walk()
        if isinstance(node, HashJoin)
        and node.kind in REDUCIBLE
        and isinstance(node.right, Exchange)
        and isinstance(node.right.partitioning, HashPartitioning)
    )


def _source(plan: PhysicalPlan, keys: frozenset[int]) -> ExchangeRead | None:
    """Return the measured read from which all values of the columns `keys` come, or None."""
    while not isinstance(plan, ExchangeRead):
        match plan:
            case Filter(child=below):
                pass
            case Project(child=below, items=items):
                if not keys <= {item.column_id for item in items if isinstance(item, ColumnRef)}:
                    return None
            case HashJoin(left=below, kind=kind) if kind in _SUBSETS:
                pass
            case _:
                return None
        plan = below
    is_hashed = isinstance(plan.partitioning, HashPartitioning)
    return plan if is_hashed and keys <= {column.column_id for column in plan.columns} else None


def _is_reduced(moved: Exchange, read: ExchangeRead) -> bool:
    match moved.child:
        case HashJoin(kind=JoinKind.SEMI, right=ExchangeRead(exchange_id=known)):
            return known == read.exchange_id
    return False
