"""Shortage of memory: blocks beyond the store's limit are on disk, queries spill, and a query that cannot spill is a
clear error.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import ResourceError
from tests.faults.workload import QUERIES, make_tables

ROWS = 1_000_000
LARGE: dict[str, tuple[int, ...]] = {
    "SELECT count(*), max(n) FROM (SELECT t, count(*) AS n FROM wide GROUP BY t) x": (ROWS, 1),
    "SELECT count(*), max(a.id) FROM wide a JOIN wide b ON a.t = b.t": (ROWS, ROWS),
    "SELECT count(DISTINCT concat(t, '.')), min(id) FROM wide": (ROWS, 1),
}
"""Queries that each need more memory than `short` has."""


def make_wide(context: sharkpy.SharkContext, rows: int = ROWS) -> None:
    numbers = f"(SELECT explode(sequence(1, {rows})) AS id) t"
    store = "TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY')"
    context.sql(
        f"CREATE TABLE wide {store} AS SELECT id, concat('a text of some length ', id * 7919) AS t FROM {numbers}"
    )


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    """Session with little memory for queries, and for blocks less than the tables have."""
    folder = tmp_path_factory.mktemp("short")
    conf = {
        "shark.driver.memory": "64m",
        "shark.store.memory.limit": "512k",
        "shark.scan.cache.bytes": "1m",
        "shark.block.rows": 100_000,
        "shark.temp.dir": str(folder),
    }
    with sharkpy.connect(warehouse=folder / "warehouse", **conf) as context:
        make_wide(context)
        make_tables(context)
        yield context


def test_blocks_beyond_the_limit_are_on_disk(short: sharkpy.SharkContext) -> None:
    usage = short.engine.store.usage()
    assert usage.memory_bytes <= usage.memory_limit == 512 << 10
    assert usage.local_bytes > usage.memory_limit
    assert short.sql("SELECT count(*), sum(id), min(length(t)) FROM wide WHERE id > 10").fetchall() == [
        (ROWS - 10, ROWS * (ROWS + 1) // 2 - 55, len("a text of some length 87109") - 1)
    ]


@pytest.mark.variants(3)
@pytest.mark.parametrize("query", LARGE)
def test_queries_larger_than_memory_finish(short: sharkpy.SharkContext, query: str) -> None:
    assert short.sql(query).fetchall() == [LARGE[query]]


def test_a_sorted_result_larger_than_memory_is_streamed(short: sharkpy.SharkContext) -> None:
    result = short.sql("SELECT id, t, concat(t, t) AS u FROM wide ORDER BY id DESC")
    following = ROWS
    for batch in result.batches():
        ids = batch.column(0).to_pylist()
        assert ids == list(range(following, following - len(ids), -1))
        following -= len(ids)
    assert following == 0


@pytest.mark.slow
@pytest.mark.parametrize("query", LARGE)
def test_without_room_to_spill_it_is_an_error_and_the_session_lives_on(tmp_path: Path, query: str) -> None:
    """The error shows that the queries above do spill."""
    conf = {"shark.driver.memory": "32m", "shark.temp.max.bytes": "1m", "shark.temp.dir": str(tmp_path)}
    with sharkpy.connect(warehouse=tmp_path / "warehouse", **conf) as context:
        make_wide(context)
        with pytest.raises(ResourceError, match="out of memory") as caught:
            context.sql(query).fetchall()
        assert caught.value.sqlstate == "53200"
        assert context.sql("SELECT max(id) FROM wide").fetchall() == [(ROWS,)]


def test_what_cannot_be_spilled_is_an_error_and_the_session_lives_on(short: sharkpy.SharkContext) -> None:
    with pytest.raises(ResourceError) as caught:
        short.sql("SELECT size(collect_list(concat(t, t, id))) FROM wide").fetchall()
    assert caught.value.sqlstate == "53200"
    assert short.sql("SELECT max(id) FROM wide").fetchall() == [(ROWS,)]


def test_rdd_tasks_short_of_memory(
    context: sharkpy.SharkContext, expected: dict[str, list[tuple[object, ...]]]
) -> None:
    """Every block is evicted, and payloads of exchanges do not fit in the tasks."""
    store, limit = context.engine.store, context.engine.store.memory_limit
    context.sql("SET shark.task.memory = 24m")
    try:
        store.memory_limit = 0
        store.enforce_limit()
        # Of the store's blocks; blocks of tasks that earlier tests killed are next to them.
        assert store._blocks
        assert not any(map(store.is_in_memory, store._blocks.values()))
        assert {query: context.sql(query).fetchall() for query in QUERIES} == expected
    finally:
        store.memory_limit = limit
        context.sql("RESET shark.task.memory")


@pytest.mark.slow
def test_rdd_queries_larger_than_memory_finish(tmp_path: Path) -> None:
    conf = {
        "shark.placement.driver": False,
        "shark.task.memory": "32m",
        "shark.store.memory.limit": "512k",
        "shark.exchange.buckets": 2,
        "shark.jvm.memory": "512m",
        "shark.test.join": "shuffle",
        "shark.temp.dir": str(tmp_path),
    }
    with sharkpy.connect("local[2]", tmp_path / "warehouse", **conf) as context:
        make_wide(context)
        for query, answer in LARGE.items():
            assert context.sql(query).fetchall() == [answer], query
        total = sum(batch.num_rows for batch in context.sql("SELECT t, id FROM wide WHERE id > 5").batches())
        assert total == ROWS - 5
