"""Runner of a lake table's partition transforms over a task's rows."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from sharkpy.execution.tasks.steps.step_run import StepRun
from sharkpy.plan.row_steps import TransformStep
from sharkpy.sources.lake.iceberg.transforms import transformed_texts
from sharkpy.values.types import arrow_schema


def run_transform(step: TransformStep, rows: Iterator[pa.RecordBatch], run: StepRun) -> Iterator[pa.RecordBatch]:
    num_passed = len(run.passed)
    types = arrow_schema(run.arguments).types
    names = list(run.output.names)
    for batch in rows:
        run.end.check()
        given = zip(step.fields, batch.columns[num_passed:], types, strict=True)
        texts = [transformed_texts(field, column.cast(dtype)) for field, column, dtype in given]
        yield pa.RecordBatch.from_arrays([*batch.columns[:num_passed], *texts], names=names)
