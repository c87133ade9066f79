"""Queries that keep rows with equal keys together, in the buckets of their tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sharkpy.base import settings
from sharkpy.execution.queries.plan_query import plan_query
from sharkpy.ml.rdd.key_hash import KeyHash
from sharkpy.optimizer.decisions import Place
from sharkpy.physical.operators import Exchange, HashJoin, Project
from sharkpy.physical.operators.scans import bucketed_scan
from sharkpy.physical.placement import PlacedPlan
from sharkpy.physical.plan import BroadcastPartitioning, Hashed, PhysicalPlan
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import Distribute, JoinKind, LogicalPlan

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.execution.tables.snapshot import QuerySnapshot


def plan_in_buckets(
    session: EngineSession, plan: LogicalPlan, keys: Sequence[ColumnRef], snapshot: QuerySnapshot
) -> tuple[EngineSession, PlacedPlan, KeyHash] | None:
    """Return a plan with rows of equal `keys`, columns of `plan`, in one bucket, with the session for its settings; see
    `in_buckets`.
    """
    # A scan by a single task, which would avoid exchanges, has no buckets.
    apart = session.with_settings({settings.SINGLE_TASK_BYTES.key: "0"})
    physical = plan_query(apart, Distribute(plan, tuple(keys)), snapshot, Place.RDD)
    found = in_buckets(physical.root, keys)
    return None if found is None else (apart, physical.with_root(found[0]), found[1])


def in_buckets(physical: PhysicalPlan, keys: Sequence[ColumnRef]) -> tuple[PhysicalPlan, KeyHash] | None:
    """Return a plan of the same rows with all rows of equal `keys` in one bucket, and the function of the buckets.

    `physical` is planned to bring such rows together. Return None if it moves rows for that.
    """
    # An exchange of rows that are already in buckets by an equal column is not needed.
    plan = physical.child if isinstance(physical, Exchange) else physical
    moves = (node for node in plan.walk() if isinstance(node, Exchange))
    if any(not isinstance(move.partitioning, BroadcastPartitioning) for move in moves):
        return None
    below = plan
    while isinstance(below, Project) and not isinstance(below.distribution, Hashed):
        below = below.child
    distribution, scan = below.distribution, bucketed_scan(below)
    if not isinstance(distribution, Hashed) or scan is None or plan.output != physical.output:
        return None
    equal = _equal_columns(plan)
    names = [equal.get(key.column_id, frozenset((key.column_id,))) for key in keys]
    places = [next((place for place, ids in enumerate(names) if one in ids), None) for one in distribution.keys]
    if None in places or scan.buckets is None:
        return None
    types = tuple(key.dtype for key in scan.buckets.keys)
    known = tuple(place for place in places if place is not None)
    return plan, KeyHash(types, known if len(keys) > 1 else None, distribution.num_buckets)


def _equal_columns(plan: PhysicalPlan) -> dict[int, frozenset[int]]:
    """Return the columns that inner joins have made equal to a column, by its id."""
    equal: dict[int, frozenset[int]] = {}
    for node in plan.walk():
        if isinstance(node, HashJoin) and node.kind is JoinKind.INNER:
            for left, right in zip(node.left_keys, node.right_keys, strict=True):
                if isinstance(left, ColumnRef) and isinstance(right, ColumnRef):
                    ids = [left.column_id, right.column_id]
                    united = frozenset(ids).union(*(equal.get(one, frozenset()) for one in ids))
                    equal.update(dict.fromkeys(united, united))
    return equal
