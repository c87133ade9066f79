"""Rule: broadcast a measured small side of a shuffled join, and leave the other side in place."""

from __future__ import annotations

import dataclasses

from sharkpy.base import settings
from sharkpy.base.errors import InternalError
from sharkpy.optimizer.replan.choose_join import JoinDistribution, JoinLimits, choose_join
from sharkpy.physical.distribution import BroadcastPartitioning, HashPartitioning
from sharkpy.physical.operators import Exchange, ExchangeRead, Filter, HashJoin, Project
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.replan.context import ReplanContext
from sharkpy.physical.replan.free_joins import map_free_joins


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
