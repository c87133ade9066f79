"""Runs lowered stages for one query: in this process, or as RDD jobs over blocks, splits and exchanges."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sharkpy.cancellation import Cancellation, current_cancellation
from sharkpy.columnar.handle import BlockHandle
from sharkpy.errors import CorruptionError, InternalError, ResourceError, SharkError, WorkersLostError
from sharkpy.execution.borrowed import HeldConnections
from sharkpy.execution.broadcast import BroadcastSource, broadcast_table, drop_broadcast, send_broadcast
from sharkpy.execution.build_keys import key_values
from sharkpy.execution.collectors import merge_collected
from sharkpy.execution.connection import ConnectionPool
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
    task_sizes,
)
from sharkpy.execution.failure import as_shark_error
from sharkpy.execution.frame_files import remove_frames
from sharkpy.execution.held_rows import hold_rows
from sharkpy.execution.inputs import TaskData, TaskMetrics
from sharkpy.execution.jobs import SparkJobs, payload_batches, split_by_partition
from sharkpy.execution.pools import DEFAULT_POOL, Pool
from sharkpy.execution.profile import QueryProfile, StageProfile, stage_profile
from sharkpy.execution.progress import Progress, ProgressListener, ignore_progress
from sharkpy.execution.report import BlockResult, FileResult, TaskReport
from sharkpy.execution.sinks import Payload, SinkContext
from sharkpy.execution.task import run_task, task_batches
from sharkpy.execution.worker import StageTask
from sharkpy.optimizer.replan.pack_buckets import Packed, packing_decision
from sharkpy.physical.distribution import DealtBuckets, ExchangeStatistics
from sharkpy.physical.stage import (
    BlockColumns,
    BlockSink,
    BroadcastColumns,
    ExchangeColumns,
    RangeSink,
    StageProgram,
    TaskInput,
)
from sharkpy.physical.task_inputs import merged, preferred_host
from sharkpy.types import Schema, arrow_schema

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from sharkpy.columnar.block_writer import BlockWriter
    from sharkpy.columnar.executor_store import ExecutorWriter
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


def new_group() -> str:
    """A name for the Spark jobs of a query, or of a part of it."""
    return f"sharkpy-{uuid.uuid4().hex}"


@dataclass(frozen=True, slots=True)
class Stage:
    """A program, its tasks, and its name; exchanges in `singles` are read whole by the first task."""

    program: StageProgram
    tasks: tuple[TaskInput, ...]
    label: str = "stage"
    singles: frozenset[int] = frozenset()
    dealt: tuple[tuple[int, DealtBuckets], ...] = field(default=(), kw_only=True)
    """Which task reads which bucket of an exchange, where that is not bucket i by task i."""
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
    group: str = field(default_factory=new_group)
    _name: str = field(default_factory=lambda: uuid.uuid4().hex[:16])
    _outputs: dict[int, ExchangeOutput] = field(default_factory=dict)
    _tables: dict[int, pa.Table] = field(default_factory=dict)
    _sources: dict[int, BroadcastSource] = field(default_factory=dict)
    pool: Pool = DEFAULT_POOL
    """The session's share of Spark's tasks."""
    memory_limit: int = 0
    """Bytes that the query may use in this process, of DuckDB's and of rows held; 0: what there is."""
    statement: Cancellation = field(default_factory=lambda: current_cancellation() or Cancellation())
    """What ends the query from outside: this thread's statement."""
    _connections: HeldConnections = field(default_factory=HeldConnections)
    _own_database: ConnectionPool | None = None
    _forget: Callable[[], None] = field(default=lambda: None)

    def __post_init__(self) -> None:
        self._forget = self.statement.on_cancel(self._stop)

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

    def driver_results(self, stage: Stage, only_tasks: frozenset[int] | None = None) -> list[BlockResult | FileResult]:
        """What the stage's block or file sink stored, run here; of `only_tasks`, where there are others."""
        start = time.perf_counter()
        results: list[BlockResult | FileResult] = []
        metrics = TaskMetrics(is_profiled=self.is_profiled)
        for number, part in enumerate(stage.tasks):
            if only_tasks is not None and number not in only_tasks:
                continue
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

    def hold_in_driver(self, stage: Stage, exchange_id: int) -> ExchangeStatistics:
        """As `hold_exchange`, with the stage run in this process."""
        return self.hold(stage.program.output, exchange_id, self.driver_batches(stage))

    def key_values(self, read: ExchangeRead, key: Expr) -> KeyValues | None:
        """The values of `key` over the rows of an exchange that tasks read whole."""
        table = self._whole(read.exchange_id, read.schema)
        with self._connection() as connection:
            try:
                return key_values(read, key, table, connection)
            except BaseException as error:
                raise self._failure(error) from error

    @contextmanager
    def _connection(self) -> Iterator[DuckDBPyConnection]:
        with self._connections.borrowed(self._database) as connection:
            self._check()
            yield connection

    @property
    def _database(self) -> ConnectionPool:
        """The session's, or one of the query's own where its memory is limited."""
        if not self.memory_limit:
            return self.engine.pool
        if self._own_database is None:
            self._own_database = ConnectionPool(replace(self.engine.pool.settings, memory_limit=self.memory_limit))
        return self._own_database

    def _data(self, stage: Stage, part: TaskInput) -> TaskData:
        payloads = {}
        for spec in stage.program.inputs:
            if isinstance(spec, ExchangeColumns):
                payloads[spec.exchange_id] = self._payloads(spec.exchange_id)
        broadcasts = {spec.exchange_id: self._table(spec) for spec in _broadcasts(stage)}
        limits = self._database.settings
        return TaskData(part, payloads, broadcasts, limits.decoded_limit, limits.threads)

    def _sink_context(self, stage: Stage, number: int) -> SinkContext:
        settings = self.engine.task_settings()
        writer = self.engine.store.writer() if isinstance(stage.program.sink, BlockSink) else None
        return SinkContext(number, 0, writer, settings.block_bytes, settings.force_encoding)

    # As RDD jobs

    def run_exchange(self, stage: Stage, exchange_id: int, num_buckets: int) -> ExchangeStatistics:
        """Run a map stage, whose sink writes `num_buckets` in all; returns what it observed."""
        start = time.perf_counter()
        jobs = self.engine.jobs

        def run(frames: Any) -> ExchangeOutput:
            is_ordered = isinstance(stage.program.sink, RangeSink)
            return run_map_stage(jobs, frames, exchange_id, num_buckets, is_ordered=is_ordered)

        output, reports = self._run_whole(stage, exchange_id, run)
        count = len(reports)
        self._outputs[exchange_id] = output
        self._note(stage, "rdd", count, reports, start, exchange_id, output.bytes_per_bucket)
        rows = sum(report.rows_out for report in reports)
        collected = merge_collected([report.collected for report in reports if report.collected])
        return ExchangeStatistics(rows, output.bytes_per_bucket, **collected)

    def hold_exchange(self, stage: Stage, exchange_id: int, max_rows: int | None = None) -> ExchangeStatistics:
        """Run a stage whose rows the driver keeps: a build side to broadcast, or the rows that a LIMIT wants.

        With `max_rows` no task is started once there are that many.
        """
        batches = self.batches(stage, max_rows, exchange_id)
        with contextlib.closing(batches):
            return self.hold(stage.program.output, exchange_id, _first_rows(batches, max_rows))

    def hold(self, schema: Schema, exchange_id: int, batches: Iterable[pa.RecordBatch]) -> ExchangeStatistics:
        """Keep rows that come to the driver as the output of an exchange: in a file, where they are many."""
        try:
            payload, rows = hold_rows(exchange_id, arrow_schema(schema), batches, self.engine.scratch)
        except OSError as error:
            raise as_shark_error(error) from error
        output = HeldOutput(exchange_id, (payload,))
        self._outputs[exchange_id] = output
        self._check_held()
        return ExchangeStatistics(rows, output.bytes_per_bucket)

    def batches(
        self, stage: Stage, first_rows: int | None = None, exchange_id: int | None = None
    ) -> Generator[pa.RecordBatch]:
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
            except (CorruptionError, WorkersLostError) as error:
                # Waves that were not given out are run again: tasks give the same rows each time.
                if not self._is_mended(error, stage, attempt):
                    raise
            finally:
                remove_frames(self.engine.results_dir, f"{run_id}-")
                self._note(stage, "rdd", len(reports), reports, start, exchange_id)

    def results(self, stage: Stage, only_tasks: frozenset[int] | None = None) -> list[BlockResult | FileResult]:
        """What the tasks' block or file sinks stored, in the order of tasks; `only_tasks`: others do not run."""
        return [result for report in self.task_reports(stage, only_tasks) for result in report.results]

    def task_reports(self, stage: Stage, only_tasks: frozenset[int] | None = None) -> list[TaskReport]:
        """The reports of tasks whose sinks store blocks or files, in the order of tasks."""
        start = time.perf_counter()
        jobs = self.engine.jobs

        def run(frames: Any) -> None:
            count = frames.getNumPartitions()
            wanted = range(count) if only_tasks is None else [task for task in sorted(only_tasks) if task < count]
            jobs.collect(frames, wanted, is_all=only_tasks is None)

        _, reports = self._run_whole(stage, None, run, only_tasks)
        self._note(stage, "rdd", len(reports), reports, start)
        return reports

    def _run_whole(
        self,
        stage: Stage,
        exchange_id: int | None,
        run: Callable[[Any], Any],
        only_tasks: frozenset[int] | None = None,
    ) -> tuple[Any, list[TaskReport]]:
        """What one job over all tasks gives, and their reports; run again where blocks were lost and made anew."""
        jobs = self.engine.jobs
        for attempt in itertools.count():
            frames, run_id, count = self._stage_frames(jobs, stage, exchange_id)
            listener = self._listener(jobs, stage, count)
            reports: list[TaskReport] = []
            try:
                group = jobs.job_group(self.group, self.description, self.pool)
                with group, jobs.reported(run_id, listener) as reports:
                    output = run(frames)
                    wanted = range(count) if only_tasks is None else only_tasks.intersection(range(count))
                    jobs.check_tasks(run_id, wanted)
                break
            except BaseException as error:
                self._discard_blocks(reports)
                if not self._is_mended(error, stage, attempt):
                    raise
            finally:
                self._release_untold(stage, run_id, reports)
        self._check()
        return output, reports

    def _task_writer(self, run_id: int) -> BlockWriter | ExecutorWriter:
        return replace(self.engine.task_writer(), prefix=self._block_prefix(run_id))

    def _block_prefix(self, run_id: int) -> str:
        return f"{self._name}-{run_id}-"

    def _release_untold(self, stage: Stage, run_id: int, reports: Sequence[TaskReport]) -> None:
        """Free the blocks of tasks that were killed, or run a second time, after they had written them."""
        if isinstance(stage.program.sink, BlockSink):
            told = (one.handle for report in reports for one in report.results if isinstance(one, BlockResult))
            self.engine.store.release_untold(self._block_prefix(run_id), told, stage.program.sink.durable_dir)

    def _discard_blocks(self, reports: Sequence[TaskReport]) -> None:
        handles = [one.handle for report in reports for one in report.results if isinstance(one, BlockResult)]
        if handles:
            self.engine.store.adopt(handles)
            self.engine.store.release([handle.block_id for handle in handles], durable=True)

    def _is_mended(self, error: BaseException, stage: Stage, attempt: int) -> bool:
        """Whether the stage may run again: `error` told of workers that did not start, or of a lost or damaged block,
        and all such blocks of the stage are whole again.
        """
        if isinstance(error, WorkersLostError) and attempt < _MOST_REPAIRS and not self.statement.is_cancelled:
            self.group = new_group()
            return True
        if not isinstance(error, CorruptionError) or error.block_id is None or self.repair is None:
            return False
        if attempt >= _MOST_REPAIRS or self.statement.is_cancelled:
            return False
        self.repair([handle for part in stage.tasks for _, handles in part.blocks for handle in handles])
        # Tasks of the failed run may still be on their way to being cancelled under its name.
        self.group = new_group()
        return True

    def _wave_frames(
        self, jobs: SparkJobs, frames: Any, run_id: int, waves: Sequence[range], count: int
    ) -> Iterator[list[pa.Buffer]]:
        """The frames of each wave in order, one wave ahead of the reader."""

        def run(wave: range) -> list[pa.Buffer]:
            with jobs.job_group(self.group, self.description, self.pool):
                return jobs.collect(frames, wave, is_all=wave == range(count))

        if len(waves) == 1:
            yield self._ordered(run(waves[0]), jobs, run_id, waves[0])
            return
        executor = ThreadPoolExecutor(1, thread_name_prefix="sharkpy-wave")
        ahead: Future[list[pa.Buffer]] | None = executor.submit(run, waves[0])
        try:
            for wave, following in zip(waves, [*waves[1:], None], strict=True):
                if ahead is None:
                    break
                current = ahead.result()
                jobs.check_tasks(run_id)
                ahead = executor.submit(run, following) if following is not None else None
                yield self._ordered(current, jobs, run_id, wave)
        finally:
            if ahead is not None and not ahead.done():
                self._end_jobs(jobs)
            executor.shutdown(wait=True, cancel_futures=True)

    def _ordered(self, frames: list[pa.Buffer], jobs: SparkJobs, run_id: int, wave: range) -> list[pa.Buffer]:
        jobs.check_tasks(run_id, wave)
        self._check()
        parts = split_by_partition(frames)
        return [frame for partition in sorted(parts) for frame in parts[partition]]

    def _stage_frames(self, jobs: SparkJobs, stage: Stage, exchange_id: int | None) -> tuple[Any, int, int]:
        """The stage's RDD, the number of this run, and how many tasks it has."""
        self._check()
        base, tasks = self._input_frames(jobs, stage)
        parts = _pickled_parts([merged([stage.tasks[planned] for planned in task]) for task in tasks])
        count = len(tasks)
        run_id = jobs.new_run()
        broadcasts = tuple((spec.exchange_id, self._source(jobs, spec)) for spec in _broadcasts(stage))
        writer = self._task_writer(run_id) if isinstance(stage.program.sink, BlockSink) else None
        settings = replace(self.engine.task_settings(writer), is_profiled=self.is_profiled)
        stop_file = str(jobs.stop_file(self.group)) if self.engine.is_local else ""
        task = StageTask(run_id, stage.program, parts, broadcasts, exchange_id, settings, stop_file)
        return jobs.stage_rdd(base, task), run_id, count

    def _input_frames(self, jobs: SparkJobs, stage: Stage) -> tuple[Any, list[Packed]]:
        """The RDD of what exchanges bring to the stage's tasks, and the planned tasks that each one carries out."""
        inputs = self._exchange_inputs(stage)
        planned = len(stage.tasks)
        if not inputs:
            hosts = () if self.engine.is_local else tuple(map(preferred_host, stage.tasks))
            base = jobs.placed_slots(hosts) if any(hosts) else jobs.slots(planned)
            return base, [(task,) for task in range(planned)]
        scanned = _scanned_bytes(stage)
        tasks = pack_tasks(inputs, planned, self.engine.parallelism, scanned)
        if planned > 1:
            ids = [one.output.exchange_id for one in inputs]
            self.profile.decisions.append(packing_decision(ids, task_sizes(inputs, planned, scanned), tasks))
        return payload_rdd(jobs, inputs, tasks), tasks

    def _exchange_inputs(self, stage: Stage) -> list[ExchangeInput]:
        ids = dict.fromkeys(spec.exchange_id for spec in stage.program.inputs if isinstance(spec, ExchangeColumns))
        single = len(stage.tasks) == 1
        dealt = dict(stage.dealt)
        return [ExchangeInput(self._output(one), single or one in stage.singles, dealt.get(one)) for one in ids]

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
        self.statement.cancel()

    def _stop(self) -> None:
        self._connections.interrupt()
        if self.engine.is_spark_started:
            self.engine.jobs.cancel(self.group)

    def _end_jobs(self, jobs: SparkJobs) -> None:
        """End the jobs that run; the query goes on under another name."""
        group, self.group = self.group, new_group()
        jobs.cancel(group)

    def close(self) -> None:
        """Free the exchanges and broadcasts of the query. Idempotent."""
        self._forget()
        # What it refers to refers to this runner, whose profile holds the handles of blocks.
        self._forget = _nothing
        if self._own_database is not None:
            self._own_database.close()
            self._own_database = None
        for source in self._sources.values():
            drop_broadcast(source)
        if self.engine.is_spark_started:
            release(self.engine.jobs, self._outputs.values())
        self._sources, self._outputs, self._tables = {}, {}, {}

    def _check(self) -> None:
        self.statement.check()

    def _check_held(self) -> None:
        """ResourceError where the rows held here are more than the query may hold."""
        held = sum(output.bytes_per_bucket[0] for output in self._outputs.values() if isinstance(output, HeldOutput))
        if self.memory_limit and held > self.memory_limit:
            fact = f"the query holds {held:,} bytes of rows in the driver"
            raise self._out_of_memory(fact)

    def _out_of_memory(self, fact: str) -> ResourceError:
        limit = f"shark.query.memory allows {self.memory_limit:,} bytes"
        return ResourceError(f"{fact}: {limit}", hint="raise it, or set it to 0", sqlstate="53200")

    def _failure(self, error: BaseException) -> SharkError:
        self._check()
        failure = as_shark_error(error)
        if self.memory_limit and failure.sqlstate == "53200":
            return self._out_of_memory("the query is out of memory in the driver")
        return failure

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


def _nothing() -> None:
    """There is nothing to take back."""


def _driver_report(metrics: TaskMetrics, start: float) -> TaskReport:
    seconds = time.perf_counter() - start
    figures = (metrics.rows_in, metrics.rows_out, metrics.bytes_out)
    return TaskReport(0, 0, *figures, seconds, metrics.read, operators=tuple(metrics.operators))


def _first_rows(batches: Iterable[pa.RecordBatch], max_rows: int | None) -> Iterator[pa.RecordBatch]:
    """Whole batches, until there are `max_rows`."""
    rows = 0
    for batch in batches:
        yield batch
        rows += batch.num_rows
        if max_rows is not None and rows >= max_rows:
            return


def _broadcasts(stage: Stage) -> list[BroadcastColumns]:
    return [spec for spec in stage.program.inputs if isinstance(spec, BroadcastColumns)]


def _scanned_bytes(stage: Stage) -> list[int]:
    """Encoded bytes of the blocks and files that each planned task alone reads."""
    if all(part == stage.tasks[0] for part in stage.tasks):
        return [0] * len(stage.tasks)
    names = {spec.relation: frozenset(spec.names) for spec in stage.program.inputs if isinstance(spec, BlockColumns)}
    return [
        sum(
            size
            for relation, handles in part.blocks
            for one in handles
            for name, size in one.column_bytes
            if name in names[relation]
        )
        + sum(split.length for _, splits in part.splits for split in splits)
        + any(items for _, items in (*part.blocks, *part.splits))
        for part in stage.tasks
    ]


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
