"""Build sides that each task computes itself from blocks in shared memory, if that is cheaper than a stage."""

from __future__ import annotations

import dataclasses

from sharkpy.optimizer.function_traits import is_deterministic_function
from sharkpy.physical.distribution import Broadcast
from sharkpy.physical.operators import BlockScan, Filter, HashAggregate, HashJoin, NestedLoopJoin, Project
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.expr import Call

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
    calls = (part for expr in node.expressions for part in expr.walk() if isinstance(part, Call))
    return all(is_deterministic_function(call.function) for call in calls)
