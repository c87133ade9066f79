"""Stages that run as RDD jobs over blocks, splits and exchanges."""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from sharkpy.base.errors import CorruptionError, UnsupportedError, WorkersLostError
from sharkpy.execution.spark.jobs import payload_batches
from sharkpy.execution.stages.exchange import ExchangeOutput, run_map_stage
from sharkpy.execution.stages.prepared_stage import PreparedStage, StageRdd, prepared_stage, stage_rdd
from sharkpy.execution.stages.query_run import QueryRun
from sharkpy.execution.stages.stage_outputs import StageOutputs
from sharkpy.execution.stages.waves import WaveReader, waves
from sharkpy.execution.tasks.collectors import merge_collected
from sharkpy.execution.tasks.report import BlockResult, TaskReport
from sharkpy.execution.workers.frame_files import remove_frames
from sharkpy.physical.distribution import ExchangeStatistics
from sharkpy.physical.sinks import BlockSink, RangeSink
from sharkpy.physical.stage import Stage


@dataclass(frozen=True, slots=True)
class RddStages:
    """Runs a stage as one job, or wave after wave; again where blocks or workers were lost and are there anew."""

    run: QueryRun
    outputs: StageOutputs
    _name: str = field(default_factory=lambda: uuid.uuid4().hex[:16])
    """What the names of blocks that the query's tasks write begin with."""

    def exchange(self, stage: Stage, exchange_id: int, num_buckets: int) -> ExchangeStatistics:
        """Run a map stage, whose sink writes `num_buckets` in all; returns what it observed."""
        start = time.perf_counter()
        jobs = self.run.engine.jobs

        def run(frames: Any) -> ExchangeOutput:
            is_ordered = isinstance(stage.program.sink, RangeSink)
            return run_map_stage(jobs, frames, exchange_id, num_buckets, is_ordered=is_ordered)

        output, reports = self._run_whole(stage, exchange_id, run)
        count = len(reports)
        self.outputs.add(output)
        self.run.note(stage, "rdd", count, reports, start, exchange_id, output.bytes_per_bucket)
        rows = sum(report.rows_out for report in reports)
        collected = merge_collected([report.collected for report in reports if report.collected])
        return ExchangeStatistics(rows, output.bytes_per_bucket, **collected)

    def reports(self, stage: Stage, only_tasks: frozenset[int] | None) -> list[TaskReport]:
        """The reports of tasks whose sinks store blocks or files, in the order of tasks."""
        start = time.perf_counter()
        jobs = self.run.engine.jobs

        def run(frames: Any) -> None:
            count = frames.getNumPartitions()
            wanted = range(count) if only_tasks is None else [task for task in sorted(only_tasks) if task < count]
            jobs.collect(frames, wanted, is_all=only_tasks is None)

        _, reports = self._run_whole(stage, None, run, only_tasks)
        self.run.note(stage, "rdd", len(reports), reports, start)
        return reports

    def batches(self, stage: Stage, first_rows: int | None, exchange_id: int | None) -> Generator[pa.RecordBatch]:
        """The stage's rows in the order of its tasks, in waves; see StageRunner.batches."""
        engine, jobs = self.run.engine, self.run.engine.jobs
        given = 0
        for attempt in itertools.count():
            start = time.perf_counter()
            rdd = self._stage_rdd(stage, None)
            parts = waves(rdd.num_tasks, engine.parallelism, starts_small=first_rows is not None)
            listener = self.run.listener(jobs, stage, rdd.num_tasks)
            reader = WaveReader(self.run, jobs, rdd.frames, rdd.run_id, rdd.num_tasks)
            reports: list[TaskReport] = []
            try:
                with jobs.reported(rdd.run_id, listener) as reports:
                    for wave in reader.frames(parts[given:]):
                        for frame in wave:
                            yield from payload_batches(frame)
                        given += 1
                return
            except (CorruptionError, WorkersLostError) as error:
                # Waves that were not given out are run again: tasks give the same rows each time.
                if not self.run.is_mended(error, stage, attempt):
                    raise
            finally:
                remove_frames(engine.results_dir, f"{rdd.run_id}-")
                self.run.note(stage, "rdd", len(reports), reports, start, exchange_id)

    def prepared(self, stage: Stage) -> PreparedStage:
        """The stage as RDDs of others begin with it; nothing runs."""
        if stage.given is not None:
            hint = "call cache() on the TableRDD first, or save it as a table"
            raise UnsupportedError(f"an RDD over {stage.given.label} that is read for a TableRDD", hint=hint)
        return prepared_stage(self.run, self.outputs, stage, None, self.run.engine.jobs.new_run())

    def _run_whole(
        self,
        stage: Stage,
        exchange_id: int | None,
        run: Callable[[Any], Any],
        only_tasks: frozenset[int] | None = None,
    ) -> tuple[Any, list[TaskReport]]:
        """What one job over all tasks gives, and their reports; run again where blocks were lost and made anew."""
        jobs = self.run.engine.jobs
        for attempt in itertools.count():
            rdd = self._stage_rdd(stage, exchange_id)
            listener = self.run.listener(jobs, stage, rdd.num_tasks)
            reports: list[TaskReport] = []
            try:
                if isinstance(stage.program.sink, BlockSink):
                    self.run.engine.store.claim(self._block_prefix(rdd.run_id))
                group = jobs.job_group(self.run.group, self.run.description, self.run.pool, rdd.run_id)
                with group, jobs.reported(rdd.run_id, listener) as reports:
                    output = run(rdd.frames)
                    tasks = range(rdd.num_tasks)
                    jobs.check_tasks(rdd.run_id, tasks if only_tasks is None else only_tasks.intersection(tasks))
                break
            except BaseException as error:
                self.run.discard_blocks([result for report in reports for result in report.results])
                if not self.run.is_mended(error, stage, attempt):
                    raise
            finally:
                self._release_untold(stage, rdd.run_id, reports)
        self.run.check()
        return output, reports

    def _stage_rdd(self, stage: Stage, exchange_id: int | None) -> StageRdd:
        self.run.check()
        self.run.stages.append(stage)
        run_id = self.run.engine.jobs.new_run()
        stores = isinstance(stage.program.sink, BlockSink)
        writer = replace(self.run.engine.task_writer(), prefix=self._block_prefix(run_id)) if stores else None
        return stage_rdd(self.run, self.outputs, stage, exchange_id, run_id, writer)

    def _block_prefix(self, run_id: int) -> str:
        return f"{self._name}-{run_id}-"

    def _release_untold(self, stage: Stage, run_id: int, reports: Sequence[TaskReport]) -> None:
        """Free the blocks of tasks that were killed, or run a second time, after they had written them."""
        if isinstance(stage.program.sink, BlockSink):
            told = (one.handle for report in reports for one in report.results if isinstance(one, BlockResult))
            store = self.run.engine.store
            store.release_untold(self._block_prefix(run_id), told, stage.program.sink.durable_dir)
