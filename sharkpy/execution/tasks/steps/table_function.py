"""Runner of users' table functions over a task's rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.execution.tasks.steps.step_run import StepRun
from sharkpy.plan.row_steps import TableFunctionStep
from sharkpy.udf.user.function import Column
from sharkpy.values.types import arrow_schema

Numbers = np.ndarray[Any, Any]
_MOST_ROWS = 8_192
"""Number of input rows that the function takes before its rows are passed on."""


def run_table_function(
    step: TableFunctionStep, rows: Iterator[pa.RecordBatch], run: StepRun
) -> Iterator[pa.RecordBatch]:
    calls = step.function.calls(step.use)
    num_passed = len(run.passed)
    last: list[Column] | None = None
    for batch in rows:
        for start in range(0, batch.num_rows, _MOST_ROWS):
            run.end.check()
            part = batch.slice(start, _MOST_ROWS)
            made = calls.rows(part.columns[num_passed:], part.num_rows)
            counts, columns = made.counts, made.columns
            if step.outer:
                counts, columns = _with_empty(counts, columns)
            places = pa.array(np.repeat(np.arange(part.num_rows), counts), pa.int64())
            passed = [column.take(places) for column in part.columns[:num_passed]]
            last = [column.slice(part.num_rows - 1) for column in part.columns[:num_passed]]
            yield _batch([*passed, *columns], run)
    columns = calls.last_rows()
    if len(columns[0]):
        first = pa.array(np.zeros(len(columns[0]), np.int64), pa.int64())
        passed = _no_row(run) if last is None else [column.take(first) for column in last]
        yield _batch([*(column if last else pa.nulls(len(first), column.type) for column in passed), *columns], run)


def _with_empty(counts: Numbers, columns: list[Column]) -> tuple[Numbers, list[Column]]:
    """Add a row of NULLs for each input row without function rows."""
    kept = np.maximum(counts, 1)
    empty = np.repeat(counts == 0, kept)
    places = pa.array(np.cumsum(~empty) - 1, pa.int64(), mask=empty)
    return kept, [column.take(places) for column in columns]


def _no_row(run: StepRun) -> list[Column]:
    return [pa.nulls(0, field.type) for field in arrow_schema(run.passed)]


def _batch(columns: list[Column], run: StepRun) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(columns, names=[field.name for field in run.output])
