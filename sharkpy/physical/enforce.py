"""Adding an Exchange above a plan if its distribution is not the required one."""

from __future__ import annotations

from sharkpy.physical.distribution import (
    Broadcast,
    BroadcastPartitioning,
    Hashed,
    HashPartitioning,
    Partitioning,
    RangePartitioning,
    Single,
    SinglePartitioning,
)
from sharkpy.physical.estimate import estimated_bytes
from sharkpy.physical.fresh_ids import FreshIds
from sharkpy.physical.operators import Exchange, Project
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.replicate import replicated
from sharkpy.plan.expr import Alias, ColumnRef, Expr, SortKey


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
