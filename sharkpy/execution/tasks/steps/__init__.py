"""Functions that execute the steps between two queries of a task, by the type of the step's description."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pyarrow as pa

from sharkpy.base.errors import InternalError
from sharkpy.execution.tasks.steps.row_steps import (
    StepRun,
    run_batch_function,
    run_count_changes,
    run_table_function,
    run_transform,
)
from sharkpy.execution.tasks.steps.script import run_script
from sharkpy.plan.row_steps import BatchStep, CountChanges, RowStep, Script, TableFunctionStep, TransformStep

RunStep: TypeAlias = Callable[[Any, Iterator[pa.RecordBatch], StepRun], Iterator[pa.RecordBatch]]
"""Function of a step, from input rows to output rows, streamed.

1. The input's columns are the passed ones, then the step's arguments. The output's columns are the passed ones, then
   the step's own, with the schema's Arrow types or types that can be cast to them.
2. It takes rows as it needs them and holds as few as possible; it need not take all.
3. If it waits for anything, cancelling `StepRun.end` must end the wait: it registers there whatever it starts.
"""

RUNNERS: dict[type[RowStep], RunStep] = {
    BatchStep: run_batch_function,
    CountChanges: run_count_changes,
    Script: run_script,
    TableFunctionStep: run_table_function,
    TransformStep: run_transform,
}


def run_step(step: RowStep, rows: Iterator[pa.RecordBatch], run: StepRun) -> Iterator[pa.RecordBatch]:
    runner = RUNNERS.get(type(step))
    if runner is None:
        raise InternalError(f"nothing carries out {type(step).__name__}")
    return runner(step, rows, run)
