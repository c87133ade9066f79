"""Joins whose rows' distribution no operator relies on, up to the next Exchange."""

from __future__ import annotations

from collections.abc import Callable

from sharkpy.physical.aggregates import aggregate_call, is_distinct
from sharkpy.physical.distribution import Broadcast
from sharkpy.physical.operators import (
    AggregateMode,
    Exchange,
    Expand,
    Filter,
    Generate,
    HashAggregate,
    HashJoin,
    NestedLoopJoin,
    Project,
    UnionAll,
)
from sharkpy.physical.plan import PhysicalPlan


def map_free_joins(plan: PhysicalPlan, change: Callable[[HashJoin], PhysicalPlan], is_free: bool) -> PhysicalPlan:
    """Apply `change` to each such join, top down, as a change may free joins below.

    `is_free` if nothing relies on the distribution of the rows of `plan`.
    """
    if is_free and isinstance(plan, HashJoin):
        plan = change(plan)
    below = isinstance(plan, Exchange) or (is_free and leaves_rows_anywhere(plan))
    return plan.map_children(lambda child: map_free_joins(child, change, below))


def leaves_rows_anywhere(plan: PhysicalPlan) -> bool:
    """Whether an operator gives the same rows in total for any distribution of its input."""
    match plan:
        case Project() | Filter() | Generate() | Expand() | UnionAll():
            return True
        case HashAggregate(mode=AggregateMode.PARTIAL):
            # States of DISTINCT aggregates merge only if equal rows have met.
            return not any(is_distinct(aggregate_call(item)) for item in plan.aggregates)
        case HashJoin(left=left, right=right) | NestedLoopJoin(left=left, right=right):
            return isinstance(left.distribution, Broadcast) or isinstance(right.distribution, Broadcast)
    return False
