"""Steps of Python code between two queries of one task."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

import sharkpy
from sharkpy.base.errors import CancelledError, ExecutionError, InternalError
from sharkpy.execution.queries.plan_query import plan_query
from sharkpy.execution.queries.run_plan import new_runner, query_rows, run_batches
from sharkpy.execution.tasks import steps
from sharkpy.execution.tasks.steps.row_steps import StepRun
from sharkpy.explain.measured_tree import run_tree
from sharkpy.plan.expr import Call, ColumnRef, Expr, Literal, SortKey
from sharkpy.plan.logical import Aggregate, Distribute, Filter, Join, JoinKind, Limit, LogicalPlan, Sort, Step, Values
from sharkpy.plan.row_steps import RowStep
from sharkpy.values.types import BOOLEAN, INT, STRING
from tests.waiting import PATIENCE, allowed

A, B, X = ColumnRef(1, "a", INT), ColumnRef(2, "b", STRING), ColumnRef(3, "x", INT)


@dataclass(frozen=True, slots=True)
class Repeated(RowStep):
    """Step that repeats each row `times` times; -1: without an end. Fails after `fails_at` rows, if that is given."""

    times: int = 1
    fails_at: int | None = None


@dataclass(frozen=True, slots=True)
class Slept(RowStep):
    """Step that waits until it is ended."""


ended = threading.Event()
rows_taken: list[int] = []


def run_repeated(step: Repeated, rows: Iterator[pa.RecordBatch], run: StepRun) -> Iterator[pa.RecordBatch]:
    names = run.output.names
    given = 0
    try:
        for batch in rows:
            rows_taken.append(batch.num_rows)
            for _ in itertools.count() if step.times < 0 else range(step.times):
                if step.fails_at is not None and given >= step.fails_at:
                    raise ExecutionError("the step has failed", sqlstate="38000")
                given += batch.num_rows
                yield batch.rename_columns(list(names))
    finally:
        ended.set()


def run_slept(_: Slept, rows: Iterator[pa.RecordBatch], run: StepRun) -> Iterator[pa.RecordBatch]:
    woken = threading.Event()
    run.end.on_cancel(woken.set)
    for _batch in rows:
        woken.wait(20)
        run.end.check()
    yield from ()


@pytest.fixture(autouse=True)
def runners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(steps.RUNNERS, Repeated, run_repeated)
    monkeypatch.setitem(steps.RUNNERS, Slept, run_slept)
    ended.clear()
    rows_taken.clear()


def values(count: int) -> LogicalPlan:
    return Values((A, B), tuple((Literal(i, INT), Literal(f"s{i % 3}", STRING)) for i in range(count)))


def step(child: LogicalPlan, what: RowStep, passed: tuple[ColumnRef, ...] = ()) -> Step:
    return Step(child, what, (A,), (X,), passed)


def run(context: sharkpy.SharkContext, plan: LogicalPlan) -> list[tuple[object, ...]]:
    batches = query_rows(context, plan)
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def greater(column: ColumnRef, value: int) -> Expr:
    return Call("gt", (column, Literal(value, INT)), BOOLEAN)


def test_rows_go_through_a_step_in_the_order_below_it(context: sharkpy.SharkContext) -> None:
    below = Sort(Distribute(values(5), (B,)), (SortKey(A, ascending=False, nulls_first=False),), is_global=False)
    assert run(context, step(below, Repeated())) == [(4,), (3,), (2,), (1,), (0,)]


def test_columns_are_handed_on_beside_those_that_a_step_makes(context: sharkpy.SharkContext) -> None:
    assert run(context, step(values(2), Repeated(2), (B,))) == [("s0", 0), ("s1", 1), ("s0", 0), ("s1", 1)]


def test_an_argument_is_any_expression(context: sharkpy.SharkContext) -> None:
    doubled = Call("multiply", (A, Literal(2, INT)), INT)
    assert run(context, Step(values(3), Repeated(), (doubled,), (X,))) == [(0,), (2,), (4,)]


def test_queries_above_read_a_step_as_any_relation(context: sharkpy.SharkContext) -> None:
    plan = Filter(step(values(9), Repeated(2), (B,)), greater(X, 3))
    assert sorted(run(context, Aggregate(plan, (B,), ()))) == [("s0",), ("s1",), ("s2",)]


def test_steps_stand_on_and_beside_each_other(context: sharkpy.SharkContext) -> None:
    y, z = ColumnRef(5, "y", INT), ColumnRef(6, "z", INT)
    upper = Step(step(values(4), Repeated(2)), Repeated(), (X,), (y,))
    other = Step(values(4), Repeated(), (A,), (z,))
    joined = Join(upper, other, JoinKind.INNER, Call("eq", (y, z), BOOLEAN))
    assert sorted(run(context, joined)) == [(i, i) for i in range(4) for _ in range(2)]


def test_a_step_without_an_end_stops_with_its_reader(context: sharkpy.SharkContext) -> None:
    assert len(run(context, Limit(step(values(10), Repeated(-1)), 25))) == 25
    assert ended.wait(PATIENCE)


def test_closing_a_result_early_ends_its_step(context: sharkpy.SharkContext) -> None:
    batches = query_rows(context, step(values(10), Repeated(-1)))
    assert next(batches).num_rows == 10
    batches.close()  # type: ignore[attr-defined]
    assert ended.wait(PATIENCE)


def test_the_error_of_a_step_is_raised_as_it_is(context: sharkpy.SharkContext) -> None:
    for fails_at in (0, 5):
        with pytest.raises(ExecutionError, match="the step has failed") as raised:
            run(context, Aggregate(step(values(3), Repeated(100, fails_at)), (X,), ()))
        assert raised.value.sqlstate == "38000"


def test_an_error_below_a_step_is_raised_as_it_is(context: sharkpy.SharkContext) -> None:
    wrong = Step(values(3), Repeated(), (Call("raise_error", (Literal("no", STRING),), INT),), (X,))
    with pytest.raises(sharkpy.base.errors.SharkError, match="no"):
        run(context, wrong)


def test_a_description_without_a_runner_is_a_fault(
    context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(steps.RUNNERS, Repeated)
    with pytest.raises(InternalError, match="nothing carries out Repeated"):
        run(context, step(values(1), Repeated()))


def test_a_cancelled_statement_ends_a_step_that_waits(context: sharkpy.SharkContext) -> None:
    runner = new_runner(context, plan_query(context, step(values(1), Slept())), "a step that waits")
    timer = threading.Timer(0.2, runner.run.statement.cancel)
    timer.start()
    start = time.perf_counter()
    with pytest.raises(CancelledError):
        list(run_batches(context, runner))
    assert time.perf_counter() - start < allowed(5)


def test_rows_and_time_of_a_step_are_told(context: sharkpy.SharkContext) -> None:
    runner = new_runner(context, plan_query(context, step(values(7), Repeated(3))), "profiled")
    runner.run.is_profiled = True
    list(run_batches(context, runner))
    (line,) = [line for line in run_tree(runner.run.profile) if "Step Repeated" in line]
    assert line.split()[0] == "21"
    assert line.split()[4] in ("ms", "s")


def test_without_connections_of_its_own_a_task_has_no_steps(tmp_path: Path) -> None:
    import duckdb

    from sharkpy.execution.tasks.inputs import TaskData, TaskMetrics
    from sharkpy.execution.tasks.task import task_batches
    from sharkpy.physical.stage_program import ResultSink, StageProgram, StepColumns
    from sharkpy.values.types import Field, Schema

    schema = Schema((Field("c3", INT),))
    below = StageProgram("SELECT 1 AS c3", (), schema, ResultSink())
    program = StageProgram("", (StepColumns("in0", Repeated(), below, 0, schema),), schema, ResultSink())
    connection = duckdb.connect(str(tmp_path / "d"))
    with (
        pytest.raises(InternalError, match="one connection"),
        task_batches(program, TaskData(), connection, TaskMetrics()) as batches,
    ):
        list(batches)
