"""Stages of one query, run at their placement. Their outputs are held until the query ends."""

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
