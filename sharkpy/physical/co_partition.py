"""Co-partitioned tables: joins, groups and windows over scans by bucket, which move no rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from sharkpy.optimizer.decisions import Decision
from sharkpy.physical.estimate import estimated_bytes
from sharkpy.physical.operators import (
    AggregateMode,
    BlockScan,
    Exchange,
    HashAggregate,
    HashJoin,
    LimitOperator,
    TopN,
    WindowOperator,
)
from sharkpy.physical.operators.scans import bucketed_scan, co_partitioned
from sharkpy.physical.plan import Hashed, PhysicalPlan
from sharkpy.physical.replan.replan_rule import accepts_any_distribution
from sharkpy.plan.expr import ColumnRef, Expr


def is_aligned(left: PhysicalPlan, right: PhysicalPlan, left_keys: Sequence[Expr], right_keys: Sequence[Expr]) -> bool:
    """Whether rows with equal keys are in buckets of the same number on both sides, by their tables' buckets."""
    mine, other = left.distribution, right.distribution
    if not isinstance(mine, Hashed) or not isinstance(other, Hashed) or mine.num_buckets != other.num_buckets:
        return False
    if bucketed_scan(left) is None or bucketed_scan(right) is None or len(mine.keys) != len(other.keys):
        return False
    pairs = {(_id(one), _id(two)) for one, two in zip(left_keys, right_keys, strict=True)}
    return pairs.issuperset(zip(mine.keys, other.keys, strict=True))


def key_positions(side: PhysicalPlan, keys: Sequence[Expr]) -> tuple[int, ...] | None:
    """Return the positions, among the join's `keys`, of the bucket columns of the side's table.

    Return None if the side is not in buckets of such keys.
    """
    if not isinstance(side.distribution, Hashed) or bucketed_scan(side) is None:
        return None
    ids = list(map(_id, keys))
    wanted = side.distribution.keys
    return tuple(map(ids.index, wanted)) if set(wanted) <= set(ids) else None


def _id(key: Expr) -> int | None:
    return key.column_id if isinstance(key, ColumnRef) else None


def release_buckets(plan: PhysicalPlan, is_free: bool = True) -> PhysicalPlan:
    """Return `plan` with scans divided by size again if nothing relies on their buckets.

    `is_free` if nothing relies on the distribution of the rows of `plan`.
    """
    if isinstance(plan, BlockScan):
        return dataclasses.replace(plan, buckets=None) if is_free and plan.buckets else plan
    below = isinstance(plan, Exchange) or (
        is_free and (accepts_any_distribution(plan) or isinstance(plan, (TopN, LimitOperator)))
    )
    return plan.map_children(lambda child: release_buckets(child, below))


def avoided_exchanges(plan: PhysicalPlan) -> Iterator[Decision]:
    """Yield the exchanges avoided because tables are in buckets, for EXPLAIN ANALYZE."""
    for node in plan.walk():
        for side in _sides(node):
            scan = bucketed_scan(side)
            if scan is not None and scan.buckets is not None:
                text = f"{scan.table_name} is not moved, it is {co_partitioned(scan.buckets)}: {node.label}"
                yield Decision("co_partitioned", text, (("bytes", estimated_bytes(side)),))


def _sides(node: PhysicalPlan) -> tuple[PhysicalPlan, ...]:
    """Return the children of `node` that would otherwise need an exchange."""
    match node:
        case HashJoin(left=left, right=right) if isinstance(left.distribution, Hashed) and isinstance(
            right.distribution, Hashed
        ):
            return (left, right)
        case HashAggregate(child, mode=AggregateMode.COMPLETE) | WindowOperator(child):
            return (child,)
    return ()
