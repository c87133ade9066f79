"""Runs lowered stages for one query: in this process, or as RDD jobs over blocks, splits and exchanges."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from sharkpy.base.cancellation import Cancellation
from sharkpy.base.settings import Conf
from sharkpy.execution.engine import Engine
from sharkpy.execution.spark.pools import DEFAULT_POOL, Pool
from sharkpy.execution.stages.build_keys import key_values
from sharkpy.execution.stages.driver_stages import DriverStages
from sharkpy.execution.stages.profile import QueryProfile
from sharkpy.execution.stages.progress import ProgressListener, ignore_progress
from sharkpy.execution.stages.query_run import QueryRun, Repair
from sharkpy.execution.stages.rdd_stages import RddStages
from sharkpy.execution.stages.recording.stage_recorder import stage_observer
from sharkpy.execution.stages.stage_outputs import StageOutputs
from sharkpy.execution.tasks.report import BlockResult, FileResult, TaskReport
from sharkpy.physical.distribution import ExchangeStatistics
from sharkpy.physical.stage import Stage
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.execution.stages.prepared_stage import PreparedStage
    from sharkpy.physical.learned_filters import KeyValues
    from sharkpy.physical.operators import ExchangeRead
    from sharkpy.plan.expr import Expr


class StageRunner:
    """One query's stages, exchanges and broadcasts. `cancel` may come from any thread; `close` frees the exchanges."""

    def __init__(
        self,
        engine: Engine,
        progress: ProgressListener = ignore_progress,
        description: str = "query",
        conf: Conf | None = None,
        *,
        is_profiled: bool = False,
        repair: Repair | None = None,
        pool: Pool = DEFAULT_POOL,
        memory_limit: int = 0,
    ) -> None:
        """See QueryRun; `conf` says whether stages are recorded (default: the engine's)."""
        observer = stage_observer(engine, conf or engine.conf, description)
        self._run = QueryRun(engine, progress, description, is_profiled, repair, pool, memory_limit, observer)
        self._outputs = StageOutputs(self._run)
        self._driver = DriverStages(self._run, self._outputs)
        self._rdd = RddStages(self._run, self._outputs)

    @property
    def profile(self) -> QueryProfile:
        return self._run.profile

    @property
    def pool(self) -> Pool:
        """The session's share of Spark's tasks."""
        return self._run.pool

    @property
    def statement(self) -> Cancellation:
        """What ends the query from outside."""
        return self._run.statement

    # In this process

    def driver_batches(self, stage: Stage) -> Iterator[pa.RecordBatch]:
        """The stage's rows, computed here with all cores, as they come."""
        with self._run.observer.running(stage):
            yield from self._driver.batches(stage)

    def driver_results(self, stage: Stage, only_tasks: frozenset[int] | None = None) -> list[BlockResult | FileResult]:
        """What the stage's block or file sink stored, run here; of `only_tasks`, where there are others."""
        with self._run.observer.running(stage):
            return self._driver.results(stage, only_tasks)

    def hold_in_driver(self, stage: Stage, exchange_id: int) -> ExchangeStatistics:
        """As `hold_exchange`, with the stage run in this process."""
        return self.hold(stage.program.output, exchange_id, self.driver_batches(stage))

    def key_values(self, read: ExchangeRead, key: Expr) -> KeyValues | None:
        """The values of `key` over the rows of an exchange that tasks read whole."""
        table = self._outputs.whole(read.exchange_id, read.schema)
        with self._run.connection() as connection:
            try:
                return key_values(read, key, table, connection)
            except BaseException as error:
                raise self._run.failure(error) from error

    # As RDD jobs

    def run_exchange(self, stage: Stage, exchange_id: int, num_buckets: int) -> ExchangeStatistics:
        """Run a map stage, whose sink writes `num_buckets` in all; returns what it observed."""
        with self._run.observer.running(stage):
            return self._rdd.exchange(stage, exchange_id, num_buckets)

    def hold_exchange(self, stage: Stage, exchange_id: int, max_rows: int | None = None) -> ExchangeStatistics:
        """Run a stage whose rows the driver keeps: a build side to broadcast, or the rows that a LIMIT wants.

        With `max_rows` no task is started once there are that many.
        """
        batches = self.batches(stage, max_rows, exchange_id)
        with contextlib.closing(batches):
            return self.hold(stage.program.output, exchange_id, _first_rows(batches, max_rows))

    def batches(
        self, stage: Stage, first_rows: int | None = None, exchange_id: int | None = None
    ) -> Generator[pa.RecordBatch]:
        """The stage's rows in the order of its tasks, in waves of tasks: one is read while the next one runs.

        With `first_rows` the waves start small: the reader wants no more than that many rows.
        """
        with self._run.observer.running(stage):
            yield from self._rdd.batches(stage, first_rows, exchange_id)

    def results(self, stage: Stage, only_tasks: frozenset[int] | None = None) -> list[BlockResult | FileResult]:
        """What the tasks' block or file sinks stored, in the order of tasks; `only_tasks`: others do not run."""
        return [result for report in self.task_reports(stage, only_tasks) for result in report.results]

    def task_reports(self, stage: Stage, only_tasks: frozenset[int] | None = None) -> list[TaskReport]:
        """The reports of tasks whose sinks store blocks or files, in the order of tasks."""
        with self._run.observer.running(stage):
            return self._rdd.reports(stage, only_tasks)

    def prepared(self, stage: Stage) -> PreparedStage:
        """The stage, not run: what RDDs of others begin with, until `close`."""
        with self._run.observer.running(stage):
            prepared = self._rdd.prepared(stage)
        self._run.outlive_statement()
        return prepared

    # What stages left, and the end

    def hold(self, schema: Schema, exchange_id: int, batches: Iterable[pa.RecordBatch]) -> ExchangeStatistics:
        """Keep rows that come to the driver as the output of an exchange: in a file, where they are many."""
        return self._outputs.hold(schema, exchange_id, batches)

    def is_held(self, exchange_id: int) -> bool:
        """Whether the exchange's rows lie in the driver."""
        return self._outputs.is_held(exchange_id)

    def cancel(self) -> None:
        """End what runs; the reader of batches gets CancelledError."""
        self._run.statement.cancel()

    def close(self) -> None:
        """Free the exchanges and broadcasts of the query. Idempotent."""
        self._run.close()
        self._outputs.close()


def _first_rows(batches: Iterable[pa.RecordBatch], max_rows: int | None) -> Iterator[pa.RecordBatch]:
    """Whole batches, until there are `max_rows`."""
    rows = 0
    for batch in batches:
        yield batch
        rows += batch.num_rows
        if max_rows is not None and rows >= max_rows:
            return
