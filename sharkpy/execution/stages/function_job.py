"""One RDD job that calls a function once for each of some numbers, and brings back what it returned."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from sharkpy.base.errors import InternalError, WorkersLostError
from sharkpy.execution.engine import Engine
from sharkpy.execution.spark.pools import DEFAULT_POOL, Pool
from sharkpy.execution.stages.task_job import TaskJob
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
    for attempt in itertools.count(1):
        job = TaskJob(engine, description, pool)
        task = FunctionTask(job.run_id, function, tuple(numbers), argument, engine.stop_dir)
        results: list[pa.Buffer] = []
        try:
            job.run(task, hosts or [""] * len(numbers), results.extend)
            return [unpickled(frame) for frame in results]  # type: ignore[arg-type]
        except WorkersLostError:
            if attempt == _MOST_RUNS:
                raise
    raise InternalError("a job ended without a result")
