"""What carries out the steps between two queries of a task, by the type of their description."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pyarrow as pa

from sharkpy.base.errors import InternalError
from sharkpy.execution.tasks.steps.batch_function import run_batch_function
from sharkpy.execution.tasks.steps.script import run_script
from sharkpy.execution.tasks.steps.step_run import StepRun
from sharkpy.execution.tasks.steps.table_function import run_table_function
from sharkpy.plan.steps.batch_step import BatchStep
from sharkpy.plan.steps.row_step import RowStep
from sharkpy.plan.steps.script import Script
from sharkpy.plan.steps.table_function_step import TableFunctionStep

RunStep: TypeAlias = Callable[[Any, Iterator[pa.RecordBatch], StepRun], Iterator[pa.RecordBatch]]
"""From the rows below to the rows above, streamed.

1. The rows' columns are those that the step hands on, then its arguments; what it gives has those that it hands
   on, then its own. Arrow types of what it gives are those of the schema, or can be cast to them.
2. It takes rows when it needs some and holds no more of them than it must; it need not take all.
3. Whatever it waits for ends when `StepRun.end` is cancelled: it registers there what it starts beside itself.
"""

RUNNERS: dict[type[RowStep], RunStep] = {
    BatchStep: run_batch_function,
    Script: run_script,
    TableFunctionStep: run_table_function,
}


def run_step(step: RowStep, rows: Iterator[pa.RecordBatch], run: StepRun) -> Iterator[pa.RecordBatch]:
    runner = RUNNERS.get(type(step))
    if runner is None:
        raise InternalError(f"nothing carries out {type(step).__name__}")
    return runner(step, rows, run)
