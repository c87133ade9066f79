"""Rule: tiny exchanges are read by one task, and exchanges that become superfluous are removed."""

from __future__ import annotations

import dataclasses

from sharkpy.base import settings
from sharkpy.physical.operators import BlockScan, Exchange, ExchangeRead, FileScan
from sharkpy.physical.plan import HashPartitioning, PhysicalPlan, RangePartitioning, Single, SinglePartitioning
from sharkpy.physical.replan.replan_rule import ReplanContext


def use_single_tasks(plan: PhysicalPlan, context: ReplanContext) -> PhysicalPlan:
    limit = context.settings.value(settings.SINGLE_TASK_BYTES)
    if not limit:
        return plan

    def visit(node: PhysicalPlan) -> PhysicalPlan:
        if isinstance(node, Exchange):
            child = _single_fragment(node.child, limit, context)
            if isinstance(child.distribution, Single) and isinstance(
                node.partitioning, (SinglePartitioning, RangePartitioning)
            ):
                return child
            return node if child is node.child else dataclasses.replace(node, child=child)
        return node

    return _single_fragment(plan.transform_up(visit), limit, context)


def _single_fragment(fragment: PhysicalPlan, limit: int, context: ReplanContext) -> PhysicalPlan:
    leaves = list(_fragment_leaves(fragment))
    reads = [leaf for leaf in leaves if isinstance(leaf, ExchangeRead) and leaf.observed is not None]
    several = [read for read in reads if isinstance(read.partitioning, (HashPartitioning, RangePartitioning))]
    if not several or any(_is_dealt(leaf) or isinstance(leaf, Exchange) for leaf in leaves):
        return fragment
    size = sum(read.observed.size_bytes for read in several if read.observed)
    if size > limit or len(reads) != sum(isinstance(leaf, ExchangeRead) for leaf in leaves):
        return fragment
    ids = {read.exchange_id for read in several}

    def to_single(node: PhysicalPlan) -> PhysicalPlan:
        if isinstance(node, ExchangeRead) and node.exchange_id in ids:
            return dataclasses.replace(node, partitioning=SinglePartitioning(), dealt=None)
        return node

    names = ", ".join(map(str, sorted(ids)))
    context.decide("single_task", f"exchange {names} is read by one task", bytes=size, limit=limit)
    return fragment.transform_up(to_single)


def _is_dealt(leaf: PhysicalPlan) -> bool:
    """Whether several tasks read the leaf's rows."""
    return isinstance(leaf, FileScan) or (isinstance(leaf, BlockScan) and not leaf.is_replicated)


def _fragment_leaves(plan: PhysicalPlan) -> list[PhysicalPlan]:
    if isinstance(plan, Exchange) or not plan.children:
        return [plan]
    return [leaf for child in plan.children for leaf in _fragment_leaves(child)]
