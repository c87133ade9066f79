"""RDD job whose tasks read no exchange. It ends with its statement and prefers given hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa

from sharkpy.base.cancellation import Cancellation, current_cancellation
from sharkpy.base.errors import SharkError
from sharkpy.execution.engine import Engine
from sharkpy.execution.spark.pools import Pool
from sharkpy.execution.stages.query_run import new_group
from sharkpy.execution.tasks.report import TaskReport
from sharkpy.execution.workers.function_task import FunctionTask
from sharkpy.execution.workers.pass_task import PassTask


class TaskJob:
    """Job that runs once; its task needs the job's `run_id`."""

    def __init__(self, engine: Engine, description: str, pool: Pool) -> None:
        self._statement = current_cancellation() or Cancellation()
        self._statement.check()
        self._jobs, self._group = engine.jobs, new_group()
        self._description, self._pool = description, pool
        self.run_id = self._jobs.new_run()

    def run(
        self, task: FunctionTask | PassTask, hosts: Sequence[str], take: Callable[[Iterable[pa.Buffer]], object]
    ) -> None:
        """Pass the frames of all tasks to `take`, then raise the first error that a task reported.

        `hosts` are the tasks' preferred hosts, "" for any.
        """
        jobs, numbers = self._jobs, range(len(hosts))
        slots = jobs.placed_slots(tuple(hosts)) if any(hosts) else jobs.slots(len(hosts))
        forget = self._statement.on_cancel(lambda: jobs.cancel(self._group))
        try:
            with jobs.job_group(self._group, self._description, self._pool), jobs.reported(self.run_id, _unheard):
                take(jobs.collect(jobs.stage_rdd(slots, task), numbers, is_all=True))
                jobs.check_tasks(self.run_id, numbers)
        except SharkError:
            self._statement.check()
            raise
        finally:
            forget()
        self._statement.check()


def _unheard(report: TaskReport) -> None:
    """Ignore the report."""
