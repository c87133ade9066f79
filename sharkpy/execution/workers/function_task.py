"""Picklable function of a job that calls a Python function once per number."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sharkpy.execution.tasks.failure import as_shark_error
from sharkpy.execution.tasks.report import TaskReport
from sharkpy.execution.workers.stop_file import ending_with_job
from sharkpy.udf.user.python_code import pickled


@dataclass(frozen=True, slots=True)
class FunctionTask:
    """Function of a job's tasks: task i returns `function(numbers[i], argument)`, pickled, as its only frame."""

    run_id: int
    function: Callable[[int, Any], Any]
    """Function in a module that workers have; it is pickled by name."""
    numbers: tuple[int, ...]
    argument: Any
    stop_dir: str = ""
    """Folder in which a file ends a job's tasks: see `stop_file`."""
    reports: Any = None
    """Spark accumulator for the report. A failed task reports its error instead of failing: no retry, no Java trace."""

    def __call__(self, partition: int, frames: Iterable[bytes]) -> Iterator[bytes]:
        # Spark does not reuse a worker that has not read all its input.
        deque(frames, maxlen=0)
        start, error = time.perf_counter(), None
        with ending_with_job(self.stop_dir):
            try:
                yield pickled(self.function(self.numbers[partition], self.argument))
            except Exception as failure:  # noqa: BLE001 - the driver gets any error
                error = as_shark_error(failure)
        self.reports.add([TaskReport(self.run_id, partition, seconds=time.perf_counter() - start, error=error)])
