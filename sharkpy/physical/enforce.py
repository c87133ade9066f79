"""Distributions that operators require: an Exchange is added above a plan that does not have the required one.

A small build side needs no exchange if each task can compute it from blocks in shared memory.
"""

from __future__ import annotations

import dataclasses

from sharkpy.optimizer.function_traits import is_deterministic_function
from sharkpy.physical.estimate import estimated_bytes
from sharkpy.physical.operators import BlockScan, Exchange, Filter, HashAggregate, HashJoin, NestedLoopJoin, Project
from sharkpy.physical.plan import (
    Broadcast,
    BroadcastPartitioning,
    Hashed,
    HashPartitioning,
    Partitioning,
    PhysicalPlan,
    RangePartitioning,
    Single,
    SinglePartitioning,
)
from sharkpy.physical.plan_context import FreshIds
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, SortKey


def single(plan: PhysicalPlan, ids: FreshIds) -> PhysicalPlan:
    return plan if isinstance(plan.distribution, Single) else _exchange(plan, SinglePartitioning(), ids)


def broadcast(plan: PhysicalPlan, ids: FreshIds, replicated_rows: int = 0) -> PhysicalPlan:
    """Put all rows of `plan` in each task, by each task's own scan if there are up to `replicated_rows`."""
    if isinstance(plan.distribution, Broadcast):
        return plan
    return replicated(plan, replicated_rows) or _exchange(plan, BroadcastPartitioning(), ids)


def hashed(plan: PhysicalPlan, keys: tuple[ColumnRef, ...], num_buckets: int, ids: FreshIds) -> PhysicalPlan:
    """Distribute rows by the hash of exactly `keys`, in this order, so that two sides of a join meet."""
    partitioning = HashPartitioning(keys, num_buckets)
    return plan if plan.distribution == partitioning.distribution else _exchange(plan, partitioning, ids)


def range_partitioned(plan: PhysicalPlan, keys: tuple[SortKey, ...], num_buckets: int, ids: FreshIds) -> PhysicalPlan:
    return _exchange(plan, RangePartitioning(keys, num_buckets), ids)


def is_clustered(plan: PhysicalPlan, keys: tuple[ColumnRef, ...]) -> bool:
    """Whether rows equal in `keys` are already in one task."""
    match plan.distribution:
        case Single():
            return True
        case Hashed(hash_keys):
            return frozenset(hash_keys) <= {key.column_id for key in keys}
    return False


def with_columns(
    plan: PhysicalPlan, exprs: tuple[Expr, ...], ids: FreshIds
) -> tuple[PhysicalPlan, tuple[ColumnRef, ...]]:
    """Return `plan` with `exprs` among its columns, and these columns; the same plan if it has them all."""
    added: list[Alias] = []
    refs: list[ColumnRef] = []
    for expr in exprs:
        if isinstance(expr, ColumnRef):
            refs.append(expr)
            continue
        known = next((alias for alias in added if alias.expr == expr), None)
        if known is None:
            known = ids.alias(expr, "key")
            added.append(known)
        refs.append(known.ref)
    return (Project(plan, plan.output + tuple(added)) if added else plan), tuple(refs)


def _exchange(plan: PhysicalPlan, partitioning: Partitioning, ids: FreshIds) -> Exchange:
    return Exchange(ids.exchange(), plan, partitioning, estimated_bytes(plan))


# Build sides that each task computes itself


_REPEATABLE = (BlockScan, Project, Filter, HashJoin, NestedLoopJoin, HashAggregate)


def replicated(plan: PhysicalPlan, max_rows: int) -> PhysicalPlan | None:
    """Return `plan` with all its rows in each task and no exchange.

    Return None if that is expensive, or tasks could differ.
    """
    scans = [node for node in plan.walk() if isinstance(node, BlockScan) and not node.is_replicated]
    if not scans or sum(scan.blocks.num_rows for scan in scans) > max_rows or not all(map(_is_repeatable, plan.walk())):
        return None

    def replicate(node: PhysicalPlan) -> PhysicalPlan:
        return dataclasses.replace(node, is_single=False, is_replicated=True) if isinstance(node, BlockScan) else node

    everywhere: PhysicalPlan = plan.transform_up(replicate)
    return everywhere if isinstance(everywhere.distribution, Broadcast) else None


def _is_repeatable(node: PhysicalPlan) -> bool:
    if isinstance(node, BlockScan):
        if not (node.is_single or node.is_replicated):
            return False
    elif not isinstance(node, _REPEATABLE):
        return False
    calls = (part for expr in node.computations for part in expr.walk() if isinstance(part, Call))
    return all(is_deterministic_function(call.function) for call in calls)
