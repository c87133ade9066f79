"""Stages that run as RDD jobs over blocks, splits and exchanges.

If the driver reads the rows, tasks run in waves: one wave is read while the next runs.
"""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import field, replace
from typing import Any

import pyarrow as pa

from sharkpy.base.errors import CorruptionError, InvalidTextError, UnsupportedError, WorkersDiedError, WorkersLostError
from sharkpy.base.records import dataclass
from sharkpy.execution.spark.jobs import SparkJobs, payload_batches, split_by_partition
from sharkpy.execution.stages.exchange import ExchangeOutput, run_map_stage
from sharkpy.execution.stages.prepared_stage import PreparedStage, prepare
from sharkpy.execution.stages.query_run import QueryRun
from sharkpy.execution.stages.stage_outputs import StageOutputs
from sharkpy.execution.tasks.exchange_statistics import merge_collected
from sharkpy.execution.tasks.report import BlockResult, TaskReport
from sharkpy.execution.workers.frames import remove_frames
from sharkpy.physical.plan import ExchangeStatistics
from sharkpy.physical.stage import Stage
from sharkpy.physical.stage_program import BlockSink, RangeSink, ResultSink


@dataclass(frozen=True, slots=True)
class RddStages:
    """Runner of stages as RDD jobs: one job or several waves, repeated after blocks or workers were restored."""

    run: QueryRun
    outputs: StageOutputs
    _name: str = field(default_factory=lambda: uuid.uuid4().hex[:16])
    """Prefix for the names of blocks written by the query's tasks."""

    def exchange(self, stage: Stage, exchange_id: int, num_buckets: int) -> ExchangeStatistics:
        """Run a map stage, whose sink writes `num_buckets`, and return its statistics."""
        with self.run.observer.running(stage):
            return self._exchange(stage, exchange_id, num_buckets)

    def _exchange(self, stage: Stage, exchange_id: int, num_buckets: int) -> ExchangeStatistics:
        start = time.perf_counter()
        jobs = self.run.engine.jobs

        def run(frames: Any, _: int) -> ExchangeOutput:
            is_ordered = isinstance(stage.program.sink, RangeSink)
            return run_map_stage(jobs, frames, exchange_id, num_buckets, is_ordered=is_ordered)

        output, reports = self._run_whole(stage, exchange_id, run)
        count = len(reports)
        self.outputs.add(output)
        self.run.note(stage, count, reports, start, exchange_id, output.bytes_per_bucket)
        rows = sum(report.rows_out for report in reports)
        collected = merge_collected([report.collected for report in reports if report.collected])
        return ExchangeStatistics(rows, output.bytes_per_bucket, **collected)

    def reports(self, stage: Stage, only_tasks: frozenset[int] | None = None) -> list[TaskReport]:
        """Run a stage whose sink stores blocks or files. Return the reports in task order, of `only_tasks` if given."""
        with self.run.observer.running(stage):
            return self._reports(stage, only_tasks)

    def _reports(self, stage: Stage, only_tasks: frozenset[int] | None) -> list[TaskReport]:
        start = time.perf_counter()
        jobs = self.run.engine.jobs

        def run(frames: Any, run_id: int) -> None:
            if only_tasks is None:
                jobs.collect(frames, (), is_all=True, run_id=run_id)
            else:
                count = frames.getNumPartitions()
                jobs.collect(frames, [task for task in sorted(only_tasks) if task < count], run_id=run_id)

        _, reports = self._run_whole(stage, None, run, only_tasks)
        self.run.note(stage, len(reports), reports, start)
        return reports

    def batches(
        self, stage: Stage, first_rows: int | None = None, exchange_id: int | None = None
    ) -> Generator[pa.RecordBatch]:
        """Yield the stage's rows in task order, in waves of tasks: one is read while the next runs.

        With `first_rows` the waves start small, because the reader wants no more rows than that.
        """
        with self.run.observer.running(stage):
            yield from self._batches(stage, first_rows, exchange_id)

    def _batches(self, stage: Stage, first_rows: int | None, exchange_id: int | None) -> Generator[pa.RecordBatch]:
        engine, jobs = self.run.engine, self.run.engine.jobs
        given = 0
        for attempt in itertools.count():
            start = time.perf_counter()
            prepared = self._prepared_run(stage, None)
            parts = waves(prepared.num_tasks, engine.parallelism, starts_small=first_rows is not None)
            listener = self.run.listener(jobs, stage, prepared.num_tasks)
            reader = WaveReader(self.run, jobs, prepared.rdd(jobs), prepared.run_id, prepared.num_tasks)
            reports: list[TaskReport] = []
            try:
                with jobs.reported(prepared.run_id, listener) as reports:
                    for wave in reader.frames(parts[given:]):
                        for frame in wave:
                            yield from payload_batches(frame)
                        given += 1
                return
            except (CorruptionError, InvalidTextError, WorkersDiedError, WorkersLostError) as error:
                # Only waves that were not given out run again: a task makes the same rows each time.
                if not self.run.is_repaired(error, stage, attempt):
                    raise
            finally:
                remove_frames(engine.results_dir, f"{prepared.run_id}-")
                self.run.note(stage, len(reports), reports, start, exchange_id)

    def prepared(self, stage: Stage) -> PreparedStage:
        """Prepare the stage without running it. Users' RDDs start from it until the query's outputs are closed."""
        if stage.given_rdd is not None:
            hint = "call cache() on the TableRDD first, or save it as a table"
            raise UnsupportedError(f"a TableRDD of a query over {stage.given_rdd.label} is not supported", hint=hint)
        with self.run.observer.running(stage):
            settings = self.run.engine.task_settings()
            prepared = prepare(self.run, self.outputs, stage, None, self.run.engine.jobs.new_run(), settings)
        self.run.outlive_statement()
        return prepared

    def _run_whole(
        self,
        stage: Stage,
        exchange_id: int | None,
        run: Callable[[Any, int], Any],
        only_tasks: frozenset[int] | None = None,
    ) -> tuple[Any, list[TaskReport]]:
        """Run one job over all tasks, again after lost blocks were rebuilt. Return its result and the reports."""
        jobs = self.run.engine.jobs
        for attempt in itertools.count():
            prepared = self._prepared_run(stage, exchange_id)
            frames = prepared.rdd(jobs)
            listener = self.run.listener(jobs, stage, prepared.num_tasks)
            reports: list[TaskReport] = []
            try:
                if isinstance(stage.program.sink, BlockSink):
                    self.run.engine.store.claim(self._block_prefix(prepared.run_id))
                group = jobs.job_group(self.run.group, self.run.description, self.run.pool, prepared.run_id)
                with group, jobs.reported(prepared.run_id, listener) as reports:
                    output = run(frames, prepared.run_id)
                    tasks = range(prepared.num_tasks)
                    jobs.check_tasks(prepared.run_id, tasks if only_tasks is None else only_tasks.intersection(tasks))
                break
            except BaseException as error:
                self.run.discard_blocks([result for report in reports for result in report.results])
                if not self.run.is_repaired(error, stage, attempt):
                    raise
            finally:
                self._free_unreported_blocks(stage, prepared.run_id, reports)
        self.run.check()
        return output, reports

    def _prepared_run(self, stage: Stage, exchange_id: int | None) -> PreparedStage:
        """Prepare the stage for one run, with a prefix of the run's own for blocks."""
        self.run.check()
        self.run.stages.append(stage)
        run_id = self.run.engine.jobs.new_run()
        stores = isinstance(stage.program.sink, BlockSink)
        writer = replace(self.run.engine.task_writer(), prefix=self._block_prefix(run_id)) if stores else None
        is_alone = len(stage.tasks) == 1 and isinstance(stage.program.sink, ResultSink) and not stage.given
        settings = self.run.engine.task_settings(writer, is_alone=is_alone)
        return prepare(self.run, self.outputs, stage, exchange_id, run_id, settings)

    def _block_prefix(self, run_id: int) -> str:
        return f"{self._name}-{run_id}-"

    def _free_unreported_blocks(self, stage: Stage, run_id: int, reports: Sequence[TaskReport]) -> None:
        """Free blocks of tasks that were killed, or ran twice, after writing them."""
        if isinstance(stage.program.sink, BlockSink):
            told = (one.handle for report in reports for one in report.results if isinstance(one, BlockResult))
            store = self.run.engine.store
            store.release_unreported(self._block_prefix(run_id), told, stage.program.sink.durable_dir)


_WAVES_AHEAD = 4
"""Tasks per core in a wave; the driver holds at most two waves."""


def waves(count: int, parallelism: int, *, starts_small: bool) -> list[range]:
    """Divide the partitions into waves of some tasks per core, or of one per core and then growing."""
    found: list[range] = []
    size = parallelism if starts_small else parallelism * _WAVES_AHEAD
    start = 0
    while start < count:
        found.append(range(start, min(count, start + size)))
        start += size
        if starts_small:
            size *= _WAVES_AHEAD
    return found or [range(0)]


@dataclass(frozen=True, slots=True)
class WaveReader:
    """Reader of the frames of one run of a stage with `count` tasks."""

    run: QueryRun
    jobs: SparkJobs
    rdd: Any
    run_id: int
    count: int

    def frames(self, waves: Sequence[range]) -> Iterator[list[pa.Buffer]]:
        """Yield the frames of each wave in task order, one wave ahead of the reader."""
        if len(waves) == 1:
            yield self._ordered(self._collect(waves[0]), waves[0])
            return
        executor = ThreadPoolExecutor(1, thread_name_prefix="sharkpy-wave")
        ahead: Future[list[pa.Buffer]] | None = executor.submit(self._collect, waves[0])
        try:
            for wave, following in zip(waves, [*waves[1:], None], strict=True):
                if ahead is None:
                    break
                current = ahead.result()
                self.jobs.check_tasks(self.run_id)
                ahead = executor.submit(self._collect, following) if following is not None else None
                yield self._ordered(current, wave)
        finally:
            if ahead is not None and not ahead.done():
                self.run.cancel_jobs(self.jobs)
            executor.shutdown(wait=True, cancel_futures=True)

    def _collect(self, wave: range) -> list[pa.Buffer]:
        with self.jobs.job_group(self.run.group, self.run.description, self.run.pool, self.run_id):
            return self.jobs.collect(self.rdd, wave, is_all=wave == range(self.count), run_id=self.run_id)

    def _ordered(self, frames: list[pa.Buffer], wave: range) -> list[pa.Buffer]:
        self.jobs.check_tasks(self.run_id, wave)
        self.run.check()
        parts = split_by_partition(frames)
        return [frame for partition in sorted(parts) for frame in parts[partition]]
