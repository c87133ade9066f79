"""RDD jobs that call a Python function: once per number, or over blocks in a pass.

A pass runs in threads of this process if the blocks are few. Lost blocks are rebuilt.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from typing import Any

import pyarrow as pa

from sharkpy.base.cancellation import Cancellation, check_cancelled, current_cancellation, submit
from sharkpy.base.errors import CorruptionError, InternalError, SharkError, WorkersDiedError, WorkersLostError
from sharkpy.base.records import dataclass
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.store import is_caused_by_damage
from sharkpy.execution.blas_threads import one_blas_thread
from sharkpy.execution.engine import Engine
from sharkpy.execution.spark.pools import DEFAULT_POOL, Pool
from sharkpy.execution.stages.query_run import Repair, new_group
from sharkpy.execution.tasks.payloads import PAYLOAD_HEADER
from sharkpy.execution.tasks.report import TaskReport
from sharkpy.execution.workers.frames import receive_frame, remove_frames
from sharkpy.execution.workers.function_tasks import FunctionTask, Numbered, PassTask, call_on_block
from sharkpy.udf.user.python_code import PythonCode, pickled, unpickled


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
            with jobs.job_group(self._group, self._description, self._pool), jobs.reported(self.run_id, _ignore_report):
                take(jobs.collect(jobs.stage_rdd(slots, task), numbers, is_all=True))
                jobs.check_tasks(self.run_id, numbers)
        except SharkError:
            self._statement.check()
            raise
        finally:
            forget()
        self._statement.check()


def _ignore_report(report: TaskReport) -> None:
    """Ignore the report."""


_MOST_FUNCTION_RUNS = 3
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
            if attempt == _MOST_FUNCTION_RUNS:
                raise
    raise InternalError("a job ended without a result")


_MOST_PASS_RUNS = 4
"""Number of runs for the missing parts of a pass after blocks or workers were lost."""
_Failure = CorruptionError | WorkersDiedError | WorkersLostError


@dataclass(slots=True)
class BlockPasses:
    """Passes over the same blocks; the parts of tasks are pickled once."""

    engine: Engine
    handles: tuple[BlockHandle, ...]
    repair: Repair
    pool: Pool = DEFAULT_POOL
    _parts: tuple[bytes, ...] = ()
    _hosts: tuple[str, ...] = ()
    num_tasks: int = field(default=0)
    """Number of RDD tasks started by all passes."""

    def run(self, function: PythonCode, argument: Any, description: str, *, in_driver: bool) -> list[Any]:
        """Return [function(number, block, argument) for each block], in order.

        If a run meets lost blocks, its other results are kept: after the repair only the missing ones run.
        """
        found: dict[int, Any] = {}
        packed = b"" if in_driver else pickled(argument)
        for attempt in range(_MOST_PASS_RUNS):
            check_cancelled()
            rest = [(number, handle) for number, handle in enumerate(self.handles) if number not in found]
            error: _Failure | None
            if in_driver:
                error = self._run_here(function, argument, rest, found)
            else:
                error = self._run_job(function, packed, rest, found, description)
            if error is None:
                return [found[number] for number in range(len(self.handles))]
            lost = [handle for number, handle in rest if number not in found]
            is_of_damage = is_caused_by_damage(error, lost)
            if attempt + 1 == _MOST_PASS_RUNS or not (is_of_damage or isinstance(error, WorkersLostError)):
                raise error
            if is_of_damage:
                self.repair(lost)
        raise AssertionError("the last run returns or raises")

    def _run_here(
        self, function: PythonCode, argument: Any, rest: Sequence[Numbered], found: dict[int, Any]
    ) -> CorruptionError | None:
        loaded = function.load()
        lost: CorruptionError | None = None
        cores = min(len(rest), os.cpu_count() or 1)
        with one_blas_thread(), ThreadPoolExecutor(cores, thread_name_prefix="sharkpy-pass") as threads:
            runs = [(number, submit(threads, _call_here, loaded, number, handle, argument)) for number, handle in rest]
            try:
                for number, run in runs:
                    try:
                        found[number] = run.result()
                    except CorruptionError as error:
                        lost = lost or error
            except BaseException:
                threads.shutdown(wait=True, cancel_futures=True)
                raise
        return lost

    def _run_job(
        self, function: PythonCode, argument: bytes, rest: Sequence[Numbered], found: dict[int, Any], description: str
    ) -> _Failure | None:
        engine = self.engine
        parts, hosts = self._dealt(rest)
        results_dir = engine.results_dir if engine.is_local else ""
        job = TaskJob(engine, description, self.pool)
        task = PassTask(job.run_id, function, parts, argument, results_dir, engine.stop_dir)
        self.num_tasks += len(parts)

        def take(frames: Iterable[pa.Buffer]) -> None:
            for frame in frames:
                found.update(unpickled(memoryview(receive_frame(frame))[PAYLOAD_HEADER:]))

        try:
            job.run(task, hosts, take)
        except (CorruptionError, WorkersDiedError, WorkersLostError) as error:
            return error
        finally:
            remove_frames(engine.results_dir, f"{job.run_id}-")
        return None

    def _dealt(self, rest: Sequence[Numbered]) -> tuple[tuple[bytes, ...], tuple[str, ...]]:
        """Return the pickled blocks of each task, and its preferred host."""
        if len(rest) == len(self.handles) and self._parts:
            return self._parts, self._hosts
        dealt = deal_blocks(rest, self.engine.parallelism)
        parts, hosts = tuple(map(pickled, dealt)), tuple(part[0][1].host for part in dealt)
        if len(rest) == len(self.handles):
            self._parts, self._hosts = parts, hosts
        return parts, hosts


def deal_blocks(blocks: Sequence[Numbered], num_tasks: int) -> list[tuple[Numbered, ...]]:
    """Divide the blocks into at most `num_tasks` parts of about equal bytes; more parts if there are more hosts.

    Each part has blocks of one host.
    """
    by_host: dict[str, list[Numbered]] = {}
    for block in blocks:
        by_host.setdefault(block[1].host, []).append(block)
    total = sum(handle.size_bytes for _, handle in blocks) or 1
    parts: list[tuple[Numbered, ...]] = []
    for held in by_host.values():
        size = sum(handle.size_bytes for _, handle in held)
        parts += _cut(held, max(1, min(len(held), round(num_tasks * size / total))))
    return parts


def _cut(blocks: Sequence[Numbered], count: int) -> list[tuple[Numbered, ...]]:
    """Cut the blocks, in order, into at most `count` parts of about equal bytes."""
    parts: list[list[Numbered]] = [[] for _ in range(count)]
    total = sum(handle.size_bytes for _, handle in blocks) or 1
    before = 0
    for block in blocks:
        middle = before + block[1].size_bytes / 2
        parts[min(count - 1, int(middle * count / total))].append(block)
        before += block[1].size_bytes
    return [tuple(part) for part in parts if part]


def _call_here(function: Callable[..., Any], number: int, handle: BlockHandle, argument: Any) -> Any:
    check_cancelled()
    return call_on_block(function, number, handle, argument)
