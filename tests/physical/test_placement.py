"""Placement of plans, and of their stages by what has run."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from sharkpy.optimizer.decisions import Place
from sharkpy.physical.placement import PlacedPlan, place_fragment
from sharkpy.physical.plan import ExchangeStatistics
from sharkpy.physical.planner import plan_physical
from sharkpy.physical.split_stages import next_exchange, read_of, replace_exchange
from sharkpy.plan.expr import AggregateCall, Alias, SortKey
from sharkpy.plan.logical import Aggregate, Limit, LogicalPlan, Sort
from sharkpy.values.types import BIGINT

from .simulate import World, ids

OBSERVED = ExchangeStatistics(3, (24,))


def world(**conf: object) -> World:
    w = World({"t": pa.table({"k": range(100)})})
    for key, value in {"shark.task.single.max.rows": 0, **conf}.items():
        w.conf.set(key, str(value))
    return w


def first_rows(w: World) -> LogicalPlan:
    scan, c = w.scan("t")
    return Limit(Sort(scan, (SortKey(c["k"], True, True),), True), 3)


def planned(w: World, plan: Callable[[World], LogicalPlan] = first_rows, placement: str | None = None) -> PlacedPlan:
    return plan_physical(plan(w), w.context(placement))


def after_exchanges(plan: PlacedPlan) -> PlacedPlan:
    """Fragment of the last stage, in the place of the plan."""
    root = plan.root
    while (exchange := next_exchange(root)) is not None:
        root = replace_exchange(root, exchange.exchange_id, read_of(exchange, OBSERVED))
    return plan.with_root(root)


def test_a_plan_is_placed_by_the_bytes_it_scans() -> None:
    small, large = planned(world()), planned(world(**{"shark.placement.driver.max.bytes": 10}))
    assert (small.placement.place, large.placement.place) == (Place.DRIVER, Place.RDD)
    assert dict(large.placement.figures) == {"bytes scanned": 100, "limit": 10}
    assert (small.place_label, large.place_label) == ("one stage in the driver", "2 stages of RDD tasks")


def test_a_plan_for_one_task_needs_no_tasks_elsewhere() -> None:
    w = world(**{"shark.placement.driver.max.bytes": 10, "shark.task.single.max.rows": 1000})
    w.pieces = 1
    plan = planned(w)
    assert next_exchange(plan.root) is None
    assert (plan.placement.place, plan.placement.reason) == (Place.DRIVER, "one task reads all")
    assert planned(w, placement="rdd").placement.place is Place.RDD


def test_what_the_driver_holds_it_reads() -> None:
    plan = after_exchanges(planned(world(**{"shark.placement.driver.max.bytes": 10})))
    held = place_fragment(plan.root, plan.placement, lambda _: True)
    assert (held.place, dict(held.figures)) == (Place.DRIVER, {"rows held": 3, "bytes held": 24})
    assert place_fragment(plan.root, plan.placement, lambda _: False) is plan.placement


@pytest.mark.parametrize(("conf", "placement"), [({"shark.placement.driver": "false"}, None), ({}, "rdd")])
def test_a_fixed_placement_is_not_revised(conf: dict[str, object], placement: str | None) -> None:
    plan = after_exchanges(planned(world(**conf), placement=placement))
    assert plan.placement.place is Place.RDD
    assert place_fragment(plan.root, plan.placement, lambda _: True) is plan.placement


def test_several_tasks_are_not_for_the_driver() -> None:
    def grouped(w: World) -> LogicalPlan:
        scan, c = w.scan("t")
        return Aggregate(scan, (c["k"],), (Alias(AggregateCall("count", (), BIGINT), next(ids), "n"),))

    plan = after_exchanges(planned(world(**{"shark.placement.driver.max.bytes": 10}), grouped))
    assert place_fragment(plan.root, plan.placement, lambda _: True) is plan.placement
