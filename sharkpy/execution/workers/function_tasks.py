"""Picklable functions of jobs that run Python code: once per number, or over blocks."""

from __future__ import annotations

import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

from sharkpy.base.errors import CorruptionError, ExecutionError, SharkError
from sharkpy.base.records import dataclass
from sharkpy.columnar.block import Block
from sharkpy.columnar.block_writer import drop_from_memory
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.host import is_same_host
from sharkpy.columnar.store import open_block
from sharkpy.execution.tasks.error_conversion import as_shark_error
from sharkpy.execution.tasks.payloads import PAYLOAD_HEADER
from sharkpy.execution.tasks.report import TaskReport
from sharkpy.execution.workers.frames import send_frame
from sharkpy.execution.workers.task_failure import ending_with_job
from sharkpy.udf.user.python_code import RAISED, PythonCode, pickled, unpickled


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


BlockFunction = Callable[[int, Block, Any], Any]
"""Function of a pass over blocks, called with a block's number, the block, and the pass's argument."""
Numbered = tuple[int, BlockHandle]
_TRACE_LINES = 6


@dataclass(frozen=True, slots=True)
class PassTask:
    """Function of a pass's tasks: task i calls `function` on the blocks of `parts[i]`.

    Its only frame is the pickled list of (number, result). Lost or damaged blocks are skipped; the first of them is the
    error that the task reports.
    """

    run_id: int
    function: PythonCode
    parts: tuple[bytes, ...]
    """Pickled tuples of numbers and handles, by task."""
    argument: bytes
    """Pickled argument of the pass."""
    results_dir: str
    stop_dir: str = ""
    reports: Any = None

    def __call__(self, partition: int, frames: Iterable[bytes]) -> Iterator[Any]:
        # Spark does not reuse a worker that has not read all its input.
        deque(frames, maxlen=0)
        start = time.perf_counter()
        error: SharkError | None = None
        results: list[tuple[int, Any]] = []
        rows = 0
        with ending_with_job(self.stop_dir):
            try:
                function, argument = self.function.load(), unpickled(self.argument)
                for number, handle in unpickled(self.parts[partition]):
                    try:
                        results.append((number, call_on_block(function, number, handle, argument)))
                        rows += handle.num_rows
                    except CorruptionError as failure:
                        error = error or failure
                        if handle.host and is_same_host(handle.host):
                            # Only a task on that host can remove a block from the memory of a host other than the
                            # driver's.
                            drop_from_memory(handle.memory_path)
            except Exception as failure:  # noqa: BLE001 - the driver gets any error
                error = as_shark_error(failure)
            if results:
                frame = pa.py_buffer(bytes(PAYLOAD_HEADER) + pickled(results))
                yield send_frame(frame, self.results_dir, f"{self.run_id}-")
        seconds = time.perf_counter() - start
        self.reports.add([TaskReport(self.run_id, partition, rows, seconds=seconds, error=error)])


def call_on_block(function: BlockFunction, number: int, handle: BlockHandle, argument: Any) -> Any:
    """Call `function` on a mapped block. Raise ExecutionError naming function and block if it raises."""
    block = open_block(handle)
    try:
        return function(number, block, argument)
    except (SharkError, MemoryError):
        raise
    except Exception as error:
        lines = "".join(traceback.format_exception(error)).strip().splitlines()[-_TRACE_LINES:]
        name = getattr(function, "__name__", type(function).__name__)
        message = f'function "{name}" raised {type(error).__name__} on block {number}'
        raise ExecutionError("\n".join([f"{message}:", *lines]), sqlstate=RAISED) from error
