"""Rules for joins with a measured small side: it is broadcast, or it reduces the other side.

A broadcast leaves the other side in place. A semi join before a shuffle moves only the rows of a large side that the
small side matches.
"""

from __future__ import annotations

import dataclasses

from sharkpy.base import settings
from sharkpy.base.errors import InternalError
from sharkpy.optimizer.decisions import JoinDistribution, JoinLimits, choose_join
from sharkpy.physical.operators import Exchange, ExchangeRead, Filter, HashJoin, Project
from sharkpy.physical.plan import BroadcastPartitioning, HashPartitioning, PhysicalPlan
from sharkpy.physical.replan.replan_rule import ReplanContext, map_free_joins
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import JoinKind
from sharkpy.plan.references import column_ids


def broadcast_small_sides(plan: PhysicalPlan, context: ReplanContext) -> PhysicalPlan:
    if context.settings.value(settings.FORCE_JOIN) == "shuffle":
        return plan
    return map_free_joins(plan, lambda join: _broadcast_small_side(join, context), context.is_free)


def _broadcast_small_side(join: HashJoin, context: ReplanContext) -> PhysicalPlan:
    limit = context.settings.value(settings.BROADCAST_BYTES)
    left_bytes, right_bytes = _measured_bytes(join.left, join.right), _measured_bytes(join.right, join.left)
    match choose_join(left_bytes, right_bytes, join.kind, JoinLimits(limit)).distribution:
        case JoinDistribution.BROADCAST_LEFT:
            kept, moved = _broadcast(join, join.left, join.right, limit, context)
            return dataclasses.replace(join, left=kept, right=moved)
        case JoinDistribution.BROADCAST_RIGHT:
            kept, moved = _broadcast(join, join.right, join.left, limit, context)
            return dataclasses.replace(join, left=moved, right=kept)
    return join


def _measured_bytes(side: PhysicalPlan, other: PhysicalPlan) -> int | None:
    """Return the bytes of a finished side if the other one has not been moved yet, else None."""
    read = _hash_read(side)
    waits = isinstance(other, Exchange) and isinstance(other.partitioning, HashPartitioning)
    return read.observed.size_bytes if waits and read is not None and read.observed is not None else None


def _broadcast(
    join: HashJoin, small: PhysicalPlan, other: PhysicalPlan, limit: int, context: ReplanContext
) -> tuple[PhysicalPlan, PhysicalPlan]:
    """Return the small side read whole by each task, and the other side in place."""
    read = _hash_read(small)
    if read is None or read.observed is None or not isinstance(other, Exchange):
        raise InternalError(f"no side of {join.label} has been measured")
    text = f"exchange {read.exchange_id} is broadcast, exchange {other.exchange_id} is not run: {join.label}"
    context.decide("broadcast_small_side", text, bytes=read.observed.size_bytes, limit=limit)
    whole = dataclasses.replace(read, partitioning=BroadcastPartitioning())
    return _replace_read(small, whole), other.child


def _hash_read(plan: PhysicalPlan) -> ExchangeRead | None:
    """Return the hash-partitioned read below Projects and Filters, or None."""
    while isinstance(plan, (Project, Filter)):
        plan = plan.child
    if isinstance(plan, ExchangeRead) and isinstance(plan.partitioning, HashPartitioning):
        return plan
    return None


def _replace_read(plan: PhysicalPlan, read: ExchangeRead) -> PhysicalPlan:
    if isinstance(plan, (Project, Filter)):
        return dataclasses.replace(plan, child=_replace_read(plan.child, read))
    return read


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
