"""Running of a session's plans, with admission and progress, and detection of a JVM that ended meanwhile."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sharkpy.base.errors import InternalError, SharkError, SparkLostError
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.restrictions import SCRIPT
from sharkpy.execution.spark.lost_jvm import converting_lost_jvm, jvm_lost_error

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.execution.stages.plan_runner import PlanRunner
    from sharkpy.execution.tables.snapshot import QuerySnapshot
    from sharkpy.physical.placement import PlacedPlan
    from sharkpy.physical.stage import Stage
    from sharkpy.physical.stage_program import BlockSink, FileSink
    from sharkpy.plan.logical import LogicalPlan


def new_runner(session: EngineSession, plan: PlacedPlan, description: str) -> PlanRunner:
    """Return a runner of the plan under the session's limits. Its profile is added to this thread's collector."""
    from sharkpy.base.settings import QUERY_MEMORY
    from sharkpy.execution.stages.plan_runner import PlanRunner
    from sharkpy.execution.stages.query_run import QueryRun
    from sharkpy.execution.stages.stage_recorder import stage_observer
    from sharkpy.execution.statement import Statement

    profiles = session.observers.profiles
    run = QueryRun(
        session.engine,
        session.observers.reporter(),
        description,
        is_profiled=profiles is not None,
        repair=session.table_cache.repair,
        note_reads=session.table_cache.note_reads,
        pool=session.pool,
        memory_limit=session.conf.value(QUERY_MEMORY),
        observer=stage_observer(session.engine, session.conf, description),
    )
    if isinstance(run.statement, Statement):
        run.profile.loads += run.statement.new_loads()
    if profiles is not None:
        profiles.append(run.profile)
    return PlanRunner(plan, run, session.conf)


def run_batches(
    session: EngineSession, runner: PlanRunner, only_stage: Stage | None = None
) -> Generator[pa.RecordBatch]:
    """Yield the rows of the plan; it runs when the query is admitted."""
    session.check_open()
    with _turn(session, runner):
        yield from runner.batches(only_stage)


def query_rows(
    session: EngineSession, plan: LogicalPlan, snapshot: QuerySnapshot | None = None
) -> Generator[pa.RecordBatch]:
    """Yield the rows of a query over the current tables, or over `snapshot`."""
    from sharkpy.execution.queries.plan_query import plan_query
    from sharkpy.execution.tables.snapshot import reading

    with reading(session.snapshot, snapshot) as seen:
        yield from run_batches(session, new_runner(session, plan_query(session, plan, seen), plan.label))


def run_to_sink(
    session: EngineSession, runner: PlanRunner, sink: FileSink | BlockSink, only_stage: Stage | None = None
) -> Sequence[object]:
    """Run the plan into a sink when it is admitted. Return the blocks or files that its tasks stored."""
    from sharkpy.execution.statement import Statement
    from sharkpy.execution.tasks.report import num_rows

    with _turn(session, runner):
        results = runner.to_sink(sink, only_stage=only_stage)
    if isinstance(runner.run.statement, Statement):
        stages = runner.run.profile.stages
        # Rows of WITH are not in a table that stays.
        if not runner.run.profile.table:
            runner.run.statement.rows_written = num_rows(results)
        runner.run.statement.changed_rows = sum(stage.changed_rows for stage in stages)
        runner.run.statement.malformed_rows += sum(stage.malformed_rows for stage in stages)
    return results


@contextlib.contextmanager
def _turn(session: EngineSession, runner: PlanRunner) -> Iterator[None]:
    from sharkpy.execution.stages.profile import run_text
    from sharkpy.execution.statement import PlanRun, Progress, Statement
    from sharkpy.physical.estimate import estimated_work
    from sharkpy.physical.plan_step import runs_scripts

    physical, run = runner.plan.root, runner.run
    if runs_scripts(physical):
        session.restrictions.check_code(SCRIPT)
    statement = run.statement
    if not isinstance(statement, Statement):
        yield
        return
    profile, start, tell = run.profile, time.perf_counter(), session.observers.reporter()

    def report(num_before: int) -> None:
        profile.queued_behind = max(profile.queued_behind, num_before)
        tell(Progress("queue", 0, 0, 0, 0, num_before))

    is_admitted = is_whole = False
    try:
        with session.admission.turn(estimated_work(physical), run.pool, statement, report):
            is_admitted, profile.queued_seconds = True, time.perf_counter() - start
            statement.progress = None
            yield
            is_whole = True
    finally:
        seconds = time.perf_counter() - start
        statement.add_run(seconds)
        statement.queued_seconds += profile.queued_seconds if is_admitted else seconds
        kept = PlanRun(profile, physical, is_whole)
        statement.keep_plan(kept, lambda: run_text(profile, physical, is_whole=is_whole))


@contextmanager
def detecting_lost_jvm(session: EngineSession) -> Iterator[None]:
    """Raise SparkLostError if the JVM has ended; the next job then starts another one.

    If another thread noticed it first, the remains of the context may fail with other errors. These become
    SparkLostError too.
    """
    before = _lost_sparks(session)
    try:
        with converting_lost_jvm():
            yield
    except SparkLostError:
        session.engine.await_lost_spark()
        raise
    except Exception as error:
        is_told = isinstance(error, SharkError) and not isinstance(error, InternalError)
        if not is_told and _lost_sparks(session) > before:
            raise jvm_lost_error() from error
        raise


def _lost_sparks(session: EngineSession) -> int:
    """Number of lost Sparks so far; does not create the engine."""
    engine = session.started_engine
    return 0 if engine is None else engine.lost_sparks
