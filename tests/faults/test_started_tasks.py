"""Number of tasks that a query starts: LIMIT no more than it needs, ORDER BY each range once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sharkpy
from sharkpy.physical import stage

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def one_task_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "_TASK_BYTES", 1)
    monkeypatch.setattr(stage, "_TASKS_PER_CORE", 100)


@pytest.fixture(scope="module")
def many(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    """Table of 40 blocks in the order of k."""
    before = context.conf["shark.block.rows"]
    context.sql("SET shark.block.rows = 1000")
    numbers = "(SELECT explode(sequence(1, 40000)) AS id) t"
    store = "TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY')"
    context.sql(f"CREATE TABLE many {store} AS SELECT id AS k, id * 7919 % 40009 AS v FROM {numbers} SORT BY k")
    context.sql(f"SET shark.block.rows = {before}")
    return context


@pytest.fixture
def sorts_in_ranges(many: sharkpy.SharkContext) -> Iterator[None]:
    many.sql("SET shark.sort.single.max.rows = 0")
    yield
    many.sql("RESET shark.sort.single.max.rows")


def tasks(context: sharkpy.SharkContext, query: str) -> tuple[list[tuple[object, ...]], list[int]]:
    """Rows of a query, and the tasks that each stage started."""
    result = context.sql(query)
    rows = result.fetchall()
    return rows, [stage.num_tasks for stage in result.profile.stages]


def test_all_blocks_are_read_by_tasks_of_their_own(many: sharkpy.SharkContext) -> None:
    rows, started = tasks(many, "SELECT count(*) FROM many WHERE v % 2 >= 0")
    assert rows == [(40_000,)]
    assert started[0] == 40


@pytest.mark.parametrize(("limit", "most"), [(10, 2 + 8), (1500, 2 + 8), (9500, 2 + 8 + 32)])
def test_a_limit_stops_starting_tasks(many: sharkpy.SharkContext, limit: int, most: int) -> None:
    """Blocks are read in waves of 2, 8 and 32, each a stage."""
    rows, started = tasks(many, f"SELECT k FROM many WHERE v % 2 >= 0 LIMIT {limit}")
    assert len(rows) == limit
    assert -(-limit // 1000) <= sum(started) <= most


def test_a_limit_over_a_pruned_table(many: sharkpy.SharkContext) -> None:
    rows, started = tasks(many, "SELECT k FROM many WHERE k BETWEEN 5001 AND 6000 AND v % 2 >= 0 LIMIT 3")
    assert len(rows) == 3
    assert started[0] <= 2


def test_order_by_sorts_ranges_in_tasks(many: sharkpy.SharkContext, sorts_in_ranges: None) -> None:
    """ORDER BY has a sample, a map stage over the blocks, and at most one task a range, in order."""
    rows, started = tasks(many, "SELECT v, k FROM many WHERE k > 0 OR v < 0 ORDER BY v, k")
    assert rows == sorted(rows)
    assert len(rows) == 40_000
    sample, mapped, *ranges = started
    assert (sample, mapped) == (40, 40)
    assert sum(ranges) <= 4


def test_a_top_n_sorts_in_every_task_and_once_more(many: sharkpy.SharkContext) -> None:
    rows, started = tasks(many, "SELECT v FROM many WHERE k > 0 OR v < 0 ORDER BY v DESC LIMIT 5")
    assert [value for (value,) in rows] == sorted((value for (value,) in rows), reverse=True)
    assert started[0] == 40
    assert sum(started[1:]) <= 1


@pytest.mark.variants(3)
@pytest.mark.parametrize("key", ["CAST(v AS INT)", "date_add('2000-01-01', v)", "CAST(v AS STRING)"])
def test_ranges_by_a_key_of_any_size(many: sharkpy.SharkContext, sorts_in_ranges: None, key: str) -> None:
    rows, _ = tasks(many, f"SELECT {key} AS x FROM many WHERE k > 0 OR v < 0 ORDER BY x DESC")
    assert rows == sorted(rows, reverse=True)
    assert len(rows) == 40_000
