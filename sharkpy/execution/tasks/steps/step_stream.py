"""Relation made by a step from the rows of its own query, in the task that reads it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager

import pyarrow as pa

from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import CancelledError
from sharkpy.execution.tasks.inputs import BatchStream, TaskMetrics
from sharkpy.execution.tasks.report import STEP, OperatorFigures
from sharkpy.execution.tasks.sinks import conform
from sharkpy.execution.tasks.steps import run_step
from sharkpy.execution.tasks.steps.row_steps import StepRun
from sharkpy.physical.stage_program import StepColumns
from sharkpy.values.types import Schema, arrow_schema

ReadBelow = Callable[[Cancellation], AbstractContextManager[Iterator[pa.RecordBatch]]]
"""Context manager that runs the step's input query, which the Cancellation interrupts."""


class StepStream(BatchStream):
    """Stream of a step's rows.

    Call, in order: `begin`, scans of the relation, `stop` from any thread, `close`. `begin` starts the input query and
    the step before the query that reads them, whose threads wait for rows.
    """

    def __init__(
        self, spec: StepColumns, read_below: ReadBelow, statement: Cancellation | None, metrics: TaskMetrics
    ) -> None:
        super().__init__(arrow_schema(spec.schema), self._scan)
        self._spec = spec
        self._read_below = read_below
        self._metrics = metrics
        self._begun: _Run | None = None
        self._runs: list[_Run] = []
        self._forget = statement.on_cancel(self.stop) if statement is not None else _nothing

    def begin(self) -> None:
        self._begun = self._new_run()
        self._begun.begin()

    def stop(self) -> None:
        """Stop making rows, which are no longer needed."""
        for run in list(self._runs):
            run.end.cancel(CancelledError("the step was ended"))

    def close(self) -> None:
        self._forget()
        self.stop()
        for run in self._runs:
            run.close()

    def _scan(self) -> Iterator[pa.RecordBatch]:
        run, self._begun = self._begun or self._new_run(), None
        return run.batches()

    def _new_run(self) -> _Run:
        run = _Run(self._spec, self.schema, self._read_below, self._metrics)
        self._runs.append(run)
        return run


class _Run:
    """Run of the step. Threads of DuckDB may take its rows in turn, and `close` waits for the current one."""

    def __init__(self, spec: StepColumns, schema: pa.Schema, read_below: ReadBelow, metrics: TaskMetrics) -> None:
        self.end = Cancellation()
        self._spec = spec
        self._schema = schema
        self._metrics = metrics
        self._lock = threading.Lock()
        self._waited: dict[int, float] = {}
        self._below = self._rows(read_below)
        below = spec.program.output.fields
        passed, arguments = Schema(below[: spec.num_passed]), Schema(below[spec.num_passed :])
        self._made = run_step(spec.step, self._below, StepRun(passed, arguments, spec.schema, self.end, metrics.read))
        self._first: pa.RecordBatch | None = None
        self._num_rows = self._num_bytes = 0
        self._seconds = 0.0

    def begin(self) -> None:
        self._first = self._next()

    def batches(self) -> Iterator[pa.RecordBatch]:
        batch, self._first = self._first or self._next(), None
        while batch is not None:
            yield batch
            batch = self._next()

    def _next(self) -> pa.RecordBatch | None:
        thread = threading.get_ident()
        with self._lock:
            started, waited = time.perf_counter(), self._waited.get(thread, 0.0)
            batch = next(self._made, None)
            # The input query, if it runs in this thread, has its own figures.
            self._seconds += time.perf_counter() - started - (self._waited.get(thread, 0.0) - waited)
            if batch is None:
                return None
            batch = conform(batch, self._schema)
            self._num_rows += batch.num_rows
            self._num_bytes += batch.nbytes
            return batch

    def _rows(self, read_below: ReadBelow) -> Generator[pa.RecordBatch]:
        with read_below(self.end) as batches:
            while True:
                self.end.check()
                started = time.perf_counter()
                batch = next(batches, None)
                thread = threading.get_ident()
                self._waited[thread] = self._waited.get(thread, 0.0) + time.perf_counter() - started
                if batch is None:
                    return
                yield batch

    def close(self) -> None:
        with self._lock:
            if isinstance(self._made, Generator):
                # Errors caused by the termination do not matter.
                with contextlib.suppress(Exception):
                    self._made.close()
            self._below.close()
        if self._metrics.is_profiled:
            figures = OperatorFigures(
                STEP, frozenset((self._spec.relation,)), 0, self._num_rows, self._num_bytes, self._seconds
            )
            self._metrics.operators.append(figures)


def _nothing() -> None:
    """Do nothing; the step has no statement."""
