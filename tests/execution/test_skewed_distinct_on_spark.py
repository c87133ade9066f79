"""DISTINCT aggregates of a group with nine rows of ten, on real Spark: its rows are taken by several tasks."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

import pytest

import sharkpy
from sharkpy.optimizer import buckets

pytestmark = pytest.mark.spark

ROWS = 60_000
TABLE = f"""CREATE TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS
SELECT CASE WHEN n % 10 < 9 THEN 1 ELSE n % 500 END AS g, n AS many, n % 50 AS few
FROM (SELECT explode(sequence(1, {ROWS})) AS n) s"""


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    settings: dict[str, Any] = {
        "shark.placement.driver": False,
        "shark.task.single.max.bytes": 0,
        "shark.block.rows": 10_000,
        "shark.exchange.buckets": 8,
        "shark.store.memory.limit": "256m",
    }
    found = sharkpy.connect("local[2]", str(tmp_path_factory.mktemp("warehouse")), **settings)
    found.sql(TABLE).close()
    yield found
    found.stop()


QUERIES = {
    "SELECT g, count(DISTINCT many), count(*), sum(few) FROM t GROUP BY g": ROWS,
    "SELECT g, count(DISTINCT few), min(many), avg(few) FROM t GROUP BY g": 0,
    "SELECT count(DISTINCT many), sum(DISTINCT many) FROM t": ROWS,
}
"""Queries with the number of rows that move, if all rows do."""


@pytest.mark.variants(3)
@pytest.mark.parametrize("query", QUERIES)
def test_tasks_share_a_heavy_group(context: Any, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "SMALL_BYTES", 1)
    context.sql("SET shark.skew=false").close()
    one = context.sql(query)
    expected = sorted(one.fetchall())
    assert max(one.profile.stages[1].rows_per_task) >= 0.9 * ROWS
    context.sql("SET shark.skew=true").close()
    several = context.sql(query)
    assert sorted(several.fetchall()) == expected
    rows = several.profile.stages[1].rows_per_task
    assert sum(rows) == QUERIES[query] or (not QUERIES[query] and sum(rows) < ROWS / 2)
    assert len(rows) > 1
    assert max(rows) <= 1.5 * statistics.median(rows)


def test_explain_shows_the_levels(context: Any) -> None:
    context.sql("SET shark.skew=true").close()
    plan = [line for (line,) in context.sql("EXPLAIN SELECT g, count(DISTINCT few) FROM t GROUP BY g").fetchall()]
    steps = [line.split()[:2] for line in plan if line.split()[:1] == ["HashAggregate"]]
    assert steps == [["HashAggregate", "final"], ["HashAggregate", "merge"], ["HashAggregate", "partial"]]
