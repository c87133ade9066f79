"""RDD job that calls a function once per number and returns the results."""

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
"""Number of runs if workers do not start."""


def run_functions(
    engine: Engine,
    function: Callable[[int, Any], Any],
    numbers: Sequence[int],
    argument: Any,
    description: str,
    pool: Pool = DEFAULT_POOL,
    hosts: Sequence[str] = (),
) -> list[Any]:
    """Return [function(number, argument) for each of `numbers`], computed by RDD tasks. Raise the first task's error.

    A task may run twice, even at the same time, so the function must be deterministic. Its result should be small: data
    goes through the block store. `hosts` are the tasks' preferred hosts, "" for any.
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
