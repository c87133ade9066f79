"""Runs lowered stages for one query: in this process, or as RDD jobs over blocks, splits and exchanges."""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sharkpy.columnar.handle import BlockHandle
from sharkpy.errors import CancelledError, CorruptionError, InternalError, SharkError
from sharkpy.execution.borrowed import Borrowed
from sharkpy.execution.broadcast import BroadcastSource, broadcast_table, drop_broadcast, send_broadcast
from sharkpy.execution.build_keys import key_values
from sharkpy.execution.engine import Engine
from sharkpy.execution.exchange import (
    ExchangeInput,
    ExchangeOutput,
    HeldOutput,
    collect_payloads,
    pack_tasks,
    payload_rdd,
    release,
    run_map_stage,
)
from sharkpy.execution.failure import as_shark_error
from sharkpy.execution.inputs import TaskData, TaskMetrics
from sharkpy.execution.jobs import SparkJobs, payload_batches, raise_task_error, split_by_partition
from sharkpy.execution.profile import QueryProfile, StageProfile, stage_profile
from sharkpy.execution.progress import Progress, ProgressListener, ignore_progress
from sharkpy.execution.report import BlockResult, FileResult, TaskReport
from sharkpy.execution.sinks import Payload, SinkContext, encode_payload
from sharkpy.execution.task import run_task, task_batches
from sharkpy.execution.worker import StageTask
from sharkpy.physical.stage import BlockSink, BroadcastColumns, ExchangeColumns, StageProgram, TaskInput
from sharkpy.types import Schema, arrow_schema

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from sharkpy.expr import Expr
    from sharkpy.physical.learned_filters import KeyValues
    from sharkpy.physical.operators import ExchangeRead
    from sharkpy.physical.plan import PhysicalPlan


_WAVES_AHEAD = 4
"""Tasks of a wave of results, per core: what the driver holds at most is two waves."""


_MOST_REPAIRS = 3
"""Times that a stage is run again after lost blocks were made anew."""
Repair = Callable[[Sequence[BlockHandle]], None]
"""Makes those of the blocks anew that are lost or damaged; CorruptionError where one cannot be."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A program, its tasks, and its name; exchanges in `singles` are read whole by the first task."""

    program: StageProgram
    tasks: tuple[TaskInput, ...]
    label: str = "stage"
    singles: frozenset[int] = frozenset()
    fragment: PhysicalPlan | None = None
    """The operators that the program was made of."""
    leaves: tuple[tuple[str, PhysicalPlan], ...] = ()
    """What the program's relations read, by name."""


@dataclass(slots=True)
class StageRunner:
    """One query's stages, exchanges and broadcasts. `cancel` may come from any thread; `close` frees the exchanges."""

    engine: Engine
    progress: ProgressListener = ignore_progress
    description: str = "query"
    profile: QueryProfile = field(default_factory=QueryProfile)
    is_profiled: bool = False
    """Whether DuckDB measures each operator, for EXPLAIN ANALYZE."""
    repair: Repair | None = None
    group: str = field(default_factory=lambda: f"sharkpy-{uuid.uuid4().hex}")
    _outputs: dict[int, ExchangeOutput] = field(default_factory=dict)
    _tables: dict[int, pa.Table] = field(default_factory=dict)
    _sources: dict[int, BroadcastSource] = field(default_factory=dict)
    _connections: list[DuckDBPyConnection] = field(default_factory=list)
    _cancelled: threading.Event = field(default_factory=threading.Event)

    # In this process

    def driver_batches(self, stage: Stage) -> Iterator[pa.RecordBatch]:
        """The stage's rows, computed here with all cores, as they come."""
        start = time.perf_counter()
        metrics = TaskMetrics(is_profiled=self.is_profiled)
        for part in stage.tasks:
            yield from self._part_batches(stage, part, metrics)
        self._note(stage, "driver", len(stage.tasks), [_driver_report(metrics, start)], start)

    def _part_batches(self, stage: Stage, part: TaskInput, metrics: TaskMetrics) -> Iterator[pa.RecordBatch]:
        for attempt in itertools.count():
            is_begun = False
            try:
                with self._connection() as connection:
                    batches = task_batches(stage.program, self._data(stage, part), connection, metrics)
                    with batches as stream:
                        for batch in stream:
                            is_begun = True
                            yield batch
                            self._check()
                return
            except GeneratorExit:
                raise
            except BaseException as error:
                if is_begun or not self._is_mended(error, stage, attempt):
                    raise self._failure(error) from error

    def driver_results(self, stage: Stage) -> list[BlockResult | FileResult]:
        """What the stage's block or file sink stored, run here."""
        start = time.perf_counter()
        results: list[BlockResult | FileResult] = []
        metrics = TaskMetrics(is_profiled=self.is_profiled)
        for number, part in enumerate(stage.tasks):
            results += self._part_results(stage, part, self._sink_context(stage, number), metrics)
        self._note(stage, "driver", len(stage.tasks), [_driver_report(metrics, start)], start)
        return results

    def _part_results(
        self, stage: Stage, part: TaskInput, context: SinkContext, metrics: TaskMetrics
    ) -> list[BlockResult | FileResult]:
        for attempt in itertools.count():
            results: list[BlockResult | FileResult] = []
            try:
                with self._connection() as connection:
                    for output in run_task(stage.program, self._data(stage, part), connection, context, metrics):
                        self._check()
                        if not isinstance(output, Payload):
                            results.append(output)
                break
            except BaseException as error:
                if results or not self._is_mended(error, stage, attempt):
                    raise self._failure(error) from error
        return results

    def hold_in_driver(self, stage: Stage, exchange_id: int) -> tuple[int, tuple[int, ...]]:
        """As `hold_exchange`, with the stage run in this process."""
        return self._hold(stage, exchange_id, list(self.driver_batches(stage)))

    def key_values(self, read: ExchangeRead, key: Expr) -> KeyValues | None:
        """The values of `key` over the rows of an exchange that tasks read whole."""
        table = self._whole(read.exchange_id, read.schema)
        with self._connection() as connection:
            try:
                return key_values(read, key, table, connection)
            except BaseException as error:
                raise self._failure(error) from error

    def _connection(self) -> Borrowed:
        return Borrowed(self.engine, self._connections)

    def _data(self, stage: Stage, part: TaskInput) -> TaskData:
        payloads = {}
        for spec in stage.program.inputs:
            if isinstance(spec, ExchangeColumns):
                payloads[spec.exchange_id] = self._payloads(spec.exchange_id)
        broadcasts = {spec.exchange_id: self._table(spec) for spec in _broadcasts(stage)}
        return TaskData(part, payloads, broadcasts)

    def _sink_context(self, stage: Stage, number: int) -> SinkContext:
        settings = self.engine.task_settings()
        writer = self.engine.store.writer() if isinstance(stage.program.sink, BlockSink) else None
        return SinkContext(number, 0, writer, settings.block_bytes, settings.force_encoding)

    # As RDD jobs

    def run_exchange(self, stage: Stage, exchange_id: int, num_buckets: int) -> tuple[int, tuple[int, ...]]:
        """Run a map stage; returns the rows it wrote and the bytes of each bucket."""
        start = time.perf_counter()
        jobs = self.engine.jobs

        def run(frames: Any) -> ExchangeOutput:
            return run_map_stage(jobs, frames, exchange_id, num_buckets)

        output, reports = self._run_whole(stage, exchange_id, run)
        count = len(reports)
        self._outputs[exchange_id] = output
        self._note(stage, "rdd", count, reports, start, exchange_id, output.bytes_per_bucket)
        return sum(report.rows_out for report in reports), output.bytes_per_bucket

    def hold_exchange(self, stage: Stage, exchange_id: int, max_rows: int | None = None) -> tuple[int, tuple[int, ...]]:
        """Run a stage whose rows the driver keeps: a build side to broadcast, or the rows that a LIMIT wants.

        With `max_rows` no task is started once there are that many.
        """
        rows = 0
        kept: list[pa.RecordBatch] = []
        for batch in self.batches(stage, max_rows, exchange_id):
            kept.append(batch)
            rows += batch.num_rows
            if max_rows is not None and rows >= max_rows:
                break
        return self._hold(stage, exchange_id, kept)

    def _hold(self, stage: Stage, exchange_id: int, kept: list[pa.RecordBatch]) -> tuple[int, tuple[int, ...]]:
        payload = encode_payload(exchange_id, arrow_schema(stage.program.output), kept)
        output = HeldOutput(exchange_id, (payload,))
        self._outputs[exchange_id] = output
        return sum(batch.num_rows for batch in kept), output.bytes_per_bucket

    def batches(
        self, stage: Stage, first_rows: int | None = None, exchange_id: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The stage's rows in the order of its tasks, in waves of tasks: one is read while the next one runs.

        With `first_rows` the waves start small: the reader wants no more than that many rows.
        """
        jobs = self.engine.jobs
        given = 0
        for attempt in itertools.count():
            start = time.perf_counter()
            frames, run_id, count = self._stage_frames(jobs, stage, None)
            waves = _waves(count, self.engine.parallelism, starts_small=first_rows is not None)
            listener = self._listener(jobs, stage, count)
            reports: list[TaskReport] = []
            try:
                with jobs.reported(run_id, listener) as reports:
                    for wave in self._wave_frames(jobs, frames, run_id, waves[given:], count):
                        for frame in wave:
                            yield from payload_batches(frame)
                        given += 1
                return
            except CorruptionError as error:
                # Waves that were not given out are run again: tasks give the same rows each time.
                if not self._is_mended(error, stage, attempt):
                    raise
            finally:
                self._note(stage, "rdd", len(reports), reports, start, exchange_id)

    def results(self, stage: Stage) -> list[BlockResult | FileResult]:
        """What the tasks' block or file sinks stored, in the order of tasks."""
        return [result for report in self.task_reports(stage) for result in report.results]

    def task_reports(self, stage: Stage) -> list[TaskReport]:
        """The reports of tasks whose sinks store blocks or files, in the order of tasks."""
        start = time.perf_counter()
        jobs = self.engine.jobs

        def run(frames: Any) -> None:
            jobs.collect(frames, range(len(stage.tasks)), is_all=True)

        _, reports = self._run_whole(stage, None, run)
        self._note(stage, "rdd", len(reports), reports, start)
        return reports

    def _run_whole(
        self, stage: Stage, exchange_id: int | None, run: Callable[[Any], Any]
    ) -> tuple[Any, list[TaskReport]]:
        """What one job over all tasks gives, and their reports; run again where blocks were lost and made anew."""
        jobs = self.engine.jobs
        for attempt in itertools.count():
            frames, run_id, count = self._stage_frames(jobs, stage, exchange_id)
            listener = self._listener(jobs, stage, count)
            reports: list[TaskReport] = []
            try:
                with jobs.job_group(self.group, self.description), jobs.reported(run_id, listener) as reports:
                    output = run(frames)
                break
            except BaseException as error:
                self._discard_blocks(reports)
                if not self._is_mended(error, stage, attempt):
                    raise
        self._check()
        return output, reports

    def _discard_blocks(self, reports: Sequence[TaskReport]) -> None:
        handles = [one.handle for report in reports for one in report.results if isinstance(one, BlockResult)]
        if handles:
            self.engine.store.adopt(handles)
            self.engine.store.release([handle.block_id for handle in handles], durable=True)

    def _is_mended(self, error: BaseException, stage: Stage, attempt: int) -> bool:
        """Whether `error` told of a lost or damaged block, and all such blocks of the stage are whole again."""
        if not isinstance(error, CorruptionError) or error.block_id is None or self.repair is None:
            return False
        if attempt >= _MOST_REPAIRS or self._cancelled.is_set():
            return False
        self.repair([handle for part in stage.tasks for _, handles in part.blocks for handle in handles])
        # Tasks of the failed run may still be on their way to being cancelled under its name.
        self.group = f"sharkpy-{uuid.uuid4().hex}"
        return True

    def _wave_frames(
        self, jobs: SparkJobs, frames: Any, run_id: int, waves: Sequence[range], count: int
    ) -> Iterator[list[pa.Buffer]]:
        """The frames of each wave in order, one wave ahead of the reader."""

        def run(wave: range) -> list[pa.Buffer]:
            with jobs.job_group(self.group, self.description):
                return jobs.collect(frames, wave, is_all=wave == range(count))

        if len(waves) == 1:
            yield self._ordered(run(waves[0]), jobs, run_id)
            return
        executor = ThreadPoolExecutor(1, thread_name_prefix="sharkpy-wave")
        ahead: Future[list[pa.Buffer]] | None = executor.submit(run, waves[0])
        try:
            for following in [*waves[1:], None]:
                if ahead is None:
                    break
                current = ahead.result()
                raise_task_error(jobs.book.seen(run_id))
                ahead = executor.submit(run, following) if following is not None else None
                yield self._ordered(current, jobs, run_id)
        finally:
            if ahead is not None and not ahead.done():
                jobs.cancel(self.group)
            executor.shutdown(wait=True, cancel_futures=True)

    def _ordered(self, frames: list[pa.Buffer], jobs: SparkJobs, run_id: int) -> list[pa.Buffer]:
        raise_task_error(jobs.book.seen(run_id))
        self._check()
        parts = split_by_partition(frames)
        return [frame for partition in sorted(parts) for frame in parts[partition]]

    def _stage_frames(self, jobs: SparkJobs, stage: Stage, exchange_id: int | None) -> tuple[Any, int, int]:
        """The stage's RDD, the number of this run, and how many tasks it has."""
        self._check()
        inputs = self._exchange_inputs(stage)
        parts = _pickled_parts(stage.tasks)
        if not inputs:
            count = len(stage.tasks)
            base = jobs.slots(count)
        else:
            planned = len(stage.tasks)
            alone = [range(task, task + 1) for task in range(planned)]
            # Tasks that differ in nothing but their buckets can be packed.
            is_packed = len(set(parts)) <= 1
            runs = pack_tasks(inputs, planned, self.engine.parallelism) if is_packed else alone
            count = len(runs)
            base = payload_rdd(jobs, inputs, runs)
        run_id = jobs.new_run()
        broadcasts = tuple((spec.exchange_id, self._source(jobs, spec)) for spec in _broadcasts(stage))
        writer = self.engine.store.writer() if isinstance(stage.program.sink, BlockSink) else None
        settings = replace(self.engine.task_settings(writer), is_profiled=self.is_profiled)
        task = StageTask(run_id, stage.program, parts, broadcasts, exchange_id, settings)
        return jobs.stage_rdd(base, task), run_id, count

    def _exchange_inputs(self, stage: Stage) -> list[ExchangeInput]:
        ids = dict.fromkeys(spec.exchange_id for spec in stage.program.inputs if isinstance(spec, ExchangeColumns))
        single = len(stage.tasks) == 1
        return [ExchangeInput(self._output(one), single or one in stage.singles) for one in ids]

    # Exchanges and broadcasts that earlier stages made

    def _output(self, exchange_id: int) -> ExchangeOutput:
        if exchange_id not in self._outputs:
            raise InternalError(f"exchange {exchange_id} was read before it was written")
        return self._outputs[exchange_id]

    def is_held(self, exchange_id: int) -> bool:
        """Whether the exchange's rows lie in the driver."""
        return isinstance(self._outputs.get(exchange_id), HeldOutput)

    def _payloads(self, exchange_id: int) -> list[pa.Buffer]:
        output = self._output(exchange_id)
        if isinstance(output, HeldOutput):
            return list(output.payloads)
        return collect_payloads(self.engine.jobs, output)

    def _table(self, spec: BroadcastColumns) -> pa.Table:
        return self._whole(spec.exchange_id, spec.schema)

    def _whole(self, exchange_id: int, schema: Schema) -> pa.Table:
        if exchange_id not in self._tables:
            self._tables[exchange_id] = broadcast_table(self._payloads(exchange_id), arrow_schema(schema))
        return self._tables[exchange_id]

    def _source(self, jobs: SparkJobs, spec: BroadcastColumns) -> BroadcastSource:
        if spec.exchange_id not in self._sources:
            table = self._table(spec)
            source = send_broadcast(table, self.engine.scratch, self.engine.is_local, jobs.context)
            self._sources[spec.exchange_id] = source
        return self._sources[spec.exchange_id]

    # Watching and ending

    def cancel(self) -> None:
        """End what runs; the reader of batches gets CancelledError."""
        self._cancelled.set()
        for connection in list(self._connections):
            connection.interrupt()
        if self.engine.is_spark_started:
            self.engine.jobs.cancel(self.group)

    def close(self) -> None:
        """Free the exchanges and broadcasts of the query. Idempotent."""
        for source in self._sources.values():
            drop_broadcast(source)
        if self.engine.is_spark_started:
            release(self.engine.jobs, self._outputs.values())
        self._sources, self._outputs, self._tables = {}, {}, {}

    def _check(self) -> None:
        if self._cancelled.is_set():
            raise CancelledError("the query was cancelled")

    def _failure(self, error: BaseException) -> SharkError:
        self._check()
        return as_shark_error(error)

    def _listener(self, jobs: SparkJobs, stage: Stage, total: int) -> Callable[[TaskReport], None]:
        """Called as each task ends, in a thread of pyspark's; the first error ends the stage's other tasks."""
        done = rows = 0
        failed = False

        def listen(report: TaskReport) -> None:
            nonlocal done, rows, failed
            done, rows = done + 1, rows + report.rows_in
            if report.error is not None and not failed and done < total:
                failed = True
                threading.Thread(target=jobs.cancel, args=(self.group,), daemon=True).start()
            self.progress(Progress(stage.label, len(self.profile.stages), done, total, rows))

        return listen

    def _note(
        self,
        stage: Stage,
        placement: str,
        count: int,
        reports: Sequence[TaskReport],
        start: float,
        exchange_id: int | None = None,
        sizes: tuple[int, ...] = (),
    ) -> None:
        seconds = time.perf_counter() - start
        noted: StageProfile = stage_profile(
            stage.label, placement, count, reports, seconds, exchange_id, sizes, stage.fragment, stage.leaves
        )
        self.profile.stages.append(noted)


def _driver_report(metrics: TaskMetrics, start: float) -> TaskReport:
    seconds = time.perf_counter() - start
    figures = (metrics.rows_in, metrics.rows_out, metrics.bytes_out)
    return TaskReport(0, 0, *figures, seconds, metrics.read, operators=tuple(metrics.operators))


def _broadcasts(stage: Stage) -> list[BroadcastColumns]:
    return [spec for spec in stage.program.inputs if isinstance(spec, BroadcastColumns)]


def _pickled_parts(tasks: Sequence[TaskInput]) -> tuple[bytes, ...]:
    """Each task's part of the data; equal parts are one object, which is sent once."""
    if not any(part.blocks or part.splits for part in tasks):
        return ()
    if all(part == tasks[0] for part in tasks[1:]):
        return (_pickled(tasks[0]),) * len(tasks)
    return tuple(map(_pickled, tasks))


def _pickled(part: TaskInput) -> bytes:
    from pyspark.serializers import CPickleSerializer

    return bytes(CPickleSerializer().dumps(part))  # type: ignore[no-untyped-call]


def _waves(count: int, parallelism: int, *, starts_small: bool) -> list[range]:
    """Partitions in runs: of some tasks per core each, or starting with one per core and growing."""
    waves: list[range] = []
    size = parallelism if starts_small else parallelism * _WAVES_AHEAD
    start = 0
    while start < count:
        waves.append(range(start, min(count, start + size)))
        start += size
        if starts_small:
            size *= _WAVES_AHEAD
    return waves or [range(0)]
