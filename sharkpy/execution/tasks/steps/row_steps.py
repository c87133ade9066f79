"""Steps of Python code over a task's rows, except scripts: their context, and a function for each kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sharkpy.base.cancellation import Cancellation
from sharkpy.base.records import dataclass
from sharkpy.plan.row_steps import BatchStep, CountChanges, TableFunctionStep, TransformStep
from sharkpy.sources.lake.iceberg.transforms import transformed_texts
from sharkpy.udf.user.function import Column
from sharkpy.values.types import Schema, arrow_schema

if TYPE_CHECKING:
    from sharkpy.sources.source import ReadMetrics


@dataclass(frozen=True, slots=True)
class StepRun:
    """Context of a step's run: `passed` are the columns passed on, `output` these and the step's own."""

    passed: Schema
    arguments: Schema
    output: Schema
    end: Cancellation
    """Cancellation of the run: the statement was cancelled, or no more rows are needed."""
    read: ReadMetrics
    """Metrics that count malformed values."""

    @property
    def made(self) -> Schema:
        """Schema of the step's own columns."""
        return Schema(self.output.fields[len(self.passed) :])


def run_batch_function(step: BatchStep, rows: Iterator[pa.RecordBatch], run: StepRun) -> Iterator[pa.RecordBatch]:
    from pyspark.serializers import CPickleSerializer

    function = CPickleSerializer().loads(step.function)  # type: ignore[no-untyped-call]
    for batch in rows:
        run.end.check()
        if batch.num_rows:
            yield from function(batch)


def run_count_changes(step: CountChanges, rows: Iterator[pa.RecordBatch], run: StepRun) -> Iterator[pa.RecordBatch]:  # noqa: ARG001 - all runners have it
    names = list(run.output.names)
    for batch in rows:
        run.end.check()
        *passed, is_changed = batch.columns
        run.read.changed_rows += pc.sum(is_changed, min_count=0).as_py()
        yield pa.RecordBatch.from_arrays(passed, names=names)


def run_transform(step: TransformStep, rows: Iterator[pa.RecordBatch], run: StepRun) -> Iterator[pa.RecordBatch]:
    num_passed = len(run.passed)
    types = arrow_schema(run.arguments).types
    names = list(run.output.names)
    for batch in rows:
        run.end.check()
        given = zip(step.fields, batch.columns[num_passed:], types, strict=True)
        texts = [transformed_texts(field, column.cast(dtype)) for field, column, dtype in given]
        yield pa.RecordBatch.from_arrays([*batch.columns[:num_passed], *texts], names=names)


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
