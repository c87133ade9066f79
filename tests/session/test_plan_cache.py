"""Plans kept by a session: reused for the same text, and never after a change of anything they depend on."""

from __future__ import annotations

import datetime
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sharkpy
import sharkpy.execution.queries.plan_query as planning
from sharkpy.base.errors import TableNotFoundError
from sharkpy.plan.logical import LogicalPlan
from sharkpy.session import prepared_statement
from sharkpy.sql import context as binding_context

SUM = "SELECT sum(k) FROM t"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path / "w") as opened:
        opened.sql("CREATE TABLE t (k INT) TBLPROPERTIES ('shark.cache'='MEMORY'); INSERT INTO t VALUES (1), (2)")
        yield opened


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Bound texts, views among them."""
    texts: list[str] = []
    original = prepared_statement.bind

    def bind(text: str, *rest: object) -> object:
        texts.append(text)
        return original(text, *rest)

    monkeypatch.setattr(prepared_statement, "bind", bind)
    return texts


def one(session: sharkpy.SharkContext, text: str = SUM) -> object:
    return session.sql(text).fetchall()[0][0]


def test_a_text_is_planned_once(session: sharkpy.SharkContext, bound: list[str]) -> None:
    assert [one(session) for _ in range(3)] == [3, 3, 3]
    assert bound == [SUM]


def test_other_rows_are_planned_without_the_optimizer(
    session: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless a table that is joined has become much larger."""
    optimized: list[object] = []
    original = planning.optimize

    def optimize(plan: LogicalPlan, *rest: Any) -> LogicalPlan:
        optimized.append(plan)
        return original(plan, *rest)

    monkeypatch.setattr(planning, "optimize", optimize)
    session.sql("CREATE TABLE u AS SELECT 1 AS k").close()
    join = "SELECT count(*) FROM t JOIN u ON t.k = u.k"
    assert (one(session), one(session, join)) == (3, 1)
    session.sql("INSERT INTO t VALUES (1), (3)").close()
    optimized.clear()
    assert (one(session), one(session, join)) == (7, 2)
    assert not optimized
    session.sql("INSERT INTO t VALUES (1), (1), (1), (1), (1)").close()
    optimized.clear()
    assert (one(session), one(session, join)) == (12, 7)
    assert len(optimized) == 1
    session.sql("SET shark.optimizer.excluded.rules=reorder_joins").close()
    optimized.clear()
    assert one(session, join) == 7
    assert len(optimized) == 1


def test_an_optimised_plan_ends_with_its_query(session: sharkpy.SharkContext) -> None:
    session._shared.plans.clear()
    gc.collect()
    before = len(session.engine.optimized_plan_cache)
    one(session, "SELECT max(k) FROM t")
    assert len(session.engine.optimized_plan_cache) == before + 1
    session._shared.plans.clear()
    gc.collect()
    assert len(session.engine.optimized_plan_cache) == before


def test_a_plan_with_a_huge_constant_is_not_kept(session: sharkpy.SharkContext) -> None:
    """Its text is short; a thousand of them would be all the memory."""
    before = len(session._shared.plans)
    assert len(str(one(session, "SELECT repeat('x', 60000), repeat('y', 60000)"))) == 60_000
    assert len(session._shared.plans) == before
    one(session, "SELECT repeat('x', 10)")
    assert len(session._shared.plans) == before + 1


def test_results_of_one_plan_are_independent(session: sharkpy.SharkContext) -> None:
    text = "SELECT k FROM t ORDER BY k"
    first, second = session.sql(text), session.sql(text)
    assert [first.fetchone(), second.fetchone(), first.fetchone(), second.fetchone()] == [(1,), (1,), (2,), (2,)]
    assert first.profile is not second.profile


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("change", "sum_after"),
    [
        ("INSERT INTO t VALUES (10)", 13),
        ("INSERT OVERWRITE TABLE t VALUES (10)", 10),
        ("TRUNCATE TABLE t", None),
        ("DROP TABLE t; CREATE TABLE t (k INT); INSERT INTO t VALUES (7)", 7),
        ("DROP TABLE t; CREATE TABLE t (k DOUBLE); INSERT INTO t VALUES (0.5)", 0.5),
        ("CREATE TEMPORARY VIEW t AS SELECT 99 AS k", 99),
        ("CREATE DATABASE other; USE other; CREATE TABLE t AS SELECT 5 AS k", 5),
        ("ALTER TABLE t RENAME TO old; CREATE VIEW t AS SELECT k * 2 AS k FROM old", 6),
        ("UNCACHE TABLE t", 3),
        ("SET shark.pruning=false", 3),
    ],
)
def test_changes_are_seen(session: sharkpy.SharkContext, change: str, sum_after: object) -> None:
    assert [one(session), one(session)] == [3, 3]
    session.sql(change)
    assert [one(session), one(session)] == [sum_after, sum_after]


def test_a_dropped_table_is_missed(session: sharkpy.SharkContext) -> None:
    one(session)
    session.sql("DROP TABLE t")
    with pytest.raises(TableNotFoundError):
        session.sql(SUM)


def test_a_view_is_followed(session: sharkpy.SharkContext) -> None:
    session.sql("CREATE VIEW v AS SELECT k FROM t")
    assert one(session, "SELECT sum(k) FROM v") == 3
    session.sql("DROP VIEW v; CREATE VIEW v AS SELECT k + 1 AS k FROM t")
    assert one(session, "SELECT sum(k) FROM v") == 5


def test_another_session_on_the_warehouse(session: sharkpy.SharkContext, tmp_path: Path) -> None:
    assert one(session) == 3
    with sharkpy.connect("local[2]", tmp_path / "w") as other:
        other.sql("INSERT INTO t VALUES (4)")
        assert one(session) == 7
        other.sql("DROP TABLE t; CREATE TABLE t (k INT, j INT); INSERT INTO t VALUES (8, 0)")
        assert one(session) == 8


def test_files_of_a_table_that_is_not_cached(session: sharkpy.SharkContext, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    pq.write_table(pa.table({"k": pa.array([1, 2], pa.int32())}), folder / "a.parquet")
    session.sql(f"CREATE EXTERNAL TABLE e (k INT) STORED AS PARQUET LOCATION '{folder}'")
    text = "SELECT sum(k) FROM e"
    assert [one(session, text), one(session, text)] == [3, 3]
    pq.write_table(pa.table({"k": pa.array([5], pa.int32())}), folder / "b.parquet")
    assert one(session, text) == 8
    (folder / "a.parquet").unlink()
    assert one(session, text) == 5


def test_time_is_that_of_the_statement(session: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch) -> None:
    session.sql("CREATE VIEW today AS SELECT CURRENT_DATE AS d")
    first = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    for days in range(2):
        now = first + datetime.timedelta(days)
        monkeypatch.setattr(binding_context.StatementClock, "_read_clock", staticmethod(lambda now=now: now))
        assert one(session, "SELECT current_date") == now.date()
        assert one(session, "SELECT d FROM today") == now.date()
        assert one(session, "SELECT current_timestamp FROM t LIMIT 1") == now.replace(tzinfo=None)


def test_rand_is_drawn_each_time(session: sharkpy.SharkContext) -> None:
    assert one(session, "SELECT rand() FROM t") != one(session, "SELECT rand() FROM t")


def test_plans_are_bounded(session: sharkpy.SharkContext) -> None:
    from sharkpy.execution.queries.plan_cache import MOST_PLANS

    for number in range(MOST_PLANS + 5):
        session.sql(f"SELECT {number}")
    assert len(session._shared.plans) == MOST_PLANS
