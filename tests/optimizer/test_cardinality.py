"""Estimates of the TPC-H queries' joins against how many rows they really give."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import sharkpy
from sharkpy.execution.queries.plan_query import bind_text, plan_steps
from sharkpy.execution.queries.run_plan import query_rows
from sharkpy.optimizer.context import Context
from sharkpy.optimizer.estimate import estimate_rows
from sharkpy.plan.expr import AggregateCall, Alias
from sharkpy.plan.logical import Aggregate, Join, LogicalPlan
from sharkpy.values.types import BIGINT, from_arrow

SCALE = 0.1
MEDIAN, FIFTH, TENTH = 1.5, 10.0, 50.0
"""Bounds of the q-error (the greater of estimate and truth over the lesser): half of the joins, a fifth, a tenth."""
QUERIES = sorted((Path(__file__).parents[2] / "bench" / "queries" / "tpch").glob("q*.sql"))


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    suites = pytest.importorskip("bench.suites")
    data = suites.SUITES["tpch"].data(SCALE)
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w"), **{"shark.block.rows": 100_000}) as opened:
        for folder in sorted(path for path in data.iterdir() if path.is_dir()):
            schema = pq.read_schema(next(folder.glob("*.parquet")))
            columns = ", ".join(f"`{field.name}` {from_arrow(field.type)}" for field in schema)
            opened.sql(
                f"CREATE EXTERNAL TABLE {folder.name} ({columns}) STORED AS PARQUET LOCATION '{folder}'"
                " TBLPROPERTIES ('shark.cache'='MEMORY_ONLY')"
            ).close()
        yield opened


def q_errors(session: sharkpy.SharkContext, path: Path) -> Iterator[tuple[float, str]]:
    bound = bind_text(session, path.read_text().strip().rstrip(";"))
    assert isinstance(bound, LogicalPlan)
    optimized, _ = plan_steps(session, bound)
    for node in optimized.walk():
        if isinstance(node, Join):
            estimate = max(estimate_rows(node, Context(node, session.snapshot(), session.conf)), 1.0)
            truth = max(true_rows(session, node), 1)
            yield max(estimate / truth, truth / estimate), f"{path.stem} {node.label}: {estimate:.0f} of {truth}"


def true_rows(session: sharkpy.SharkContext, node: LogicalPlan) -> int:
    total = Alias(AggregateCall("count", (), BIGINT), 1_000_000, "n")
    (batch,) = (batch for batch in query_rows(session, Aggregate(node, (), (total,))) if batch.num_rows)
    return int(batch.column(0)[0].as_py())


@pytest.mark.slow
def test_joins_are_estimated_well(session: sharkpy.SharkContext) -> None:
    found = sorted((error for path in QUERIES for error in q_errors(session, path)), reverse=True)
    for error, text in found:
        print(f"{error:8.2f}  {text}")
    errors = [error for error, _ in found]
    assert len(errors) > 50
    assert statistics.median(errors) <= MEDIAN
    assert errors[len(errors) // 5] <= FIFTH
    assert errors[len(errors) // 10] <= TENTH
