"""Joins over rows of few keys give the same rows whether heavy keys are dealt over several tasks or not."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sharkpy.base.errors import ExecutionError
from sharkpy.base.settings import Conf
from sharkpy.columnar.store import BlockStore
from sharkpy.execution.tasks.exchange_writer import SAMPLE_ROWS, Spreader
from sharkpy.execution.tasks.payloads import (
    SPREAD_METADATA,
    payload_exchange,
    payload_header,
    payload_order,
    read_payloads,
)
from sharkpy.execution.tasks.sinks import encode_payload
from sharkpy.optimizer import buckets
from sharkpy.physical.planner import plan_physical
from sharkpy.physical.stage_program import Spread
from sharkpy.plan.expr import AggregateCall, Alias, Call, Literal
from sharkpy.plan.logical import LATERAL_JOINS, Aggregate, Join, JoinKind, LogicalPlan, Project
from sharkpy.values.types import BIGINT, BOOLEAN
from tests.execution.local_stages import LocalStages
from tests.physical.simulate import World, cached, ids, unordered

from sharkpy.udf.connection import prepare_connection  # isort: skip
from tests.examples import examples

FORCED = {
    "shark.test.skew": "true",
    "shark.test.join": "shuffle",
    "shark.task.single.max.bytes": "0",
    "shark.task.single.max.rows": "0",
    "shark.join.replicate.max.rows": "0",
    "shark.exchange.buckets": "3",
}
KINDS = [kind for kind in JoinKind if kind not in (JoinKind.CROSS, JoinKind.NULL_AWARE_ANTI, *LATERAL_JOINS)]
SPREADING = [kind for kind in KINDS if kind is not JoinKind.FULL]
KEYS = st.lists(st.one_of(st.none(), st.integers(0, 4)), max_size=25)


@pytest.fixture(autouse=True, scope="module")
def _several_tasks() -> Iterator[None]:
    """Have several tasks, even for little data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buckets, "SMALL_BYTES", 1)
        yield


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlockStore]:
    made = BlockStore(1 << 30, str(tmp_path_factory.mktemp("shm")), str(tmp_path_factory.mktemp("local")))
    yield made
    made.close()


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as made:
        prepare_connection(made)
        yield made


def world(store: BlockStore, left: list[int | None], right: list[int | None]) -> World:
    tables = {
        "l": pa.table({"k": pa.array(left, pa.int32()), "v": pa.array(range(len(left)), pa.int64())}),
        "r": pa.table({"k": pa.array(right, pa.int32()), "w": pa.array(range(len(right)), pa.int64())}),
    }
    versions = {name: cached(store, table, 3) for name, table in tables.items() if table.num_rows}
    return World(tables, conf=Conf(FORCED), versions=versions)


def joined(w: World, kind: JoinKind, null_safe: bool = False, residual: bool = False) -> LogicalPlan:
    left, lc = w.scan("l")
    right, rc = w.scan("r")
    condition = Call("eq_null_safe" if null_safe else "eq", (lc["k"], rc["k"]), BOOLEAN)
    if residual:
        below = Call("lt", (lc["v"], Call("multiply", (rc["w"], Literal(2, BIGINT)), BIGINT)), BOOLEAN)
        condition = Call("and", (condition, below), BOOLEAN)
    if kind is JoinKind.SINGLE and w.tables["r"].num_rows > 1:
        once = Aggregate(right, (rc["k"],), (Alias(AggregateCall("max", (rc["w"],), BIGINT), next(ids), "w"),))
        return Join(left, once, kind, Call("eq", (lc["k"], rc["k"]), BOOLEAN))
    return Join(left, right, kind, condition)


def run(
    w: World, plan: LogicalPlan, connection: duckdb.DuckDBPyConnection, is_packed: bool = False
) -> tuple[list[tuple], LocalStages]:
    stages = LocalStages(connection, w.conf, is_packed)
    return unordered(stages.run(plan_physical(plan, w.context("rdd")).root)), stages


@settings(deadline=None, max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(KEYS.filter(len), KEYS.filter(len), st.sampled_from(KINDS), st.booleans(), st.booleans(), st.booleans())
def test_joins_of_every_kind(store, connection, left, right, kind, null_safe, residual, is_packed) -> None:
    w = world(store, left, right)
    plan = joined(w, kind, null_safe, residual)
    assert run(w, plan, connection, is_packed)[0] == unordered(w.run(plan, "driver"))


@settings(deadline=None, max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(KEYS.filter(len), KEYS.filter(len), st.sampled_from(KINDS), st.sampled_from(["k", "v"]))
def test_aggregates_over_joins(store, connection, left, right, kind, group) -> None:
    """Grouping by the join's key moves nothing again, so nothing may be spread; by another column it may."""
    w = world(store, left, right)
    join = joined(w, kind)
    column = next(one for one in join.output if one.name == group)
    count = Alias(AggregateCall("count", (), BIGINT), next(ids), "n")
    plan = Aggregate(join, (column,), (count,))
    found, stages = run(w, plan, connection)
    assert found == unordered(w.run(plan, "driver"))
    if group == "k" and kind in (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI):
        assert not any(one.rule == "spread_heavy_keys" for one in stages.decisions)


@pytest.mark.parametrize("kind", SPREADING)
def test_a_heavy_key_is_read_by_several_tasks(store, connection, kind) -> None:
    """Without spreading, all rows of the one key would be one task's."""
    w = world(store, [7] * 30, [8] * 20 if kind is JoinKind.ANTI else [7] * (1 if kind is JoinKind.SINGLE else 20))
    found, stages = run(w, joined(w, kind), connection)
    decided = [one for one in stages.decisions if one.rule == "spread_heavy_keys"]
    assert decided
    assert dict(decided[0].figures)["keys"] == 1
    assert sum(rows > 0 for rows in stages.rows_per_task) > 1
    w.conf.set("shark.skew", "false")
    same, stages = run(w, joined(w, kind), connection)
    assert [row for row in same if row] == [row for row in found if row]
    assert sum(rows > 0 for rows in stages.rows_per_task) == 1
    assert not any(one.rule == "spread_heavy_keys" for one in stages.decisions)


def test_pieces_of_both_sides_are_not_read_by_one_task(store, connection) -> None:
    """Read by one task, ordinary buckets of both sides would meet again."""
    keys: list[int | None] = list(range(400))
    w = world(store, keys, keys[::-1])
    w.conf.set("shark.exchange.buckets", "8")
    found, stages = run(w, joined(w, JoinKind.INNER), connection, is_packed=True)
    assert len(found) == 400
    assert [one.rule for one in stages.decisions] == ["spread_heavy_keys"] * 2


def test_a_full_join_spreads_nothing(store, connection) -> None:
    w = world(store, [7] * 30, [7] * 20)
    found, stages = run(w, joined(w, JoinKind.FULL), connection)
    assert len(found) == 600
    assert not any(one.rule == "spread_heavy_keys" for one in stages.decisions)


def test_a_join_of_a_join_by_the_same_key_spreads_nothing_below(store, connection) -> None:
    """The upper join relies on the places of the lower one's rows."""
    w = world(store, [1, 2, 2, None], [2, 2, 3])
    left, lc = w.scan("l")
    middle, mc = w.scan("r")
    right, rc = w.scan("r")
    lower = Join(left, middle, JoinKind.INNER, Call("eq", (lc["k"], mc["k"]), BOOLEAN))
    upper = Join(lower, right, JoinKind.LEFT, Call("eq", (lc["k"], rc["k"]), BOOLEAN))
    found, stages = run(w, Project(upper, upper.output), connection)
    assert found == unordered(w.run(upper, "driver"))
    assert not any(one.rule == "spread_heavy_keys" for one in stages.decisions)


def test_light_keys_stay_where_they_are() -> None:
    import numpy as np

    hashes = np.arange(1000, dtype=np.uint64)
    hashes[:300] = 5
    spreader = Spreader(4, Spread(4, 100))
    assert spreader.deal(hashes % np.uint64(4), hashes).max() == 7
    assert list(spreader.pieces) == [5]
    for spread in (Spread(4, 301), Spread(4, 100, kept=frozenset({5}))):
        assert Spreader(4, spread).deal(hashes % np.uint64(4), hashes).max() == 3
    assert Spreader(3, Spread(3, 100)).deal(hashes % np.uint64(3), hashes).max() == 2


def test_heavy_keys_of_a_large_window_are_found_from_a_sample() -> None:
    import numpy as np

    keys = (np.random.default_rng(5).zipf(1.5, 100 * SAMPLE_ROWS) % 1_000_003).astype(np.uint64)
    spreader = Spreader(16, Spread(16, 100))
    spreader.deal(keys % np.uint64(16), keys)
    assert list(spreader.pieces) == [1, 2, 3]


def test_rows_of_keys_that_nobody_told_of_are_refused() -> None:
    schema = pa.schema([("k", pa.int64())])
    told = schema.with_metadata({SPREAD_METADATA: (9).to_bytes(8, "little")})
    payload = encode_payload(payload_header(1, 0, 3), told, [pa.record_batch({"k": [1]}, schema)])
    assert read_payloads([payload], schema, frozenset({9, 4})).num_rows == 1
    assert read_payloads([payload], schema).num_rows == 1
    with pytest.raises(ExecutionError, match="different keys"):
        read_payloads([payload], schema, frozenset({4}))


def test_payloads_have_one_order_whichever_comes_first() -> None:
    headers = [payload_header(7, partition, bucket) for partition in (3, 0, 2) for bucket in (9, 1)]
    assert {payload_exchange(header) for header in headers} == {7}
    ordered = sorted(headers, key=payload_order)
    assert [(header >> 32, header >> 16 & 0xFFFF) for header in ordered] == [
        (partition, bucket) for partition in (0, 2, 3) for bucket in (1, 9)
    ]
