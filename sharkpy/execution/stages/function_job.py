"""One RDD job that calls a function once for each of some numbers, and brings back what it returned."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from sharkpy.cancellation import Cancellation, current_cancellation
from sharkpy.errors import InternalError, WorkersLostError
from sharkpy.execution.engine import Engine
from sharkpy.execution.spark.pools import DEFAULT_POOL, Pool
from sharkpy.execution.stages.query_run import new_group
from sharkpy.execution.tasks.report import TaskReport
from sharkpy.execution.workers.function_task import FunctionTask
from sharkpy.udf.user.python_code import unpickled

_MOST_RUNS = 3
"""Times that a job is run where workers did not start."""


def run_functions(
    engine: Engine,
    function: Callable[[int, Any], Any],
    numbers: Sequence[int],
    argument: Any,
    description: str,
    pool: Pool = DEFAULT_POOL,
    hosts: Sequence[str] = (),
) -> list[Any]:
    """[function(number, argument) for each of `numbers`], as RDD tasks. The first error of a task is raised.

    A task may run twice, side by side too: the function gives the same for the same arguments. What it returns is
    small: data goes through the block store. `hosts`: where each task should run, "": no matter where.
    """
    statement = current_cancellation() or Cancellation()
    for attempt in itertools.count(1):
        jobs, group = engine.jobs, new_group()
        statement.check()
        stop_file = str(jobs.stop_file(group)) if engine.is_local else ""
        task = FunctionTask(jobs.new_run(), function, tuple(numbers), argument, stop_file)
        slots = jobs.placed_slots(tuple(hosts)) if any(hosts) else jobs.slots(len(numbers))
        frames = jobs.stage_rdd(slots, task)
        forget = statement.on_cancel(lambda jobs=jobs, group=group: jobs.cancel(group))  # type: ignore[misc]
        try:
            with jobs.job_group(group, description, pool), jobs.reported(task.run_id, _not_heard):
                results = jobs.collect(frames, range(len(numbers)), is_all=True)
                jobs.check_tasks(task.run_id, range(len(numbers)))
            statement.check()
            return [unpickled(frame) for frame in results]  # type: ignore[arg-type]
        except WorkersLostError:
            if attempt == _MOST_RUNS:
                raise
        finally:
            forget()
    raise InternalError("a job ended without a result")


def _not_heard(report: TaskReport) -> None:
    """Nobody follows the job's tasks."""
