"""Stages of one query, run at their placement: as RDD jobs, or in this process on all its cores."""

from __future__ import annotations

import contextlib
import itertools
import re
import time
from collections.abc import Generator, Iterable, Iterator
from functools import partial

import pyarrow as pa

from sharkpy.base.errors import InvalidTextError
from sharkpy.base.records import dataclass
from sharkpy.execution.stages.query_run import QueryRun
from sharkpy.execution.stages.rdd_stages import RddStages
from sharkpy.execution.stages.stage_outputs import StageOutputs
from sharkpy.execution.statement import computing, measured_items
from sharkpy.execution.tasks.inputs import TaskData, TaskMetrics
from sharkpy.execution.tasks.report import BlockResult, FileResult, TaskReport
from sharkpy.execution.tasks.sinks import Payload, SinkContext
from sharkpy.execution.tasks.task import BATCH_ROWS, run_task, task_batches
from sharkpy.physical.plan import ExchangeStatistics
from sharkpy.physical.stage import Stage
from sharkpy.physical.stage_program import BlockSink, ExchangeColumns, StageProgram
from sharkpy.sources.storage.meter import METER, RequestCounts


class StageRunner:
    """Runner of stages in this process or as RDD jobs, by each stage's placement.

    1. `run` has the query's limits, cancellation and profile; `outputs` holds exchanges and broadcasts.
    2. `driver` and `rdd` each run stages in one place; only `rdd` runs map stages, which write into Spark's shuffle.
    3. `close` frees the outputs. Idempotent.
    """

    def __init__(self, run: QueryRun) -> None:
        self.run = run
        self.outputs = StageOutputs(run)
        self.driver = DriverStages(run, self.outputs)
        self.rdd = RddStages(run, self.outputs)

    def batches(
        self, stage: Stage, first_rows: int | None = None, exchange_id: int | None = None
    ) -> Generator[pa.RecordBatch]:
        """Yield the stage's rows in task order.

        `first_rows` is the most that the reader wants, so that not all RDD tasks start at once.
        """
        if stage.placement.is_driver:
            return self.driver.batches(stage)
        return self.rdd.batches(stage, first_rows, exchange_id)

    def results(self, stage: Stage, only_tasks: frozenset[int] | None = None) -> list[BlockResult | FileResult]:
        """Run the stage; return the blocks or files that its sink stored, in task order.

        With `only_tasks`, no other tasks run.
        """
        if stage.placement.is_driver:
            return self.driver.results(stage, only_tasks)
        return [result for report in self.rdd.reports(stage, only_tasks) for result in report.results]

    def hold(self, stage: Stage, exchange_id: int, max_rows: int | None = None) -> ExchangeStatistics:
        """Run a stage whose rows the driver holds: a build side to broadcast, or the rows of a LIMIT.

        With `max_rows` no task starts after that many rows.
        """
        with contextlib.closing(self.batches(stage, max_rows, exchange_id)) as batches:
            return self.outputs.hold(stage.program.output, exchange_id, _first_rows(batches, max_rows))

    def close(self) -> None:
        self.run.close()
        self.outputs.close()


def _first_rows(batches: Iterable[pa.RecordBatch], max_rows: int | None) -> Iterator[pa.RecordBatch]:
    """Yield whole batches until there are `max_rows` rows."""
    rows = 0
    for batch in batches:
        yield batch
        rows += batch.num_rows
        if max_rows is not None and rows >= max_rows:
            return


_RELATION = re.compile(r"\bin[0-9]+\b")


@dataclass(slots=True)
class DriverStages:
    """Runner of stages in the driver, one task after the other.

    A task runs again if blocks were lost or other queries had filled its database, provided that none of its rows was
    given out.
    """

    run: QueryRun
    outputs: StageOutputs
    given_whole: Stage | None = None
    """Stage whose last batch was given out, if that is known."""

    def batches(self, stage: Stage) -> Generator[pa.RecordBatch]:
        """Yield the stage's rows as they are made."""
        with self.run.observer.running(stage):
            # Constant rows take no time worth measuring.
            batches = self._batches(stage)
            yield from batches if stage.rows is not None else measured_items(self.run.statement, batches)

    def _batches(self, stage: Stage) -> Generator[pa.RecordBatch]:
        start, asked = time.perf_counter(), METER.of(self.run.statement)
        metrics = TaskMetrics(is_profiled=self.run.is_profiled)
        total = len(stage.tasks)
        for number in range(total):
            self.run.note_progress(stage, number, total, metrics.rows_in)
            if stage.rows is None:
                yield from self._task_batches(stage, number, metrics)
            else:
                yield from self._known_rows(stage, stage.rows, metrics)
        self.run.note_progress(stage, total, total, metrics.rows_in)
        self.run.note(stage, len(stage.tasks), [self._report(metrics, start, asked)], start)

    def _known_rows(self, stage: Stage, rows: pa.RecordBatch, metrics: TaskMetrics) -> Iterator[pa.RecordBatch]:
        self.run.check()
        metrics.rows_out = rows.num_rows
        self.given_whole = stage
        if rows.num_rows:
            yield rows
            self.run.check()

    def _task_batches(self, stage: Stage, number: int, metrics: TaskMetrics) -> Iterator[pa.RecordBatch]:
        given = 0
        for attempt in itertools.count():
            skipped, began = given, time.monotonic()
            own = TaskMetrics(is_profiled=self.run.is_profiled)
            try:
                with self.run.connection(stage.program, stage.tasks[number]) as connection:
                    batches = task_batches(stage.program, self._data(stage, number), connection, own)
                    with batches as stream:
                        for batch, is_last in _begun(_rest(stream, skipped)):
                            given += batch.num_rows
                            if is_last and number == len(stage.tasks) - 1:
                                self.given_whole = stage
                            yield batch
                            self.run.check()
                metrics.add(own)
                return
            except GeneratorExit:
                metrics.add(own)
                raise
            except BaseException as error:
                is_free = not given or (isinstance(error, InvalidTextError) and _keeps_order(stage.program))
                if not is_free or not (
                    self.run.may_restart_alone(error, began) or self.run.is_repaired(error, stage, attempt)
                ):
                    raise self.run.failure(error) from error

    def results(self, stage: Stage, only_tasks: frozenset[int] | None = None) -> list[BlockResult | FileResult]:
        """Return the blocks or files that the stage's sink stored, of `only_tasks` if given."""
        with self.run.observer.running(stage), computing(self.run.statement):
            return self._results(stage, only_tasks)

    def _results(self, stage: Stage, only_tasks: frozenset[int] | None) -> list[BlockResult | FileResult]:
        start, asked = time.perf_counter(), METER.of(self.run.statement)
        results: list[BlockResult | FileResult] = []
        metrics = TaskMetrics(is_profiled=self.run.is_profiled)
        try:
            for number in range(len(stage.tasks)):
                self.run.note_progress(stage, number, len(stage.tasks), metrics.rows_in)
                if only_tasks is None or number in only_tasks:
                    results += self._task_results(stage, number, metrics)
        except BaseException:
            self.run.discard_blocks(results)
            raise
        self.run.note(stage, len(stage.tasks), [self._report(metrics, start, asked)], start)
        return results

    def _report(self, metrics: TaskMetrics, start: float, asked: RequestCounts) -> TaskReport:
        seconds = time.perf_counter() - start
        figures = (metrics.rows_in, metrics.rows_out, metrics.bytes_out)
        requested = METER.of(self.run.statement) - asked
        return TaskReport(
            0,
            0,
            *figures,
            seconds,
            metrics.read,
            operators=tuple(metrics.operators),
            rows_exchanged=metrics.rows_exchanged,
            bytes_spilled=metrics.bytes_spilled if metrics.is_profiled else None,
            requested=requested,
        )

    def _task_results(self, stage: Stage, number: int, metrics: TaskMetrics) -> list[BlockResult | FileResult]:
        context = self._sink_context(stage, number)
        for attempt in itertools.count():
            results: list[BlockResult | FileResult] = []
            began, own = time.monotonic(), TaskMetrics(is_profiled=self.run.is_profiled)
            try:
                with self.run.connection(stage.program, stage.tasks[number]) as connection:
                    for output in run_task(stage.program, self._data(stage, number), connection, context, own):
                        self.run.check()
                        if not isinstance(output, Payload):
                            results.append(output)
                metrics.add(own)
                break
            except BaseException as error:
                self.run.discard_blocks(results)
                # Rows may come in another order and then would not fit the files already written.
                is_moved = own.rows_out == 0 and self.run.may_restart_alone(error, began)
                if not is_moved and not self.run.is_repaired(error, stage, attempt):
                    raise self.run.failure(error) from error
        return results

    def _data(self, stage: Stage, number: int) -> TaskData:
        exchanges = [spec.exchange_id for spec in stage.program.data_inputs if isinstance(spec, ExchangeColumns)]
        payloads = {exchange_id: self.outputs.payloads(exchange_id) for exchange_id in exchanges}
        broadcasts = {spec.exchange_id: self.outputs.table(spec) for spec in stage.broadcasts}
        limits = self.run.database.settings
        data = TaskData(
            stage.tasks[number],
            payloads,
            broadcasts,
            self.run.database.decoded_limit,
            limits.threads,
            connections=partial(self.run.connection, part=stage.tasks[number]),
            statement=self.run.statement,
            given={relation: rows.here for relation, rows in stage.given.items()},
            number=number,
        )
        self.run.observer.driver_task(stage, number, data, limits)
        return data

    def _sink_context(self, stage: Stage, number: int) -> SinkContext:
        engine = self.run.engine
        settings = engine.task_settings()
        writer = engine.store.writer() if isinstance(stage.program.sink, BlockSink) else None
        return SinkContext(number, 0, writer, settings.block_bytes, settings.force_encoding, str(engine.scratch))


def _keeps_order(program: StageProgram) -> bool:
    """True if rows stream in input order: one scan, which DuckDB streams."""
    if len(program.inputs) != 1 or not program.sql:
        return False
    return _RELATION.findall(program.sql).count(program.inputs[0].relation) == 1


def _rest(batches: Iterator[pa.RecordBatch], num_given: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows after the first `num_given`."""
    for batch in batches:
        if num_given < batch.num_rows:
            yield batch.slice(num_given) if num_given else batch
        num_given = max(num_given - batch.num_rows, 0)


def _begun(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, bool]]:
    """Yield the batches, each with whether it is known to be the last.

    A first batch that is not full is mostly the last one, so it is given out after the next read.
    """
    first = next(batches, None)
    if first is None:
        return
    is_full = first.num_rows >= BATCH_ROWS
    second = None if is_full else next(batches, None)
    yield first, not is_full and second is None
    if second is not None:
        yield second, False
    for batch in batches:
        yield batch, False
