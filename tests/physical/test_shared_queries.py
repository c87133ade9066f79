"""Aggregations used twice are computed once, and only if they are the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

import sharkpy
from sharkpy.execution.queries.plan_query import bind_text, plan_query
from sharkpy.physical.lowering.lower_stage import lower_stage
from sharkpy.physical.operators import BlockScan
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.stage_program import ResultSink

TOTALS = "WITH totals AS (SELECT k, sum(v) AS total FROM t WHERE v > {low} GROUP BY k)"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w")) as opened:
        opened.sql("CREATE TABLE t (k INT, v INT) TBLPROPERTIES ('shark.cache'='MEMORY')")
        opened.sql("INSERT INTO t VALUES (1, 10), (1, 5), (2, 7), (3, 15), (NULL, 1), (2, NULL)")
        yield opened


@pytest.mark.parametrize(
    ("text", "num_scans", "rows"),
    [
        (f"{TOTALS.format(low=1)} SELECT k FROM totals WHERE total = (SELECT max(total) FROM totals)", 1, [(1,), (3,)]),
        (f"{TOTALS.format(low=1)} SELECT count(*) FROM totals a JOIN totals b ON a.total <= b.total", 1, [(7,)]),
        (
            f"{TOTALS.format(low=1)} SELECT a.k FROM totals a JOIN (SELECT k, sum(v) AS total FROM t WHERE v > 5"
            " GROUP BY k) b ON a.k = b.k AND a.total = b.total",
            2,
            [(2,), (3,)],
        ),
        (
            "SELECT a.k FROM (SELECT k, sum(v) AS s FROM t GROUP BY k) a"
            " JOIN (SELECT k, max(v) AS s FROM t GROUP BY k) b ON a.k = b.k AND a.s = b.s",
            2,
            [(2,), (3,)],
        ),
        (
            "SELECT count(*) FROM (SELECT k, count(*) AS n FROM t WHERE rand() >= 0 GROUP BY k) a"
            " JOIN (SELECT k, count(*) AS n FROM t WHERE rand() >= 0 GROUP BY k) b ON a.k = b.k",
            2,
            [(3,)],
        ),
        (
            f"{TOTALS.format(low=0)} SELECT k, total FROM totals WHERE total > 5 UNION ALL"
            " SELECT k, -total FROM totals WHERE total < 10",
            1,
            [(1, 15), (2, 7), (3, 15), (2, -7), (None, -1)],
        ),
    ],
    ids=["cte", "self join", "other filter", "other aggregate", "not deterministic", "union"],
)
def test_scans_and_rows(
    session: sharkpy.SharkContext, text: str, num_scans: int, rows: list[tuple[object, ...]]
) -> None:
    program = lower_stage(plan_query(session, bind_text(session, text)).root, ResultSink()).program
    assert len(program.inputs) == num_scans
    assert (" AS MATERIALIZED" in program.sql) == (num_scans == 1)
    assert sorted(session.sql(text).fetchall(), key=str) == sorted(rows, key=str)


def test_blocks_that_were_left_out_tell_aggregations_apart(session: sharkpy.SharkContext) -> None:
    """The learned filters of two joins may leave different blocks of one table to each of them."""
    session.sql("CREATE TABLE parts (k INT, v INT) TBLPROPERTIES ('shark.cache'='MEMORY')")
    for number in range(3):
        session.sql(f"INSERT INTO parts VALUES ({number}, 10), ({number}, 20)")
    totals = TOTALS.format(low=1).replace("FROM t", "FROM parts")
    text = f"{totals} SELECT count(*) FROM totals a JOIN totals b ON a.total <= b.total"
    plan = plan_query(session, bind_text(session, text)).root

    def num_scans(*places: Sequence[int]) -> int:
        kept = iter(places)

        def cut(node: PhysicalPlan) -> PhysicalPlan:
            return node.with_blocks(node.blocks.at(np.array(next(kept)))) if isinstance(node, BlockScan) else node

        return len(lower_stage(plan.transform_up(cut), ResultSink()).program.inputs)

    assert num_scans([0, 1, 2], [0, 1, 2]) == num_scans([0, 1], [0, 1]) == 1
    assert num_scans([0], [1]) == num_scans([0, 1, 2], [1]) == 2


def test_an_argument_of_many_states_is_written_once(session: sharkpy.SharkContext) -> None:
    text = (
        "SELECT k, sum(CAST(v AS DECIMAL(30,2)) / CAST(k AS DECIMAL(10,4))) AS total FROM t GROUP BY k ORDER BY total"
    )
    program = lower_stage(plan_query(session, bind_text(session, text)).root, ResultSink()).program
    assert program.sql.count("shark_divide_half_up") == 1
    assert [total and float(total) for _, total in session.sql(text).fetchall()] == [None, 3.5, 5, 15]
