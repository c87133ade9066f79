"""Folds are bound once, and again when something that they depend on has changed."""

from __future__ import annotations

import gc
import itertools
import time
import weakref
from pathlib import Path
from typing import Any

import pytest

import sharkpy
from sharkpy.catalog.continuous_query import ContinuousQuery
from sharkpy.optimizer import optimized_plan_cache
from sharkpy.plan.logical import LogicalPlan
from sharkpy.streaming import state_folding
from sharkpy.streaming.state_folding import BoundFoldCache, StateFolds
from tests.rows import rows
from tests.streaming.clauses import MEMORY
from tests.streaming.folder_input import make_stream, put_numbers
from tests.waiting import until

FEW = {"shark.stream.kept.epochs": 2, "shark.compaction.min.blocks": 3}
NAMED = "SELECT name, count(*) AS c FROM numbers JOIN names ON n % 3 = names.k GROUP BY name"


pytestmark = pytest.mark.settings(FEW)


@pytest.fixture
def context(context: sharkpy.SharkContext, folder: Path) -> sharkpy.SharkContext:
    make_stream(context, folder)
    context.sql("CREATE TABLE names (k INT, name STRING)")
    context.sql("INSERT INTO names VALUES (0, 'a'), (1, 'b'), (2, 'c')")
    return context


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether the folded rows are the first ones, for each time that a fold is bound."""
    found = list[bool]()
    bind = state_folding.bind_state_folds

    def noted(*arguments: Any, is_first: bool) -> tuple[LogicalPlan, ...]:
        found.append(is_first)
        return bind(*arguments, is_first=is_first)

    monkeypatch.setattr(state_folding, "bind_state_folds", noted)
    return found


@pytest.fixture
def folded(monkeypatch: pytest.MonkeyPatch) -> list[LogicalPlan]:
    """Plans of folds that were written."""
    found = list[LogicalPlan]()
    write = state_folding.write_files

    def noted(session: Any, plan: LogicalPlan, *arguments: Any) -> Any:
        found.append(plan)
        return write(session, plan, *arguments)

    monkeypatch.setattr(state_folding, "write_files", noted)
    return found


def make(context: sharkpy.SharkContext, query: str, clauses: str = MEMORY) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {clauses} WITH UNBOUNDED STATE AS {query}")


def epochs(context: sharkpy.SharkContext, folder: Path, query: str, wanted: range) -> None:
    """Let the table read numbers, one an epoch; it has the rows of its query over the whole stream, before and after
    its state is folded.
    """

    def is_same() -> bool:
        return sorted(rows(context, "SELECT * FROM t"), key=repr) == sorted(rows(context, query), key=repr)

    for number in wanted:
        put_numbers(folder, f"{number:03}.json", [number])
        until(is_same)
        until(lambda: not context.streams._queries._folds._begun)
        assert is_same()


def test_a_fold_is_bound_and_optimised_once(
    context: sharkpy.SharkContext,
    folder: Path,
    bound: list[bool],
    folded: list[LogicalPlan],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = list[LogicalPlan]()
    keep = optimized_plan_cache.OptimizedPlanCache.keep

    def noted(self: optimized_plan_cache.OptimizedPlanCache, query: LogicalPlan, *arguments: Any) -> None:
        kept.append(query)
        keep(self, query, *arguments)

    monkeypatch.setattr(optimized_plan_cache.OptimizedPlanCache, "keep", noted)
    query = "SELECT n % 4 AS k, count(*) AS c, max(s) AS last FROM numbers GROUP BY n % 4"
    make(context, query)
    epochs(context, folder, query, range(20))
    assert len(folded) > 3
    assert bound == [True]
    assert len({id(plan) for plan in folded}) == 1
    assert [plan is folded[0] for plan in kept].count(True) == 1


@pytest.mark.slow
def test_another_table_of_a_join(context: sharkpy.SharkContext, folder: Path, bound: list[bool]) -> None:
    make(context, NAMED)
    epochs(context, folder, NAMED, range(10))
    assert bound == [True]
    # Other rows do not bind a fold again.
    context.sql("INSERT INTO names VALUES (7, 'h')")
    epochs(context, folder, NAMED, range(10, 16))
    assert bound == [True]
    context.sql("ALTER TABLE names ADD COLUMNS (more INT)")
    epochs(context, folder, NAMED, range(16, 22))
    assert bound == [True, True]
    context.sql("DROP TABLE names")
    context.sql("CREATE TABLE names (name STRING, k INT)")
    context.sql("INSERT INTO names VALUES ('a', 0), ('b', 1), ('c', 2)")
    epochs(context, folder, NAMED, range(22, 28))
    assert bound == [True, True, True]


def test_another_stream(context: sharkpy.SharkContext, folder: Path, bound: list[bool]) -> None:
    query = "SELECT n % 2 AS k, count(s) AS c FROM numbers GROUP BY n % 2"
    make(context, query, "")
    epochs(context, folder, query, range(10))
    context.sql("ALTER TABLE numbers ADD COLUMNS (more INT)")
    epochs(context, folder, query, range(10, 16))
    assert bound == [True, True]


@pytest.mark.slow
def test_rows_of_a_rollback_are_folded_too(context: sharkpy.SharkContext, folder: Path, bound: list[bool]) -> None:
    """There are no rows before them, so the fold is not bound again."""
    query = "SELECT n % 2 AS k, count(*) AS c FROM numbers GROUP BY n % 2"
    make(context, query)
    epochs(context, folder, query, range(10))
    assert bound == [True]
    context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 9")
    epochs(context, folder, query, range(10, 30))
    assert bound == [True]


@pytest.mark.slow
def test_another_query(context: sharkpy.SharkContext, folder: Path, bound: list[bool]) -> None:
    query = "SELECT n % 2 AS k, count(*) AS c FROM numbers GROUP BY n % 2"
    make(context, query)
    epochs(context, folder, query, range(10))
    other = "SELECT k + 0 AS k, c * 2 AS c FROM (SELECT n % 2 AS k, count(*) AS c FROM numbers GROUP BY n % 2) x"
    context.sql(f"ALTER CONTINUOUS TABLE t AS {other}")
    epochs(context, folder, other, range(10, 20))
    assert bound == [True, True]


def test_nothing_is_kept_of_a_query_that_ends_while_an_epoch_runs(
    context: sharkpy.SharkContext, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, made = "SELECT n % 2 AS k, count(*) AS c FROM numbers GROUP BY n % 2", list[weakref.ref[BoundFoldCache]]()
    make(context, query)
    epochs(context, folder, query, range(5))
    begin, more = StateFolds.begin, itertools.count(5)

    def begun(self: StateFolds, query: ContinuousQuery, bound: BoundFoldCache) -> None:
        if not made:
            made.append(weakref.ref(bound))
            context.streams.forget(query.query_id)
        begin(self, query, bound)

    def has_begun() -> bool:
        number = next(more)
        put_numbers(folder, f"{number:03}.json", [number])
        time.sleep(0.05)
        return bool(made)

    def is_gone() -> bool:
        gc.collect()
        return made[0]() is None

    monkeypatch.setattr(StateFolds, "begin", begun)
    until(has_begun)
    until(is_gone)


def test_a_query_that_names_the_time(
    context: sharkpy.SharkContext, folder: Path, bound: list[bool], folded: list[LogicalPlan]
) -> None:
    """A plan with the time is for one run."""
    query = "SELECT n % 2 AS k, count(*) AS c FROM numbers WHERE current_date() > DATE '2020-01-01' GROUP BY n % 2"
    make(context, query)
    epochs(context, folder, query, range(12))
    assert len(folded) > 1
    assert len(bound) == len(folded)


@pytest.mark.slow
def test_a_session_that_begins(tmp_path: Path, folder: Path, bound: list[bool]) -> None:
    query = "SELECT n % 2 AS k, count(*) AS c FROM numbers GROUP BY n % 2"
    for session in range(3):
        with sharkpy.connect("local[2]", tmp_path / "w", **FEW) as context:
            if session == 0:
                make_stream(context, folder)
                make(context, query)
            context.streams.start()
            epochs(context, folder, query, range(10 * session, 10 * session + 10))
        assert bound == [True] * (session + 1)
