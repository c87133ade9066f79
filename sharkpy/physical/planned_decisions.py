"""Decisions of the planner with their figures, for display: placement, buckets, join distributions."""

from __future__ import annotations

from collections.abc import Iterator

from sharkpy.base import settings
from sharkpy.base.settings import Conf
from sharkpy.optimizer.replan.decision import Decision
from sharkpy.physical.distribution import Broadcast, HashPartitioning, RangePartitioning
from sharkpy.physical.operators import BlockScan, Exchange, FileScan, HashJoin, NestedLoopJoin
from sharkpy.physical.placement import PlacedPlan
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.plan_scan import scanned_bytes


def planned_decisions(plan: PlacedPlan, values: Conf, parallelism: int) -> list[Decision]:
    """Return the decisions made before the plan runs."""
    nodes = list(plan.root.walk())
    size = sum(scanned_bytes(node) for node in nodes if isinstance(node, (BlockScan, FileScan)))
    exchanges = [node for node in nodes if isinstance(node, Exchange)]
    text = f"the query runs as {plan.place_label}: {plan.placement.reason}"
    placed = Decision("placement", text, plan.placement.figures, True)
    return [placed, *_buckets(exchanges, size, parallelism), *_joins(nodes, values)]


def _buckets(exchanges: list[Exchange], size: int, parallelism: int) -> Iterator[Decision]:
    several = [one for one in exchanges if isinstance(one.partitioning, (HashPartitioning, RangePartitioning))]
    for count in sorted({one.partitioning.num_buckets for one in several}):
        names = ", ".join(str(one.exchange_id) for one in several if one.partitioning.num_buckets == count)
        figures = (("bytes scanned", size), ("cores", parallelism))
        yield Decision("choose_buckets", f"exchange {names} has {count} buckets", figures, True)


def _joins(nodes: list[PhysicalPlan], values: Conf) -> Iterator[Decision]:
    limit = values.value(settings.BROADCAST_BYTES)
    for node in nodes:
        if not isinstance(node, (HashJoin, NestedLoopJoin)):
            continue
        sides = {"left": node.left, "right": node.right}
        whole = [name for name, side in sides.items() if isinstance(side.distribution, Broadcast)]
        moved = [side for side in sides.values() if isinstance(side, Exchange)]
        if not whole and not moved:
            continue
        how = f"reads its {whole[0]} side whole in every task" if whole else "moves its sides by hash"
        known = (
            (f"{name} bytes estimated", side.estimated_bytes)
            for name, side in sides.items()
            if isinstance(side, Exchange) and side.estimated_bytes is not None
        )
        yield Decision("plan_join", f"{node.label}: {how}", (*known, ("limit", limit)), True)
