"""Run-time rules: their context, and the joins that they may change.

A rule may move a join's rows only if no operator, up to the next Exchange, relies on their distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from sharkpy.base.records import dataclass
from sharkpy.base.settings import Conf
from sharkpy.optimizer.decisions import Decision
from sharkpy.physical.aggregate_calls import aggregate_call, is_distinct
from sharkpy.physical.operators import (
    AggregateMode,
    Exchange,
    Expand,
    Filter,
    Generate,
    GroupingSets,
    HashAggregate,
    HashJoin,
    NestedLoopJoin,
    Project,
    UnionAll,
)
from sharkpy.physical.plan import Broadcast, PhysicalPlan


@dataclass(slots=True)
class ReplanContext:
    """Context of run-time rules; `is_free` if nothing relies on which task has the plan's rows."""

    settings: Conf
    is_free: bool = True
    decisions: list[Decision] = field(default_factory=list)

    def decide(self, rule: str, text: str, **figures: int) -> None:
        named = tuple((name.replace("_", " "), value) for name, value in figures.items())
        self.decisions.append(Decision(rule, text, named))


ReplanRule = Callable[[PhysicalPlan, ReplanContext], PhysicalPlan]
"""Rule; it returns the same object if it changes nothing."""


def map_free_joins(plan: PhysicalPlan, change: Callable[[HashJoin], PhysicalPlan], is_free: bool) -> PhysicalPlan:
    """Apply `change` to each such join, top down, as a change may free joins below.

    `is_free` if nothing relies on the distribution of the rows of `plan`.
    """
    if is_free and isinstance(plan, HashJoin):
        plan = change(plan)
    below = isinstance(plan, Exchange) or (is_free and accepts_any_distribution(plan))
    return plan.map_children(lambda child: map_free_joins(child, change, below))


def accepts_any_distribution(plan: PhysicalPlan) -> bool:
    """Whether an operator gives the same rows in total for any distribution of its input."""
    match plan:
        case Project() | Filter() | Generate() | Expand() | UnionAll():
            return True
        case GroupingSets(mode=AggregateMode.MERGE):
            return True
        case HashAggregate(mode=AggregateMode.PARTIAL):
            # States of DISTINCT aggregates merge only if equal rows have met.
            return not any(is_distinct(aggregate_call(item)) for item in plan.aggregates)
        case HashJoin(left=left, right=right) | NestedLoopJoin(left=left, right=right):
            return isinstance(left.distribution, Broadcast) or isinstance(right.distribution, Broadcast)
    return False
