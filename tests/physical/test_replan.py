"""What is decided after a map stage has been measured."""

from __future__ import annotations

import pyarrow as pa

from sharkpy.conf import Conf
from sharkpy.expr import AggregateCall, Alias, Call, ColumnRef
from sharkpy.logical import Aggregate, Join, JoinKind
from sharkpy.physical.distribution import BroadcastPartitioning, ExchangeStatistics
from sharkpy.physical.operators import Exchange, ExchangeRead
from sharkpy.physical.planner import plan_physical
from sharkpy.physical.stages import next_exchange, read_of, replace_exchange, replan
from sharkpy.types import BIGINT, BOOLEAN
from tests.physical.simulate import World, ids

SMALL = pa.table({"k": pa.array(range(10), pa.int64())})
LARGE = pa.table({"k": pa.array(range(1000), pa.int64()), "v": pa.array(range(1000), pa.int64())})


def shuffled(kind: JoinKind = JoinKind.INNER, group: str = "v") -> tuple[World, object, dict[str, ColumnRef]]:
    """A join planned as shuffled, under an aggregate, and a world in which broadcasts are allowed."""
    w = World({"small": SMALL, "large": LARGE}, conf=Conf({"shark.test.join": "shuffle"}))
    left, lc = w.scan("large")
    right, rc = w.scan("small")
    join = Join(left, right, kind, Call("eq", (lc["k"], rc["k"]), BOOLEAN))
    count = Alias(AggregateCall("count", (), BIGINT), next(ids), "n")
    plan = plan_physical(Aggregate(join, (lc[group],), (count,)), w.context("rdd"))
    w.conf.reset()
    return w, plan, lc


def after_first(w: World, plan, size: int):
    exchange = next_exchange(plan)
    observed = ExchangeStatistics(10, (size // 2, size - size // 2))
    plan = replace_exchange(plan, exchange.exchange_id, read_of(exchange, observed))
    return exchange, *replan(plan, {exchange.exchange_id: observed}, w.conf)


def test_the_smaller_side_is_run_first():
    _, plan, _ = shuffled()
    assert "default.small" in next_exchange(plan).explain()


def test_a_small_side_is_broadcast_and_the_other_not_moved():
    w, plan, _ = shuffled()
    before = sum(isinstance(node, Exchange) for node in plan.walk())
    _, plan, decisions = after_first(w, plan, 1000)
    reads = [node for node in plan.walk() if isinstance(node, ExchangeRead)]
    assert reads[0].partitioning == BroadcastPartitioning()
    assert sum(isinstance(node, Exchange) for node in plan.walk()) == before - 2
    assert decisions[0].rule == "broadcast_small_side"
    assert dict(decisions[0].figures)["bytes"] == 1000


def test_a_large_side_stays_shuffled():
    w, plan, _ = shuffled()
    _, plan, decisions = after_first(w, plan, 1 << 30)
    assert decisions == ()
    assert not any(isinstance(n, ExchangeRead) and n.partitioning == BroadcastPartitioning() for n in plan.walk())


def test_a_side_whose_rows_must_all_appear_is_not_broadcast():
    w, plan, _ = shuffled(JoinKind.FULL)
    _, plan, decisions = after_first(w, plan, 1000)
    assert not any(decision.rule == "broadcast_small_side" for decision in decisions)


def test_the_choice_is_not_changed_where_an_aggregate_relies_on_it():
    """Grouping by the join's key needs no exchange of its own: then the join's exchanges stay."""
    w, plan, _ = shuffled(group="k")
    assert sum(isinstance(node, Exchange) for node in plan.walk()) == 2
    _, plan, decisions = after_first(w, plan, 1000)
    assert decisions == ()


def test_what_is_tiny_is_read_by_one_task():
    w = World({"large": LARGE})
    scan, c = w.scan("large")
    count = Alias(AggregateCall("count", (), BIGINT), next(ids), "n")
    plan = plan_physical(Aggregate(scan, (c["k"],), (count,)), w.context("rdd"))
    _, plan, decisions = after_first(w, plan, 1000)
    assert str(plan.distribution) == "single"
    assert decisions[0].rule == "single_task"
