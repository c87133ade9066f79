"""Planning of aggregates: one step if groups are together, else partial states, an exchange, and their merge.

DISTINCT aggregates of many rows take two levels of these. Aggregates without states take one step, after an exchange of
all rows.
"""

from __future__ import annotations

from sharkpy.physical import enforce
from sharkpy.physical.aggregates import aggregate_call, has_states, new_states
from sharkpy.physical.context import PlanContext
from sharkpy.physical.fresh_ids import FreshIds
from sharkpy.physical.operators import AggregateMode, HashAggregate
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.plan_distinct import choose_levels, plan_distinct
from sharkpy.plan.expr import Alias
from sharkpy.plan.logical import Aggregate


def plan_aggregate(
    node: Aggregate, child: PhysicalPlan, num_buckets: int, context: PlanContext, ids: FreshIds
) -> PhysicalPlan:
    if enforce.is_clustered(child, tuple(group for group in node.groups if not isinstance(group, Alias))):
        return HashAggregate(child, node.groups, node.aggregates, AggregateMode.COMPLETE)
    if all(has_states(aggregate_call(item)) for item in node.aggregates):
        return _two_steps(node, child, num_buckets, ids)
    if (levels := choose_levels(node, context)) is not None:
        return plan_distinct(node, child, levels, num_buckets, ids)
    return _one_step(node, child, num_buckets, ids)


def _two_steps(node: Aggregate, child: PhysicalPlan, num_buckets: int, ids: FreshIds) -> PhysicalPlan:
    states = tuple(new_states(item, ids) for item in node.aggregates)
    partial = HashAggregate(child, node.groups, node.aggregates, AggregateMode.PARTIAL, states)
    groups = partial.group_columns
    moved = enforce.hashed(partial, groups, num_buckets, ids) if groups else enforce.single(partial, ids)
    return HashAggregate(moved, groups, node.aggregates, AggregateMode.FINAL, states)


def _one_step(node: Aggregate, child: PhysicalPlan, num_buckets: int, ids: FreshIds) -> PhysicalPlan:
    if not node.groups:
        return HashAggregate(enforce.single(child, ids), (), node.aggregates, AggregateMode.COMPLETE)
    exprs = tuple(group.expr if isinstance(group, Alias) else group for group in node.groups)
    keyed, keys = enforce.with_columns(child, exprs, ids)
    groups = tuple(
        Alias(key, group.column_id, group.name) if isinstance(group, Alias) else group
        for key, group in zip(keys, node.groups, strict=True)
    )
    moved = enforce.hashed(keyed, keys, num_buckets, ids)
    return HashAggregate(moved, groups, node.aggregates, AggregateMode.COMPLETE)
