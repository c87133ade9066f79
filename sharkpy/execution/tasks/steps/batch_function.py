"""Runner of a Python function from batches to batches over a task's rows."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from sharkpy.execution.tasks.steps.step_run import StepRun
from sharkpy.plan.row_steps import BatchStep


def run_batch_function(step: BatchStep, rows: Iterator[pa.RecordBatch], run: StepRun) -> Iterator[pa.RecordBatch]:
    from pyspark.serializers import CPickleSerializer

    function = CPickleSerializer().loads(step.function)  # type: ignore[no-untyped-call]
    for batch in rows:
        run.end.check()
        if batch.num_rows:
            yield from function(batch)
