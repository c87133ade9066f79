"""Changes to the rest of a plan after a map stage was measured, by rules in a fixed order."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from sharkpy.base import settings
from sharkpy.optimizer.decisions import Decision
from sharkpy.physical.operators import ExchangeRead
from sharkpy.physical.plan import ExchangeStatistics, PhysicalPlan
from sharkpy.physical.replan.replan_rule import ReplanContext, ReplanRule
from sharkpy.physical.replan.spread_heavy_keys import spread_heavy_keys
from sharkpy.physical.replan.use_single_tasks import use_single_tasks
from sharkpy.physical.replan.use_small_sides import broadcast_small_sides, reduce_measured_sides

__all__ = ["RULES", "Decision", "replan"]

RULES: tuple[ReplanRule, ...] = (
    # First: a broadcast saves the other side's map stage, and all rules below for it.
    broadcast_small_sides,
    # For sides that cannot be broadcast, which the first rule left shuffled.
    reduce_measured_sides,
    # Before a side runs: spreading pays only for sides that are still shuffled.
    spread_heavy_keys,
    # Last: a fragment read by one task needs no balance, so this undoes the rule before.
    use_single_tasks,
)


def replan(
    plan: PhysicalPlan,
    observed: Mapping[int, ExchangeStatistics],
    values: settings.Conf,
    *,
    is_free: bool = True,
) -> tuple[PhysicalPlan, tuple[Decision, ...]]:
    """Replan for the statistics `observed`, by exchange id. Return the same object if nothing changes.

    `is_free` is False if the reader of the plan's rows relies on which task has them.
    """
    context = ReplanContext(values, is_free)
    plan = _with_observed(plan, observed)
    for rule in RULES:
        plan = rule(plan, context)
    return plan, tuple(context.decisions)


def _with_observed(plan: PhysicalPlan, observed: Mapping[int, ExchangeStatistics]) -> PhysicalPlan:
    def fill(node: PhysicalPlan) -> PhysicalPlan:
        if isinstance(node, ExchangeRead) and node.observed is None and node.exchange_id in observed:
            return dataclasses.replace(node, observed=observed[node.exchange_id])
        return node

    return plan.transform_up(fill)
