"""Loading by RDD tasks, each of which reads one split and stores its blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sharkpy.base import settings
from sharkpy.base.settings import Conf
from sharkpy.catalog.model import BucketSpec
from sharkpy.execution.stages.query_run import QueryRun
from sharkpy.execution.stages.stage_recorder import stage_observer
from sharkpy.execution.stages.stage_runner import StageRunner
from sharkpy.execution.tables.block_loading import LoadedBlock
from sharkpy.execution.tasks.buckets import bucketing
from sharkpy.execution.tasks.report import BlockResult
from sharkpy.physical.stage import Stage
from sharkpy.physical.stage_program import BlockSink, FileColumns, StageProgram, TaskInput
from sharkpy.sources.source import ReadMetrics, Split
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.execution.engine import Engine

_RELATION = "in0"


class RddLoader:
    """BlockLoader for data too large for the driver's process."""

    def __init__(self, engine: Engine, conf: Conf, buckets: BucketSpec | None = None) -> None:
        self._engine = engine
        self._conf = conf
        self._buckets = buckets

    def load(
        self,
        splits: Sequence[Split],
        schema: Schema,
        durable_dir: str | None,
        *,
        is_grouped: bool = False,  # noqa: ARG002 - a task loads one split
    ) -> tuple[list[LoadedBlock], ReadMetrics]:
        names = tuple(schema.names)
        sink = BlockSink(schema, self._conf.value(settings.BLOCK_ROWS), durable_dir, bucketing(self._buckets, schema))
        program = StageProgram("", (FileColumns(_RELATION, schema, names, names),), schema, sink)
        tasks = tuple(TaskInput(splits=((_RELATION, (split,)),)) for split in splits)
        observer = stage_observer(self._engine, self._conf, "load")
        runner = StageRunner(QueryRun(self._engine, description="load", observer=observer))
        try:
            reports = runner.rdd.reports(Stage(program, tasks, "Load"))
        finally:
            runner.close()
        loaded, metrics = [], ReadMetrics()
        for report, split in zip(reports, splits, strict=True):
            if report.read is not None:
                metrics.merge(report.read)
            blocks = (one for one in report.results if isinstance(one, BlockResult))
            loaded += [LoadedBlock(block.handle, block.statistics, split) for block in blocks]
        return loaded, metrics
