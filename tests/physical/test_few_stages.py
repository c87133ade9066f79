"""Savings of stages: scans of one task, build sides that every task computes, exchanges reduced by a measured side."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from sharkpy.base.settings import Conf
from sharkpy.columnar.store import BlockStore
from sharkpy.physical.lowering.lower_stage import lower_stage
from sharkpy.physical.operators import BlockScan, Exchange, HashJoin
from sharkpy.physical.plan import ExchangeStatistics
from sharkpy.physical.planner import plan_physical
from sharkpy.physical.replan import replan, use_small_sides
from sharkpy.physical.replan.use_small_sides import MIN_BYTES
from sharkpy.physical.split_stages import next_exchange, read_of, replace_exchange, sink_of
from sharkpy.plan.expr import AggregateCall, Alias, Call, Literal, SortKey
from sharkpy.plan.logical import Aggregate, Join, JoinKind, Project, Sort
from sharkpy.values.types import BIGINT, BOOLEAN, DOUBLE
from tests.physical.simulate import World, cached, ids, unordered

FACTS = pa.table({"k": pa.array([i % 7 for i in range(900)], pa.int64()), "v": pa.array(range(900), pa.int64())})
KEYS = pa.table({"key": pa.array([1, 3, 5, 11], pa.int64()), "name": pa.array(["a", "b", "c", "d"])})
WIDE = "18000"
"""Limit with two cores: a task with one core reads a table of 900 rows, larger ones are several tasks."""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    made = BlockStore(1 << 30, str(tmp_path_factory.mktemp("shm")), str(tmp_path_factory.mktemp("local")))
    yield made
    made.close()


def world(store: BlockStore, **conf: str) -> World:
    values = {"shark.task.single.max.rows": "100"} | {key.replace("_", "."): value for key, value in conf.items()}
    versions = {"facts": cached(store, FACTS, 3, ""), "keys": cached(store, KEYS, 1, "")}
    return World({"facts": FACTS, "keys": KEYS}, conf=Conf(values), versions=versions)


def joined(w: World, kind: JoinKind = JoinKind.INNER):
    facts, f = w.scan("facts")
    keys, k = w.scan("keys")
    join = Join(facts, keys, kind, Call("eq", (f["k"], k["key"]), BOOLEAN))
    total = Alias(AggregateCall("sum", (f["v"],), BIGINT), next(ids), "total")
    return Sort(Aggregate(join, (f["k"],), (total,)), (SortKey(f["k"]),))


def exchanges(plan) -> list[str]:
    return [str(node.partitioning) for node in plan.walk() if isinstance(node, Exchange)]


def test_a_table_of_one_block_is_scanned_by_one_task(store):
    w = world(store)
    assert str(plan_physical(w.scan("keys")[0], w.context("rdd")).root.distribution) == "single"
    assert str(plan_physical(w.scan("facts")[0], w.context("rdd")).root.distribution) == "any"
    w.conf.set("shark.task.single.max.rows", WIDE)
    assert str(plan_physical(w.scan("facts")[0], w.context("rdd")).root.distribution) == "single"
    w.conf.set("shark.task.single.max.bytes", "0")
    assert str(plan_physical(w.scan("keys")[0], w.context("rdd")).root.distribution) == "any"


def test_a_query_over_tables_of_one_task_is_one_stage(store):
    w = world(store, shark_task_single_max_rows=WIDE)
    assert exchanges(plan_physical(joined(w), w.context("rdd")).root) == []


@pytest.mark.parametrize(
    ("limit", "is_local", "is_one_task"), [("904", True, True), ("903", True, False), ("904", False, False)]
)
def test_one_task_with_all_cores_reads_few_rows(store, limit, is_local, is_one_task):
    w = world(store, shark_task_single_max_rows=limit, shark_placement_driver="false")
    plan = plan_physical(joined(w), replace(w.context(None), is_local=is_local)).root
    assert (exchanges(plan) == []) is is_one_task


def test_a_program_that_asks_for_tasks_gets_several(store):
    w = world(store, shark_task_single_max_rows="904")
    assert exchanges(plan_physical(joined(w), w.context("rdd")).root)


@pytest.mark.parametrize("kind", [JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI])
def test_a_small_build_side_is_read_by_every_task(store, kind):
    w = world(store)
    query = joined(w, kind)
    plan = plan_physical(query, w.context("rdd")).root
    scans = {node.table_name: node.is_replicated for node in plan.walk() if isinstance(node, BlockScan)}
    assert scans == {"default.facts": False, "default.keys": True}
    assert not any("broadcast" in text for text in exchanges(plan))
    exchange = next_exchange(plan)
    tasks = lower_stage(exchange.child, sink_of(exchange)).tasks
    assert len(tasks) == 2
    assert all(len(dict(task.blocks)["in1"]) == 1 for task in tasks)
    assert unordered(w.run(query, "rdd")) == unordered(w.run(query, "driver"))


def test_a_build_side_of_many_rows_is_broadcast(store):
    w = world(store, shark_join_replicate_max_rows="3")
    assert "broadcast" in exchanges(plan_physical(joined(w), w.context("rdd")).root)


def test_a_build_side_that_tasks_would_compute_differently_is_broadcast(store):
    w = world(store)
    facts, f = w.scan("facts")
    keys, k = w.scan("keys")
    picked = Project(keys, (k["key"], Alias(Call("rand", (), DOUBLE), next(ids), "r")))
    join = Join(facts, picked, JoinKind.INNER, Call("eq", (f["k"], k["key"]), BOOLEAN))
    assert exchanges(plan_physical(join, w.context("rdd")).root) == ["broadcast"]


@pytest.mark.parametrize("kind", [JoinKind.SEMI, JoinKind.ANTI, JoinKind.LEFT])
def test_a_large_right_side_is_reduced_by_the_measured_left_side(store, kind):
    w = world(store, shark_task_single_max_bytes="0")
    few, f = w.scan("facts", predicate=None)
    many, m = w.scan("facts")
    few = Project(few, (f["k"], Alias(Call("add", (f["v"], Literal(1, BIGINT)), BIGINT), next(ids), "w")))
    w.conf.set("shark.test.join", "shuffle")
    join = Join(few, many, kind, Call("eq", (f["k"], m["k"]), BOOLEAN))
    plan = plan_physical(join, w.context("rdd")).root
    w.conf.reset("shark.test.join")
    plan = plan.transform_up(lambda node: _sized(node, 1000 if "w#" in node.label else 10 * MIN_BYTES))
    first = next_exchange(plan)
    observed = ExchangeStatistics(900, (500, 500))
    plan = replace_exchange(plan, first.exchange_id, read_of(first, observed))
    plan, decisions = replan(plan, {first.exchange_id: observed}, w.conf)
    assert [decision.rule for decision in decisions] == ["reduce_side"]
    second = next_exchange(plan)
    assert isinstance(second.child, HashJoin)
    assert second.child.kind is JoinKind.SEMI
    again, decisions = replan(plan, {}, w.conf)
    assert (again, decisions) == (plan, ())


@pytest.mark.variants(3)
@pytest.mark.parametrize("null_safe", [False, True])
@pytest.mark.parametrize("kind", [JoinKind.SEMI, JoinKind.ANTI, JoinKind.LEFT])
def test_reducing_a_side_changes_no_answer(store, kind, null_safe, monkeypatch):
    monkeypatch.setattr(use_small_sides, "MIN_BYTES", 0)
    monkeypatch.setattr(use_small_sides, "MIN_RATIO", 0)
    w = world(store, shark_task_single_max_bytes="0")
    w.tables["some"] = pa.table({"a": pa.array([None, 1, 4, 4, 80, None], pa.int64())})
    w.tables["more"] = pa.table({"b": pa.array([4, 1, None, 7, 9, 1, None], pa.int64()), "c": pa.array(range(7))})
    some, a = w.scan("some")
    more, b = w.scan("more")
    join = Join(some, more, kind, Call("eq_null_safe" if null_safe else "eq", (a["a"], b["b"]), BOOLEAN))
    assert min(exchanges(plan_physical(join, w.context("rdd")).root)).startswith("hash")
    assert unordered(w.run(join, "rdd")) == unordered(w.run(join, "driver"))


def _sized(node, size: int):
    import dataclasses

    return dataclasses.replace(node, estimated_bytes=size) if isinstance(node, Exchange) else node
