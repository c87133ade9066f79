"""Decisions after a map stage has been measured."""

from __future__ import annotations

import dataclasses

import pyarrow as pa
import pytest

from sharkpy.base.settings import Conf
from sharkpy.physical.operators import Exchange, ExchangeRead, HashJoin
from sharkpy.physical.plan import BroadcastPartitioning, ExchangeStatistics, SpreadKey
from sharkpy.physical.planner import plan_physical
from sharkpy.physical.replan import replan
from sharkpy.physical.split_stages import next_exchange, read_of, replace_exchange
from sharkpy.plan.expr import AggregateCall, Alias, Call, ColumnRef
from sharkpy.plan.logical import Aggregate, Join, JoinKind
from sharkpy.values.types import BIGINT, BOOLEAN
from tests.physical.simulate import World, ids

SMALL = pa.table({"k": pa.array(range(10), pa.int64())})
LARGE = pa.table({"k": pa.array(range(1000), pa.int64()), "v": pa.array(range(1000), pa.int64())})


def shuffled(kind: JoinKind = JoinKind.INNER, group: str = "v") -> tuple[World, object, dict[str, ColumnRef]]:
    """Join planned as shuffled, under an aggregate, and a world in which broadcasts are allowed."""
    w = World({"small": SMALL, "large": LARGE}, conf=Conf({"shark.test.join": "shuffle"}))
    left, lc = w.scan("large")
    right, rc = w.scan("small")
    join = Join(left, right, kind, Call("eq", (lc["k"], rc["k"]), BOOLEAN))
    count = Alias(AggregateCall("count", (), BIGINT), next(ids), "n")
    plan = plan_physical(Aggregate(join, (lc[group],), (count,)), w.context("rdd")).root
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
    plan = plan_physical(Aggregate(scan, (c["k"],), (count,)), w.context("rdd")).root
    _, plan, decisions = after_first(w, plan, 1000)
    assert str(plan.distribution) == "single"
    assert decisions[0].rule == "single_task"


def estimated(plan, size: int):
    """Plan with exchanges estimated to move `size` bytes."""
    return plan.transform_up(
        lambda node: dataclasses.replace(node, estimated_bytes=size) if isinstance(node, Exchange) else node
    )


def spreads(plan) -> list[str]:
    """Sides of the one join that may spread heavy keys."""
    (join,) = (node for node in plan.walk() if isinstance(node, HashJoin))
    sides = {"left": join.left, "right": join.right}
    return [name for name, side in sides.items() if side.partitioning.spread]


@pytest.mark.parametrize(
    ("kind", "sides"),
    [
        (JoinKind.INNER, ["left", "right"]),
        (JoinKind.LEFT, ["left"]),
        (JoinKind.RIGHT, ["right"]),
        (JoinKind.SEMI, ["left"]),
        (JoinKind.ANTI, ["left"]),
        (JoinKind.FULL, []),
    ],
)
def test_a_side_may_spread_where_the_other_may_be_read_twice(kind, sides):
    w, plan, _ = shuffled(kind)
    large, _ = replan(estimated(plan, 1 << 30), {}, w.conf)
    assert spreads(large) == sides
    small, decisions = replan(estimated(plan, 1 << 20), {}, w.conf)
    assert (spreads(small), decisions) == ([], ())
    w.conf.set("shark.skew", "false")
    assert spreads(replan(estimated(plan, 1 << 30), {}, w.conf)[0]) == []


def test_nothing_spreads_where_an_aggregate_relies_on_the_buckets():
    w, plan, _ = shuffled(group="k")
    assert spreads(replan(estimated(plan, 1 << 30), {}, w.conf)[0]) == []
    free, _ = replan(plan, {}, w.conf, is_free=False)
    assert free == plan


def test_spread_keys_are_dealt_to_further_tasks_that_read_what_they_meet():
    w, plan, _ = shuffled()
    w.conf.set("shark.task.single.max.bytes", "0")
    plan, _ = replan(estimated(plan, 1 << 30), {}, w.conf)
    count = next_exchange(plan).partitioning.num_buckets
    keys = {0: SpreadKey(5, 2), 1: SpreadKey(6, 1)}
    for number in range(2):
        exchange = next_exchange(plan)
        kept = exchange.partitioning.spread.kept
        assert kept == (frozenset() if number == 0 else {5})
        sizes = (100 << 20,) * (2 * count)
        observed = ExchangeStatistics(1000, sizes, (10,) * (2 * count), spread_keys=(keys[number],))
        plan = replace_exchange(plan, exchange.exchange_id, read_of(exchange, observed))
        plan, decisions = replan(plan, {exchange.exchange_id: observed}, w.conf)
    assert [decision.rule for decision in decisions] == ["spread_heavy_keys"] * 2
    assert dict(decisions[0].figures)["keys"] == 1
    reads = {node.exchange_id: node for node in plan.walk() if isinstance(node, ExchangeRead)}
    assert {read.num_tasks for read in reads.values()} == {count + 3}
    (join,) = (node for node in plan.walk() if isinstance(node, HashJoin))
    left, right = join.left.dealt, join.right.dealt
    assert not set(left.again) & set(right.again)
    assert set(left.again) | set(right.again) == {count, count + 1, count + 2}
    for task, (ours, theirs) in enumerate(zip(left.buckets, right.buckets, strict=True)):
        assert len(ours) == len(theirs) == 1
        if task < count:
            assert ours == theirs == (task,)
        else:
            own, met = (theirs, ours) if task in left.again else (ours, theirs)
            assert own[0] >= count
            assert met[0] in {5 % count, 6 % count}
