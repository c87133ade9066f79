"""The TPC-H queries through parser, binder and optimizer."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

import pytest

from sharkpy.base.settings import Conf
from sharkpy.optimizer.optimize import optimize
from sharkpy.plan.logical import Filter, Join, JoinKind, LogicalPlan, Scan
from sharkpy.plan.subqueries import SUBQUERIES
from tests.optimizer.tpch_statistics import ROWS, TpchStatistics
from tests.sql.memory_catalog import plan_of

QUERIES = sorted((Path(__file__).parents[2] / "bench" / "queries" / "tpch").glob("q*.sql"))
PUSHED = {
    "q01": {"lineitem"},
    "q03": {"lineitem", "orders", "customer"},
    "q05": {"orders", "region"},
    "q06": {"lineitem"},
    "q19": {"lineitem", "part"},
}


@cache
def bound(path: Path) -> LogicalPlan:
    return plan_of(path.read_text(), database="tpch")


@cache
def optimized(path: Path) -> LogicalPlan:
    return optimize(bound(path), TpchStatistics(), Conf())


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_joins_are_all_there_is(path: Path) -> None:
    plan = optimized(path)
    assert plan.output == bound(path).output
    for node in plan.walk():
        assert not any(isinstance(inner, SUBQUERIES) for expr in node.expressions for inner in expr.walk())
        assert not (isinstance(node, Join) and node.kind is JoinKind.CROSS)
        assert not (isinstance(node, Filter) and isinstance(node.child, Scan))


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_lineitem_is_never_built_into_a_hash_table_of_an_inner_join(path: Path) -> None:
    for node in optimized(path).walk():
        if isinstance(node, Join) and node.kind is JoinKind.INNER:
            right = node.right
            while not isinstance(right, (Scan, Join)) and len(right.children) == 1:
                right = right.children[0]
            whole = isinstance(right, Scan) and right.table.name == "lineitem" and right.predicate is None
            assert not whole or "Aggregate" in node.right.explain()


@pytest.mark.parametrize("name", sorted(PUSHED))
def test_predicates_reach_the_scans(name: str) -> None:
    (path,) = [path for path in QUERIES if path.stem == name]
    filtered = {node.table.name for node in optimized(path).walk() if isinstance(node, Scan) and node.predicate}
    assert filtered == PUSHED[name]


def test_unused_columns_are_not_read() -> None:
    for path in QUERIES:
        for node in optimized(path).walk():
            if isinstance(node, Scan) and node.table.name in ("lineitem", "orders", "part"):
                assert len(node.columns) <= 8 < len(node.table.schema) + 1


def test_optimizing_is_fast() -> None:
    """Far above what is measured (3 ms), so that a busy machine passes and a blow-up does not."""
    assert set(ROWS)
    for path in QUERIES:
        optimized(path)
        plan = bound(path)
        best = min(_seconds(plan) for _ in range(3))
        assert best < 0.05, path.stem


def _seconds(plan: LogicalPlan) -> float:
    conf = Conf({"shark.test.rules": "false"})
    start = time.perf_counter()
    optimize(plan, TpchStatistics(), conf)
    return time.perf_counter() - start
