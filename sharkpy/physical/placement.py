"""Placement of a plan and of its stages: chosen before the plan runs, and revised per stage from measurements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sharkpy.base import settings
from sharkpy.base.records import dataclass
from sharkpy.optimizer.decisions import Place, Placement, place_stage
from sharkpy.physical.operators import Exchange, ExchangeRead
from sharkpy.physical.plan import PhysicalPlan, Single
from sharkpy.physical.plan_context import PlanContext
from sharkpy.plan.logical import Given, LogicalPlan


@dataclass(frozen=True, slots=True)
class PlacedPlan:
    """Physical plan of a query with its placement. In the driver it is one stage, without Exchanges."""

    root: PhysicalPlan
    placement: Placement

    @property
    def place_label(self) -> str:
        """EXPLAIN's text of where the plan runs."""
        if self.placement.is_driver:
            return "one stage in the driver"
        exchanges = sum(isinstance(node, Exchange) for node in self.root.walk())
        return f"{exchanges + 1} {'stages' if exchanges else 'stage'} of RDD tasks"

    def with_root(self, root: PhysicalPlan) -> PlacedPlan:
        return replace(self, root=root)


def place_query(plan: LogicalPlan, scanned_bytes: int, context: PlanContext) -> Placement:
    """Return the placement of a query over scans of `scanned_bytes`, before its operators are chosen."""
    conf = context.conf
    limit, is_allowed = conf.value(settings.DRIVER_PLACEMENT_BYTES), conf.value(settings.DRIVER_PLACEMENT)
    by_size = place_stage(scanned_bytes, context.is_local, limit, is_allowed)
    given = [node.rows for node in plan.walk() if isinstance(node, Given)]
    if any(rows.is_here for rows in given):
        return Placement(Place.DRIVER, "rows of a Python program are in this process", by_size.figures)
    if context.placement is not None:
        return Placement(context.placement, "its caller asks for it", by_size.figures, is_fixed=True)
    if given:
        reason = "rows of a Python program are in the tasks of an RDD"
        return Placement(Place.RDD, reason, by_size.figures, by_size.is_fixed)
    return by_size


def placed(root: PhysicalPlan, decided: Placement) -> PlacedPlan:
    """Return the plan with the placement decided for it. A plan of a single stage gets its stage's placement."""
    if any(isinstance(node, Exchange) for node in root.walk()):
        if decided.is_driver:
            decided = replace(decided, place=Place.RDD, reason="rows have to be moved between tasks")
        return PlacedPlan(root, decided)
    return PlacedPlan(root, place_fragment(root, decided, lambda _: False))


def place_fragment(fragment: PhysicalPlan, decided: Placement, is_held: Callable[[int], bool]) -> Placement:
    """Return a stage's placement: as `decided` for its plan, or in the driver for one task's work.

    `is_held` says whether the driver holds an exchange's rows; rows in Spark's shuffle are read by tasks.
    """
    if decided.is_driver or decided.is_fixed or not isinstance(fragment.distribution, Single):
        return decided
    reads = {node.exchange_id: node for node in fragment.walk() if isinstance(node, ExchangeRead)}
    if not all(map(is_held, reads)):
        return decided
    observed = [read.observed for read in reads.values() if read.observed is not None]
    if not observed:
        return Placement(Place.DRIVER, "one task reads all", decided.figures)
    rows, size = sum(one.rows for one in observed), sum(one.size_bytes for one in observed)
    figures = (("rows held", rows), ("bytes held", size))
    return Placement(Place.DRIVER, "one task reads rows that the driver holds", figures)
