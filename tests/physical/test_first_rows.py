"""Blocks in order of promise: the first rows equal the whole table's, and few blocks are opened."""

from __future__ import annotations

import dataclasses
import datetime
import functools
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.columnar.store import BlockStore
from sharkpy.execution.stages.plan_runner import first_keys
from sharkpy.physical import first_rows
from sharkpy.physical.first_rows import waves
from sharkpy.physical.lowering.lower_stage import lower_stage
from sharkpy.physical.operators import BlockScan, TopN
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.planner import plan_physical
from sharkpy.physical.stage_program import ResultSink
from sharkpy.plan.expr import Alias, Call, Cast, ColumnRef, Literal, SortKey
from sharkpy.plan.logical import Filter, Limit, LogicalPlan, Project, Sort, Union
from sharkpy.values.types import BIGINT, BOOLEAN, INT
from tests.examples import examples
from tests.physical.simulate import Runner, World, cached, ids, rows, unordered


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlockStore]:
    folder: Path = tmp_path_factory.mktemp("blocks")
    made = BlockStore(1 << 28, str(folder / "shm"), str(folder / "local"))
    yield made
    made.close()


@pytest.fixture(autouse=True)
def small_counts_as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_rows, "_LEAST_SINGLE_ROWS", 0)


def run(w: World, plan: PhysicalPlan) -> pa.Table:
    return pa.concat_tables(Runner(w).run_stage(plan, lower_stage(plan, ResultSink())))


def run_waves(w: World, plan: PhysicalPlan) -> tuple[pa.Table, int]:
    """Rows that the waves of `plan` find, and the number of blocks they open."""
    left = waves(plan, 1)
    if left is None:
        return run(w, plan), blocks_of(plan)
    found, opened = [], 0
    while left.num_blocks:
        wave, rest = left.next_wave()
        opened += left.num_blocks - rest.num_blocks
        found.append(run(w, wave))
        batches = [batch for table in found for batch in table.to_batches()]
        left = rest.after(sum(table.num_rows for table in found), first_keys(batches, left.key))
    return pa.concat_tables(found), opened


def blocks_of(plan: PhysicalPlan) -> int:
    return sum(len(node.blocks.blocks) for node in plan.walk() if isinstance(node, BlockScan))


def make(values: list[int | None], kind: str) -> pa.Array:
    match kind:
        case "date":
            days = [None if v is None else datetime.date(2020, 1, 1) + datetime.timedelta(v) for v in values]
            return pa.array(days, pa.date32())
        case "string":
            # Longer than what the statistics keep in words, so that bounds tie.
            return pa.array([None if v is None else f"a prefix of sixteen {v % 4}é{v:02}" for v in values], pa.string())
        case "short":
            return pa.array([None if v is None else f"k{v:02}" for v in values], pa.string())
        case "decimal":
            return pa.array([None if v is None else Decimal(v) / 2 for v in values], pa.decimal128(10, 2))
        case "float64":
            found = [None if v is None else (float("nan") if v == 7 else -0.0 if v == 0 else v / 2) for v in values]
            return pa.array(found, pa.float64())
        case "bool":
            return pa.array([None if v is None else v > 0 for v in values], pa.bool_())
    return pa.array(values, getattr(pa, kind)())


KINDS = ("int8", "int64", "decimal", "float64", "date", "string", "short", "bool")
numbers = st.lists(st.none() | st.integers(-9, 20), max_size=40)


@pytest.mark.variants(3)
@settings(max_examples=examples(60), deadline=None)
@given(
    values=numbers,
    is_clustered=st.booleans(),
    num_blocks=st.integers(1, 8),
    ascending=st.booleans(),
    nulls_first=st.booleans(),
    two_keys=st.booleans(),
    count=st.integers(1, 12),
    offset=st.integers(0, 4),
    shape=st.sampled_from(["scan", "filter", "project", "union"]),
)
@pytest.mark.parametrize("kind", KINDS)
def test_the_first_rows_are_those_of_the_whole_table(
    store, kind, values, is_clustered, num_blocks, ascending, nulls_first, two_keys, count, offset, shape
):
    if is_clustered:
        values = sorted(values, key=lambda value: (value is None, value))
    table = pa.table({"k": make(values, kind), "v": pa.array([v and v % 3 for v in range(len(values))], pa.int32())})
    w = World({"t": table})
    w.versions = {"t": cached(store, table, num_blocks)}
    child, key, second = shaped(w, shape)
    keys = (SortKey(key, ascending, nulls_first), *([SortKey(second, not ascending, False)] if two_keys else []))
    plan = plan_physical(Limit(Sort(child, keys, True), count, offset), w.context("driver")).root
    assert isinstance(plan, TopN)
    w.conf.set("shark.pruning", "false")
    whole = plan_physical(Limit(Sort(child, keys, True), count, offset), w.context("driver")).root
    w.conf.reset()
    found, _ = run_waves(w, dataclasses.replace(plan, count=plan.count + plan.offset, offset=0))
    expected = run(w, dataclasses.replace(whole, count=count + offset, offset=0))
    names = [f"c{one.expr.column_id}" for one in keys]
    assert sorted_keys(found, keys, names)[: expected.num_rows] == sorted_keys(expected, keys, names)
    assert set(map(repr, rows(found))) <= set(map(repr, rows(run(w, whole.child))))


@functools.cache
def oracle() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def sorted_keys(table: pa.Table, keys: tuple[SortKey, ...], names: list[str]) -> list[tuple]:
    """Sort keys of the rows in their order, by DuckDB."""
    order = ", ".join(
        f'"{name}" {"ASC" if key.ascending else "DESC"} NULLS {"FIRST" if key.nulls_first else "LAST"}'
        for name, key in zip(names, keys, strict=True)
    )
    with oracle().cursor() as connection:
        connection.register("t", table)
        found = connection.sql(f"SELECT {', '.join(names)} FROM t ORDER BY {order}").fetchall()
    return [tuple("NaN" if value != value else value for value in row) for row in found]


def shaped(w: World, shape: str) -> tuple[LogicalPlan, ColumnRef, ColumnRef]:
    scan, columns = w.scan("t")
    key, second = columns["k"], columns["v"]
    match shape:
        case "filter":
            return Filter(scan, Call("ge", (second, Literal(1, INT)), BOOLEAN)), key, second
        case "project":
            renamed = Alias(key, next(ids), "renamed")
            return Project(scan, (second, renamed)), renamed.ref, second
        case "union":
            other, _ = w.scan("t")
            output = tuple(ColumnRef(next(ids), column.name, column.dtype) for column in scan.columns)
            return Union((scan, other), output), *output
    return scan, key, second


def clustered(store: BlockStore, num_blocks: int = 10) -> tuple[World, LogicalPlan, dict[str, ColumnRef]]:
    table = pa.table({"k": pa.array(range(100), pa.int32()), "v": pa.array([i % 7 for i in range(100)], pa.int32())})
    w = World({"t": table})
    w.versions = {"t": cached(store, table, num_blocks)}
    return w, *w.scan("t")


@pytest.mark.parametrize("ascending", [True, False])
def test_row_counts_leave_one_block_without_a_filter(store: BlockStore, ascending: bool) -> None:
    w, scan, c = clustered(store)
    plan = plan_physical(Limit(Sort(scan, (SortKey(c["k"], ascending, False),), True), 3), w.context("driver")).root
    assert blocks_of(plan) == 1
    assert [row[0] for row in rows(run(w, plan))] == ([0, 1, 2] if ascending else [99, 98, 97])


def test_waves_end_with_the_rows_that_no_other_block_beats(store: BlockStore) -> None:
    w, scan, c = clustered(store)
    even = dataclasses.replace(scan, predicate=Call("eq", (c["v"], Literal(3, INT)), BOOLEAN))
    plan = plan_physical(Limit(Sort(even, (SortKey(c["k"], False, False),), True), 2), w.context("driver")).root
    assert blocks_of(plan) == 10
    found, opened = run_waves(w, plan)
    assert sorted(found.column(0).to_pylist())[-2:] == [87, 94]
    # One block, then four more: of the other five none can have a greater key.
    assert opened == 5


def test_a_limit_takes_the_fewest_blocks_that_have_its_rows(store: BlockStore) -> None:
    w, scan, _ = clustered(store)
    assert blocks_of(plan_physical(Limit(scan, 10), w.context("driver")).root) == 1
    assert blocks_of(plan_physical(Limit(scan, 11), w.context("driver")).root) == 2
    assert blocks_of(plan_physical(Limit(scan, 5, 16), w.context("rdd")).root) == 3


def test_a_limit_opens_blocks_that_surely_match_first(store: BlockStore) -> None:
    w, scan, c = clustered(store)
    late = dataclasses.replace(scan, predicate=Call("ge", (c["k"], Literal(5, INT)), BOOLEAN))
    plan = plan_physical(Limit(late, 4), w.context("driver")).root
    found, opened = run_waves(w, plan)
    assert opened == 1
    assert found.num_rows == 4
    assert min(found.column(0).to_pylist()) >= 10


def test_keys_that_say_nothing_of_blocks_open_all_at_once(store: BlockStore) -> None:
    w, scan, c = clustered(store)
    doubled = Alias(Call("multiply", (Cast(c["k"], BIGINT), Literal(-2, BIGINT)), BIGINT), next(ids), "d")
    plan = Limit(Sort(Project(scan, (doubled,)), (SortKey(doubled.ref, True, True),), True), 3)
    physical = plan_physical(plan, w.context("driver")).root
    assert waves(physical, 1) is None
    assert unordered(run(w, physical)) == [(-194,), (-196,), (-198,)]


def test_ties_of_the_first_key_are_opened_for_the_second(store: BlockStore) -> None:
    table = pa.table({"k": pa.array([i // 7 for i in range(40)], pa.int32()), "v": pa.array(range(40), pa.int32())})
    w = World({"t": table})
    w.versions = {"t": cached(store, table, 8)}
    scan, c = w.scan("t")
    scan = dataclasses.replace(scan, predicate=Call("ne", (c["v"], Literal(1, INT)), BOOLEAN))
    keys = (SortKey(c["k"], True, False), SortKey(c["v"], False, False))
    found, opened = run_waves(w, plan_physical(Limit(Sort(scan, keys, True), 2), w.context("driver")).root)
    assert set(rows(found)) >= {(0, 6), (0, 5)}
    assert 2 <= opened < 8


def test_nan_does_not_vouch_for_a_block(store: BlockStore) -> None:
    nan = float("nan")
    table = pa.table({"k": pa.array([1.0, nan, nan, nan, 2.0, 3.0, 4.0, 5.0], pa.float64())})
    w = World({"t": table})
    w.versions = {"t": cached(store, table, 2)}
    scan, c = w.scan("t")
    plan = plan_physical(Limit(Sort(scan, (SortKey(c["k"], True, False),), True), 3), w.context("driver")).root
    assert rows(run(w, plan)) == [(1.0,), (2.0,), (3.0,)]
