"""Plans of a session run: each when its turn has come, and heard of by those who listen."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING

from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.restrictions import SCRIPT

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.execution.stages.plan_runner import PlanRunner
    from sharkpy.execution.tables.snapshot import QuerySnapshot
    from sharkpy.physical.plan import PhysicalPlan
    from sharkpy.physical.sinks import BlockSink, FileSink
    from sharkpy.physical.stage import Stage
    from sharkpy.plan.logical import LogicalPlan


def new_runner(session: EngineSession, description: str) -> PlanRunner:
    from sharkpy.execution.stages.plan_runner import PlanRunner

    profiles = session.observers.profiles
    runner = PlanRunner(
        session.engine,
        session.conf,
        session.observers.reporter(),
        description,
        is_profiled=profiles is not None,
        repair=session.table_cache.repair,
        pool=session.pool,
    )
    if profiles is not None:
        profiles.append(runner.profile)
    return runner


def run_batches(
    session: EngineSession, runner: PlanRunner, physical: PhysicalPlan, only_stage: Stage | None = None
) -> Generator[pa.RecordBatch]:
    """The plan's rows, when the query's turn has come."""
    session.check_open()
    with _turn(session, runner, physical):
        yield from runner.batches(physical, only_stage)


def query_rows(
    session: EngineSession, plan: LogicalPlan, snapshot: QuerySnapshot | None = None
) -> Generator[pa.RecordBatch]:
    """The rows of a query over the tables as they are now, or as they are in `snapshot`."""
    from sharkpy.execution.queries.plan_query import plan_query
    from sharkpy.execution.tables.snapshot import reading

    with reading(session.snapshot, snapshot) as seen:
        yield from run_batches(session, new_runner(session, plan.label), plan_query(session, plan, seen))


def run_to_sink(
    session: EngineSession, runner: PlanRunner, physical: PhysicalPlan, sink: FileSink | BlockSink
) -> Sequence[object]:
    from sharkpy.execution.statement import Statement
    from sharkpy.execution.tasks.report import num_rows

    with _turn(session, runner, physical):
        results = runner.to_sink(physical, sink)
    if isinstance(runner.statement, Statement):
        runner.statement.rows_written = num_rows(results)
    return results


@contextlib.contextmanager
def _turn(session: EngineSession, runner: PlanRunner, physical: PhysicalPlan) -> Iterator[None]:
    from sharkpy.execution.stages.progress import Progress
    from sharkpy.execution.statement import Statement
    from sharkpy.physical.plan_step import runs_scripts
    from sharkpy.physical.work import work_rows

    if runs_scripts(physical):
        session.restrictions.check_code(SCRIPT)
    statement = runner.statement
    if not isinstance(statement, Statement):
        yield
        return
    profile, start, tell = runner.profile, time.perf_counter(), session.observers.reporter()

    def report(num_before: int) -> None:
        profile.queued_behind = max(profile.queued_behind, num_before)
        tell(Progress("queue", 0, 0, 0, 0, num_before))

    with session.admission.turn(work_rows(physical), runner.pool, statement, report):
        profile.queued_seconds = time.perf_counter() - start
        yield
