"""Exchanges that move the same rows: one of them runs, unless one stage reads both."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

import sharkpy
from sharkpy.execution.stages import plan_runner

pytestmark = pytest.mark.spark

SETTINGS = {
    "shark.placement.driver": "false",
    "shark.task.single.max.rows": "0",
    "shark.task.single.max.bytes": "0",
}
TOTALS = "WITH totals AS (SELECT k, sum(v) AS total FROM t WHERE v > 1 GROUP BY k)"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w"), **SETTINGS) as context:
        context.sql("CREATE TABLE t (k INT, v INT) TBLPROPERTIES ('shark.cache'='MEMORY')")
        for first in (1, 11):
            rows = ", ".join(f"({v % 4}, {v})" for v in range(first, first + 10))
            context.sql(f"INSERT INTO t VALUES {rows}")
        yield context


@pytest.mark.parametrize(
    ("text", "num_shared", "num_scans", "rows"),
    [
        (f"{TOTALS} SELECT k FROM totals WHERE total = (SELECT max(total) FROM totals)", 1, 1, [(0,)]),
        (
            "WITH totals AS (SELECT k, sum(v) AS total FROM t GROUP BY k) SELECT a.k FROM totals a JOIN"
            " (SELECT max(k) AS last, max(total) AS most FROM totals) b ON a.k <= b.last AND a.total = b.most",
            1,
            1,
            [(0,)],
        ),
        (f"{TOTALS} SELECT count(*) FROM totals a JOIN totals b ON a.k = b.k AND a.total <= b.total", 1, 1, [(4,)]),
        (f"{TOTALS} SELECT count(*) FROM totals a JOIN totals b ON a.total <= b.total", 1, 1, [(10,)]),
        (f"{TOTALS} SELECT max(total) FROM totals UNION ALL SELECT min(total) FROM totals", 1, 1, [(44,), (60,)]),
        # The rows differ.
        (
            "SELECT a.k FROM (SELECT k, sum(v) AS total FROM t GROUP BY k) a JOIN"
            " (SELECT max(total) AS most FROM (SELECT k, sum(v) AS total FROM t WHERE v < 20 GROUP BY k) x) b"
            " ON a.total >= b.most",
            0,
            2,
            [(0,), (3,)],
        ),
        (
            "SELECT count(*) FROM (SELECT k, count(*) AS n FROM t WHERE rand() >= 0 GROUP BY k) a JOIN"
            " (SELECT max(n) AS most FROM (SELECT k, count(*) AS n FROM t WHERE rand() >= 0 GROUP BY k) x) b"
            " ON a.n = b.most",
            0,
            2,
            [(4,)],
        ),
    ],
    ids=[
        "cte",
        "columns in another order",
        "self join",
        "join of all pairs",
        "union",
        "other filter",
        "not deterministic",
    ],
)
def test_stages_and_rows(
    tables: sharkpy.SharkContext, text: str, num_shared: int, num_scans: int, rows: list[tuple[int, ...]]
) -> None:
    result = tables.sql(text)
    assert sorted(result.fetchall()) == rows
    profile = result.profile
    assert profile is not None
    assert sum(one.rule == "share_exchange" for one in profile.decisions) == num_shared
    assert sum("BlockScan" in stage.fragment.explain() for stage in profile.stages if stage.fragment) == num_scans


@pytest.mark.parametrize("is_same", [True, False])
def test_a_stage_that_reads_both(
    tables: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch, *, is_same: bool
) -> None:
    """Each exchange runs if the stage cannot read one of them in two ways."""
    if not is_same:
        ways = itertools.count()
        monkeypatch.setattr(plan_runner, "_way", lambda _: next(ways))
    tables.sql("SET shark.test.join = shuffle")
    try:
        result = tables.sql(f"{TOTALS} SELECT count(*) FROM totals a JOIN totals b ON a.k = b.k AND a.total <= b.total")
        assert result.fetchall() == [(4,)]
    finally:
        tables.sql("SET shark.test.join =")
    profile = result.profile
    assert profile is not None
    ran = [stage.exchange_id for stage in profile.stages if stage.exchange_id in (1, 2)]
    assert ran == ([1] if is_same else [1, 2])


def test_the_figures_of_both_readers(tables: sharkpy.SharkContext) -> None:
    text = f"{TOTALS} SELECT k FROM totals WHERE total = (SELECT max(total) FROM totals)"
    shown = "\n".join(row[0] for row in tables.sql(f"EXPLAIN ANALYZE {text}").fetchall())
    assert "exchange 2 is not run: it moves the rows of exchange 1" in shown
