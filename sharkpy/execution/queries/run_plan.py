"""Plans of a session are run: each when its turn has come, and heard of by those who listen."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING

from sharkpy.base.cancellation import current_cancellation
from sharkpy.execution.restrictions import SCRIPT

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.execution.stages.profile import QueryProfile
    from sharkpy.execution.stages.progress import Progress, ProgressListener
    from sharkpy.execution.stages.runner import Runner
    from sharkpy.execution.stages.stage import Stage
    from sharkpy.physical.plan import PhysicalPlan
    from sharkpy.physical.stage import BlockSink, FileSink
    from sharkpy.session.shark_context import SharkContext


class PlanObservers:
    """Those who hear how far a session's plans are, and the lists that take profiles of a thread's plans."""

    def __init__(self) -> None:
        self._listeners: list[ProgressListener] = []
        self._of_thread = threading.local()

    def add_listener(self, listener: ProgressListener) -> Callable[[], None]:
        """The returned call removes it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def reporter(self) -> ProgressListener:
        """Tells the listeners, and the statement that this thread works for."""
        from sharkpy.execution.statement import Statement

        statement = current_cancellation()

        def report(progress: Progress) -> None:
            for listener in list(self._listeners):
                listener(progress)
            if isinstance(statement, Statement):
                statement.report(progress)

        return report

    def notify(self, text: str) -> bool:
        """Tell a notice of the statement that this thread works for; False where nobody hears of it."""
        from sharkpy.execution.stages.progress import Progress
        from sharkpy.execution.statement import Statement

        statement = current_cancellation()
        if not self._listeners and not (isinstance(statement, Statement) and statement.has_listener):
            return False
        self.reporter()(Progress("notice", 0, 0, 0, 0, notice=text))
        return True

    @property
    def profiles(self) -> list[QueryProfile] | None:
        return getattr(self._of_thread, "profiles", None)

    @contextlib.contextmanager
    def taking_profiles(self) -> Iterator[list[QueryProfile]]:
        profiles: list[QueryProfile] = []
        self._of_thread.profiles = profiles
        try:
            yield profiles
        finally:
            self._of_thread.profiles = None


def new_runner(session: SharkContext, description: str) -> Runner:
    from sharkpy.execution.stages.runner import Runner

    profiles = session.observers.profiles
    runner = Runner(
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
    session: SharkContext, runner: Runner, physical: PhysicalPlan, only_stage: Stage | None
) -> Generator[pa.RecordBatch]:
    with _turn(session, runner, physical):
        yield from runner.batches(physical, only_stage)


def run_to_sink(
    session: SharkContext, runner: Runner, physical: PhysicalPlan, sink: FileSink | BlockSink
) -> Sequence[object]:
    from sharkpy.execution.statement import Statement
    from sharkpy.execution.tasks.report import num_rows

    with _turn(session, runner, physical):
        results = runner.to_sink(physical, sink)
    if isinstance(runner.statement, Statement):
        runner.statement.rows_written = num_rows(results)
    return results


@contextlib.contextmanager
def _turn(session: SharkContext, runner: Runner, physical: PhysicalPlan) -> Iterator[None]:
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
