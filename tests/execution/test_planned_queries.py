"""Queries that come again run by the plan that DuckDB made before, over the rows that there are now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sharkpy
from sharkpy.execution.tasks import planned_queries
from tests.rows import rows


@pytest.fixture
def session(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path, shark_kernels="never") as opened:
        opened.sql("CREATE TABLE t (k INT, v INT, s STRING) TBLPROPERTIES ('shark.cache' = 'MEMORY')")
        opened.sql("INSERT INTO t SELECT id, id % 10, CAST(id AS STRING) FROM range(1000) AS r (id)")
        yield opened


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the queries that were planned to run again."""
    made: list[Any] = []
    original = planned_queries._PlannedQueries._prepared

    def noted(self: Any, *args: Any) -> Any:
        made.append(original(self, *args))
        return made[-1]

    monkeypatch.setattr(planned_queries._PlannedQueries, "_prepared", noted)
    return made


def test_a_query_is_planned_when_it_comes_again(session: sharkpy.SharkContext, planned: list[Any]) -> None:
    query = "SELECT v, count(*) FROM t WHERE s LIKE '1%' GROUP BY v ORDER BY v"
    answers = [rows(session, query) for _ in range(4)]
    assert answers[1:] == answers[:1] * 3
    (plan,) = planned
    assert plan.execute.startswith("EXECUTE ")
    assert [len(source.obj) for parts in plan.sources.values() for source in parts] == [0]


def test_it_reads_the_rows_that_there_are_now(session: sharkpy.SharkContext, planned: list[Any]) -> None:
    query = "SELECT count(*), max(s), sum(v) FROM t WHERE k >= 990"
    for number in range(1000, 1006):
        assert rows(session, query) == rows(session, query) == rows(session, query)
        assert rows(session, query)[0][0] == number - 990
        session.sql(f"INSERT INTO t VALUES ({number}, 1, 'x')")
    assert all(planned)


def test_many_more_rows_or_other_types_are_planned_again(session: sharkpy.SharkContext, planned: list[Any]) -> None:
    queries = planned_queries._PlannedQueries()
    with session.engine.pool.borrow() as connection:

        def answer(values: dict[str, list[Any]]) -> list[Any]:
            tables = {"in0": [pa.table(values)]}
            found = queries.find(connection, "SELECT count(c1), max(c1) FROM in0", tables)
            if found is None:
                return []
            with found.over(tables) as execute:
                return list(connection.execute(execute).fetchall())

        assert answer({"c1": [1, 2, 3]}) == []
        assert answer({"c1": [1, 2, 3]}) == [(3, 3)]
        assert answer({"c1": [7, 2, 3, 4]}) == [(4, 7)]
        assert len(planned) == 1
        assert answer({"c1": ["a", "b"]}) == [(2, "b")]
        assert len(planned) == 2
        assert answer({"c1": [str(one) for one in range(50_000)]}) == [(50_000, "9999")]
        assert len(planned) == 3


def test_only_the_last_queries_are_kept(
    session: sharkpy.SharkContext, planned: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned_queries, "_MOST_QUERIES", 3)
    for _ in range(3):
        for number in range(6):
            assert rows(session, f"SELECT max(k) + {number} FROM t WHERE s LIKE '%5'") == [(995 + number,)]
    assert planned == []
    for _ in range(3):
        rows(session, "SELECT max(k) FROM t WHERE s LIKE '%3'")
    assert len(planned) == 1


def test_kernels_find_their_statement(session: sharkpy.SharkContext, planned: list[Any]) -> None:
    query = (
        "SELECT sum(CAST(v AS DECIMAL(38,10)) * CAST('12345678901234567890' AS DECIMAL(38,10))) FROM t WHERE s > '5'"
    )
    assert len({str(rows(session, query)) for _ in range(3)}) == 1
    assert len(planned) == 1


def test_an_error_of_a_run_leaves_the_plan(session: sharkpy.SharkContext, planned: list[Any]) -> None:
    query = "SELECT k FROM t WHERE v = (SELECT v FROM t WHERE s = 'x') AND k < 3"
    session.sql("INSERT INTO t VALUES (2000, 1, 'x')")
    assert rows(session, query) == rows(session, query) == rows(session, query) == [(1,)]
    session.sql("INSERT INTO t VALUES (2001, 2, 'x')")
    for _ in range(3):
        with pytest.raises(sharkpy.errors.ExecutionError, match="more than one row"):
            rows(session, query)
    session.sql("DELETE FROM t WHERE k = 2001")
    assert rows(session, query) == rows(session, query) == [(1,)]


def test_large_results_are_streamed_by_all_threads(
    session: sharkpy.SharkContext, planned: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned_queries, "_MOST_RESULTS", 100)
    for _ in range(3):
        assert len(rows(session, "SELECT k, v FROM t WHERE s LIKE '%3%'")) > 100
    assert planned == []
    for _ in range(3):
        assert len(rows(session, "SELECT k, v FROM t WHERE s LIKE '%3%' AND v = 5")) < 100
    assert len(planned) == 1
