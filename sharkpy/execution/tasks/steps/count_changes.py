"""Runner that counts changed rows among a task's rows."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from sharkpy.execution.tasks.steps.step_run import StepRun
from sharkpy.plan.row_steps import CountChanges


def run_count_changes(step: CountChanges, rows: Iterator[pa.RecordBatch], run: StepRun) -> Iterator[pa.RecordBatch]:  # noqa: ARG001 - all runners have it
    names = list(run.output.names)
    for batch in rows:
        run.end.check()
        *passed, is_changed = batch.columns
        run.read.changed_rows += pc.sum(is_changed, min_count=0).as_py()
        yield pa.RecordBatch.from_arrays(passed, names=names)
