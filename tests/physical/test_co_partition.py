"""Co-partitioned tables: the same rows as without buckets, and no exchange if none is needed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.base.settings import Conf
from sharkpy.catalog.model import BucketSpec
from sharkpy.columnar.store import BlockStore
from sharkpy.execution.tasks.buckets import RowBuckets
from sharkpy.physical.co_partition import avoided_exchanges
from sharkpy.physical.lowering.lower_stage import lower_stage
from sharkpy.physical.operators import Exchange
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.planner import plan_physical
from sharkpy.physical.stage import merged_inputs
from sharkpy.physical.stage_program import ResultSink, TaskInput
from sharkpy.plan.expr import AggregateCall, Alias, Call, Cast, ColumnRef, Literal, WindowCall
from sharkpy.plan.logical import Aggregate, Filter, Join, JoinKind, LogicalPlan, Project, Union, Window
from sharkpy.values.types import BIGINT, BOOLEAN, INT, Field, Schema, from_arrow
from tests.physical.simulate import World, cached, cached_in_buckets, ids, unordered

# What spares stages of small tables is off, so that exchanges are seen.
CONF = {"shark.task.single.max.bytes": "0", "shark.task.single.max.rows": "0", "shark.join.replicate.max.rows": "0"}
KINDS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL, JoinKind.SEMI, JoinKind.ANTI)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlockStore]:
    folder = tmp_path_factory.mktemp("store")
    opened = BlockStore(1 << 28, str(folder), str(folder / "local"))
    yield opened
    opened.close()


def table(keys: Sequence[int | None], kind: pa.DataType, first: int = 0) -> pa.Table:
    values = pa.array(keys, pa.int64()).cast(kind)
    return pa.table({"k": values, "v": pa.array(range(first, first + len(keys)), pa.int32()), "j": values})


def world(
    store: BlockStore, data: dict[str, pa.Table], buckets: dict[str, BucketSpec], forced: str = "", block_rows: int = 3
) -> World:
    versions = {
        name: cached_in_buckets(store, rows, buckets[name], block_rows) if name in buckets else cached(store, rows, 3)
        for name, rows in data.items()
    }
    return World(
        data, conf=Conf(CONF | ({"shark.test.join": forced} if forced else {})), versions=versions, buckets=buckets
    )


def equal(*pairs: tuple[ColumnRef, ColumnRef]) -> Call:
    terms = [Call("eq", pair, BOOLEAN) for pair in pairs]
    return terms[0] if len(terms) == 1 else Call("and", tuple(terms), BOOLEAN)


def count() -> Alias:
    return Alias(AggregateCall("count", (), BIGINT), next(ids), "count")


def exchanges(plan: PhysicalPlan) -> list[Exchange]:
    return [node for node in plan.walk() if isinstance(node, Exchange)]


def planned(w: World, plan: LogicalPlan) -> PhysicalPlan:
    return plan_physical(plan, w.context("rdd")).root


def joined(w: World, kind: JoinKind = JoinKind.INNER) -> LogicalPlan:
    left, a = w.scan("l")
    right, b = w.scan("r")
    return Join(left, right, kind, equal((a["k"], b["k"])))


KEYS = st.lists(st.none() | st.integers(-4, 6) | st.sampled_from([-(2**31), 2**31 - 1]), max_size=12)


@settings(max_examples=40, deadline=None)
@given(
    left=KEYS,
    right=KEYS,
    types=st.sampled_from(
        [(pa.int32(), pa.int32()), (pa.int32(), pa.int64()), (pa.int64(), pa.int64()), (pa.string(), pa.string())]
    ),
    buckets=st.tuples(st.integers(1, 6), st.integers(0, 6), st.booleans()),
    kind=st.sampled_from(KINDS),
    forced=st.sampled_from(["", "shuffle", "broadcast"]),
    shape=st.sampled_from(["join", "group by key", "group by more", "filtered", "renamed", "computed", "window"]),
)
def test_the_same_rows_as_without_buckets(store, left, right, types, buckets, kind, forced, shape) -> None:
    data = {"l": table(left, types[0]), "r": table(right, types[1], 100)}
    of_left, of_right, same = buckets
    specs = {"l": BucketSpec(("k",), of_left)}
    if of_right:
        specs["r"] = BucketSpec(("k",), of_left if same else of_right)
    w, plain = world(store, data, specs, forced), world(store, data, {})
    plan = shaped(w, kind, types[0] != types[1], shape)
    assert unordered(w.run(plan, "rdd")) == unordered(plain.run(plan, "driver"))


def shaped(w: World, kind: JoinKind, casts: bool, shape: str) -> LogicalPlan:
    left, a = w.scan("l")
    right, b = w.scan("r")
    below: LogicalPlan = left
    key = a["k"]
    if shape == "filtered":
        below = Filter(left, Call("ge", (a["v"], Literal(3, INT)), BOOLEAN))
    if shape in ("renamed", "computed"):
        value = a["k"] if shape == "renamed" else Call("coalesce", (a["k"], a["j"]), a["k"].dtype)
        renamed = Alias(value, next(ids), "key")
        below, key = Project(left, (renamed, a["v"])), renamed.ref
    condition = Call("eq", (Cast(key, BIGINT) if casts else key, b["k"]), BOOLEAN)
    join = Join(below, right, kind, condition)
    if shape == "window":
        number = WindowCall("count", (), (key,), (), None, BIGINT)
        return Window(join, (Alias(number, next(ids), "n"),))
    if shape == "group by key":
        return Aggregate(join, (key,), (count(),))
    if shape == "group by more":
        return Aggregate(join, (a["v"], key), (count(),))
    return join


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("forced", ["", "shuffle"])
def test_a_join_of_aligned_tables_moves_nothing(store: BlockStore, kind: JoinKind, forced: str) -> None:
    data = {"l": table(range(20), pa.int32()), "r": table(range(10, 30), pa.int32())}
    spec = BucketSpec(("k",), 4)
    w = world(store, data, {"l": spec, "r": spec}, forced)
    plan = planned(w, joined(w, kind))
    assert exchanges(plan) == []
    assert plan.explain().count("co-partitioned on [k#") == 3
    assert [decision.rule for decision in avoided_exchanges(plan)] == ["co_partitioned"] * 2


@pytest.mark.parametrize(
    ("of_right", "type_right", "moved"),
    [
        (BucketSpec(("k",), 4), pa.int32(), []),
        (BucketSpec(("k",), 3), pa.int32(), [4]),
        (BucketSpec(("v",), 4), pa.int32(), [4]),
        (None, pa.int32(), [4]),
        # The left key is widened: its hash is another one then.
        (BucketSpec(("k",), 4), pa.int64(), [4]),
        (BucketSpec(("k",), 3), pa.int64(), [3]),
    ],
)
def test_only_the_other_side_is_moved(store: BlockStore, of_right, type_right, moved: list[int]) -> None:
    data = {"l": table(range(20), pa.int32()), "r": table(range(10, 30), type_right)}
    w = world(store, data, {"l": BucketSpec(("k",), 4)} | ({"r": of_right} if of_right else {}), "shuffle")
    left, a = w.scan("l")
    right, b = w.scan("r")
    key = Cast(a["k"], BIGINT) if type_right == pa.int64() else a["k"]
    plan = planned(w, Join(left, right, JoinKind.INNER, Call("eq", (key, b["k"]), BOOLEAN)))
    assert [exchange.partitioning.num_buckets for exchange in exchanges(plan)] == moved


def test_some_of_the_keys_are_enough(store: BlockStore) -> None:
    data = {"l": table(range(20), pa.int32()), "r": table(range(10, 30), pa.int32())}
    w = world(store, data, {"l": BucketSpec(("k",), 4), "r": BucketSpec(("k",), 4)}, "shuffle")
    left, a = w.scan("l")
    right, b = w.scan("r")
    both = planned(w, Join(left, right, JoinKind.FULL, equal((a["v"], b["v"]), (a["k"], b["k"]))))
    crossed = planned(w, Join(left, right, JoinKind.FULL, equal((a["v"], b["k"]), (a["k"], b["v"]))))
    assert (len(exchanges(both)), len(exchanges(crossed))) == (0, 1)


def test_groups_and_windows_on_the_key_move_nothing(store: BlockStore) -> None:
    w = world(store, {"l": table([*range(20), None], pa.int32())}, {"l": BucketSpec(("k",), 4)})
    scan, c = w.scan("l")
    window = Alias(WindowCall("count", (), (c["k"], c["v"]), (), None, BIGINT), next(ids), "n")
    for plan in (
        Aggregate(scan, (c["k"],), (count(),)),
        Aggregate(scan, (c["v"], c["k"]), (count(),)),
        Window(scan, (window,)),
    ):
        assert exchanges(planned(w, plan)) == []
    assert len(exchanges(planned(w, Aggregate(scan, (c["v"],), (count(),))))) == 1


def test_what_nothing_relies_on_is_dealt_by_size(store: BlockStore) -> None:
    w = world(store, {"l": table([1] * 40, pa.int32())}, {"l": BucketSpec(("k",), 4)})
    scan, _ = w.scan("l")
    other, _ = w.scan("l")
    columns = tuple(ColumnRef(next(ids), column.name, column.dtype) for column in scan.columns)
    for plan in (scan, Union((scan, other), columns)):
        tasks = lower_stage(planned(w, plan), ResultSink()).tasks
        assert all(handles for task in tasks for _, handles in task.blocks)


def test_without_the_key_among_its_columns_a_scan_tells_nothing(store: BlockStore) -> None:
    w = world(store, {"l": table(range(20), pa.int32())}, {"l": BucketSpec(("k",), 4)})
    scan, c = w.scan("l", "v", "j")
    assert len(exchanges(planned(w, Aggregate(scan, (c["j"],), (count(),))))) == 1


def test_blocks_of_no_bucket_make_a_version_that_is_not_partitioned(store: BlockStore) -> None:
    data = {"l": table(range(20), pa.int32()), "r": table(range(10, 30), pa.int32())}
    spec = BucketSpec(("k",), 4)
    w = world(store, data, {"l": spec, "r": spec}, "shuffle")
    version = w.versions["r"]
    w.versions["r"] = version.with_blocks([replace(version.blocks[0], bucket=None), *version.blocks[1:]])
    plan = planned(w, joined(w))
    assert len(exchanges(plan)) == 1


@pytest.mark.parametrize("num_buckets", [1, 2, 7, 64])
def test_each_task_gets_whole_buckets_of_both_sides(store: BlockStore, num_buckets: int) -> None:
    data = {"l": table(range(200), pa.int32()), "r": table(range(100, 300), pa.int32())}
    spec = BucketSpec(("k",), num_buckets)
    w = world(store, data, {"l": spec, "r": spec}, "shuffle", 50)
    tasks = lower_stage(planned(w, joined(w)), ResultSink(), parallelism=2).tasks
    assert len(tasks) <= 4
    places: dict[int, set[int]] = {}
    for index, task in enumerate(tasks):
        for handle in itertools.chain(*(handles for _, handles in task.blocks)):
            places.setdefault(handle.bucket, set()).add(index)
    assert len(places) > 1 or num_buckets == 1
    assert all(len(tasks_of) == 1 for tasks_of in places.values())


def test_packed_tasks_read_what_each_would_have_read() -> None:
    a, b, shared = object(), object(), object()
    parts = [TaskInput((("in0", (a,)), ("in1", (shared,)))), TaskInput((("in0", (b,)), ("in1", (shared,))))]  # type: ignore[arg-type]
    assert merged_inputs(parts) == TaskInput((("in0", (a, b)), ("in1", (shared,))))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "kind",
    [
        pa.int8(),
        pa.int32(),
        pa.int64(),
        pa.string(),
        pa.float64(),
        pa.decimal128(9, 2),
        pa.decimal128(30, 2),
        pa.date32(),
        pa.timestamp("us"),
        pa.bool_(),
        pa.binary(),
    ],
)
def test_buckets_are_those_of_exchanges(kind: pa.DataType, tmp_path: Path) -> None:
    """Buckets agree for every type that a key may have, including negative values and NULL, in dictionaries too."""
    from tests.physical.simulate import connect

    numbers = [-3, -1, 0, 1, 2, 100, None]
    match kind:
        case _ if pa.types.is_boolean(kind):
            column = pa.array([None if n is None else n > 0 for n in numbers])
        case _ if pa.types.is_binary(kind):
            column = pa.array([None if n is None else str(n).encode() for n in numbers])
        case _ if pa.types.is_string(kind) or pa.types.is_decimal(kind):
            column = pa.array([None if n is None else str(n) for n in numbers]).cast(kind)
        case _ if pa.types.is_date(kind):
            column = pa.array(numbers, pa.int32()).cast(kind)
        case _:
            column = pa.array(numbers, pa.int64()).cast(kind)
    schema = Schema((Field("k", from_arrow(kind)),))
    rows = RowBuckets(BucketSpec(("k",), 5), schema)
    connection = connect()
    connection.register("keys", pa.table({"k": column}))
    expected = [bucket for (bucket,) in connection.sql("SELECT hash(k) % 5 FROM keys").fetchall()]
    assert rows.numbers(pa.table({"k": column})).tolist() == expected
    if pa.types.is_string(kind):
        assert rows.numbers(pa.table({"k": column.dictionary_encode()})).tolist() == expected
