"""Stages of one query, run where their placement says; what they leave is kept until the query ends."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Iterator

import pyarrow as pa

from sharkpy.execution.stages.driver_stages import DriverStages
from sharkpy.execution.stages.query_run import QueryRun
from sharkpy.execution.stages.rdd_stages import RddStages
from sharkpy.execution.stages.stage_outputs import StageOutputs
from sharkpy.execution.tasks.report import BlockResult, FileResult
from sharkpy.physical.distribution import ExchangeStatistics
from sharkpy.physical.stage import Stage


class StageRunner:
    """Runs stages in this process or as RDD jobs, as each one's placement says.

    1. `run` has the query's limits, end and profile; `outputs` are what exchanges and broadcasts hold.
    2. `driver` and `rdd` run stages in one place each; map stages, whose rows enter Spark's shuffle, only the latter.
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
        """The stage's rows, in the order of its tasks, as they come.

        `first_rows`: the reader wants no more than that many, so RDD tasks are not all started at once.
        """
        if stage.placement.is_driver:
            return self.driver.batches(stage)
        return self.rdd.batches(stage, first_rows, exchange_id)

    def results(self, stage: Stage, only_tasks: frozenset[int] | None = None) -> list[BlockResult | FileResult]:
        """Blocks or files that the stage's sink stored, in the order of tasks; `only_tasks`: others do not run."""
        if stage.placement.is_driver:
            return self.driver.results(stage, only_tasks)
        return [result for report in self.rdd.reports(stage, only_tasks) for result in report.results]

    def hold(self, stage: Stage, exchange_id: int, max_rows: int | None = None) -> ExchangeStatistics:
        """Run a stage whose rows the driver keeps: a build side to broadcast, or the rows that a LIMIT wants.

        With `max_rows` no task is started once there are that many.
        """
        with contextlib.closing(self.batches(stage, max_rows, exchange_id)) as batches:
            return self.outputs.hold(stage.program.output, exchange_id, _first_rows(batches, max_rows))

    def close(self) -> None:
        self.run.close()
        self.outputs.close()


def _first_rows(batches: Iterable[pa.RecordBatch], max_rows: int | None) -> Iterator[pa.RecordBatch]:
    """Whole batches, until there are `max_rows`."""
    rows = 0
    for batch in batches:
        yield batch
        rows += batch.num_rows
        if max_rows is not None and rows >= max_rows:
            return
