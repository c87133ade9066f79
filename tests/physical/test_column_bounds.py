"""Programs are made of what is known of columns, and of no block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

import sharkpy
from sharkpy.execution.queries.bind_text import bind_text
from sharkpy.execution.queries.plan_query import plan_query
from sharkpy.physical.column_bounds import ColumnBounds
from sharkpy.physical.lowering.lower_stage import lower_stage
from sharkpy.physical.operators import BlockScan, BlockSet
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.sinks import ResultSink
from sharkpy.physical.stage_program import StageProgram

SHARED = "WITH s AS (SELECT word, sum(n) AS total FROM t GROUP BY word)"
QUERIES = (
    "SELECT n FROM t",
    "SELECT sum(n), sum(price), avg(price * (1 - price)) FROM t WHERE day > DATE '2024-01-01'",
    "SELECT word, kind, count(*) FROM t GROUP BY word, kind",
    "SELECT a.word, sum(a.n) FROM t a LEFT SEMI JOIN t b ON a.n = b.n WHERE a.price < 3 GROUP BY a.word",
    f"{SHARED} SELECT word FROM s WHERE total = (SELECT max(total) FROM s)",
    "SELECT n, row_number() OVER (PARTITION BY word ORDER BY day) FROM t",
)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w")) as opened:
        opened.sql(
            "CREATE TABLE t (n INT, price DECIMAL(10,2), day DATE, word STRING, kind STRING)"
            " TBLPROPERTIES ('shark.cache'='MEMORY')"
        )
        opened.sql("INSERT INTO t VALUES (1, 1.5, DATE '2024-02-01', 'a', 'x'), (2, 2.5, DATE '2024-02-02', 'b', NULL)")
        opened.sql("INSERT INTO t VALUES (300, NULL, DATE '2024-03-01', 'a', 'y')")
        yield opened


def planned(session: sharkpy.SharkContext, text: str) -> PhysicalPlan:
    return plan_query(session, bind_text(session, text)).root  # type: ignore[arg-type]


def program(plan: PhysicalPlan) -> StageProgram:
    return lower_stage(plan, ResultSink()).program


@pytest.mark.parametrize("text", QUERIES)
def test_a_program_is_the_same_without_blocks(session: sharkpy.SharkContext, text: str) -> None:
    def emptied(node: PhysicalPlan) -> PhysicalPlan:
        return replace(node, blocks=BlockSet("t", 0, 0, 0, ())) if isinstance(node, BlockScan) else node

    plan = planned(session, text)
    empty = plan.transform_up(emptied)
    assert all(scan.blocks.num_rows == 0 for scan in empty.walk() if isinstance(scan, BlockScan))
    assert program(empty) == program(plan)


@pytest.mark.parametrize("text", QUERIES)
def test_bounds_make_a_program(session: sharkpy.SharkContext, text: str) -> None:
    def unbounded(node: PhysicalPlan) -> PhysicalPlan:
        return replace(node, bounds=ColumnBounds()) if isinstance(node, BlockScan) else node

    plan = planned(session, text)
    assert program(plan.transform_up(unbounded)) != program(plan)


def test_fewer_blocks_have_fewer_rows(session: sharkpy.SharkContext) -> None:
    scan = next(node for node in planned(session, "SELECT n FROM t").walk() if isinstance(node, BlockScan))
    assert scan.bounds.most_rows == 3
    first = scan.with_blocks(scan.blocks.at(scan.blocks.numbers()[:1]))
    assert (first.blocks.is_cut, first.bounds.most_rows) == (True, first.blocks.num_rows)
    assert scan.with_blocks(scan.blocks.at(scan.blocks.numbers())) == scan
    assert ColumnBounds().with_rows(7).with_rows(9) == ColumnBounds(most_rows=7)
