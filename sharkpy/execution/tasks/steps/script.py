"""Runner of a script over a task's rows: lines to its standard input, rows from its output."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pyarrow as pa

from sharkpy.execution.tasks.steps.script_process import ScriptProcess
from sharkpy.execution.tasks.steps.script_rows import LineReader, LineWriter
from sharkpy.execution.tasks.steps.step_run import StepRun
from sharkpy.plan.row_steps import Script
from sharkpy.values.types import Field, Schema

_MOST_LINE_BYTES = 128 << 20
"""Limit on the length of a line. A script that prints no line ends would fill the memory."""


def run_script(script: Script, rows: Iterator[pa.RecordBatch], run: StepRun) -> Iterator[pa.RecordBatch]:
    """Run a script if the task has rows.

    A thread writes its input, so that the script may write output before it has read all input.
    """
    writer = LineWriter(script, _renamed(run.arguments, script.names))
    reader = LineReader(script, _renamed(run.output, script.output_names), run.read)
    first = next((batch for batch in rows if batch.num_rows), None)
    if first is None:
        return
    process = ScriptProcess(script)
    forget = run.end.on_cancel(process.abandon)
    feeder = _Feeder(process, writer, first, rows)
    try:
        process.start()
        feeder.start()
        for lines in _whole_lines(process, reader.newline, run):
            yield from reader.batches(lines)
        run.end.check()
        _finish(script, process, feeder, run)
    finally:
        forget()
        process.kill()
        # The rows still being computed are no longer needed.
        run.end.cancel()
        feeder.join()
        process.close()


def _whole_lines(process: ScriptProcess, newline: bytes, run: StepRun) -> Iterator[bytes]:
    """Yield the script's output, cut after line ends; the last line may have none."""
    rest = bytearray()
    for chunk in process.chunks():
        run.end.check()
        cut = chunk.rfind(newline) + 1
        if cut:
            yield bytes(rest) + chunk[:cut]
            rest.clear()
        rest += chunk[cut:]
        if len(rest) > _MOST_LINE_BYTES:
            raise process.failure(f"printed a line of more than {_MOST_LINE_BYTES:,} bytes")
    if rest:
        yield bytes(rest)


def _finish(script: Script, process: ScriptProcess, feeder: _Feeder, run: StepRun) -> None:
    code = process.wait()
    run.end.check()
    if feeder.failure is not None:
        raise feeder.failure
    process.check(code)
    if script.may_leave_rows:
        return
    feeder.join()
    run.end.check()
    if feeder.failure is not None:
        raise feeder.failure
    if process.left_rows:
        hint = "SET hive.exec.script.allow.partial.consumption=true if that is as it should be"
        raise process.failure("ended before it had read all of its rows", hint)


class _Feeder:
    """Writer of the rows to the script; `failure` is the error that ended it."""

    def __init__(
        self, process: ScriptProcess, writer: LineWriter, first: pa.RecordBatch, rows: Iterator[pa.RecordBatch]
    ) -> None:
        self.failure: Exception | None = None
        self._process = process
        self._writer = writer
        self._first = first
        self._rows = rows
        self._thread = threading.Thread(target=self._run, name="sharkpy-script-rows", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._process.feed(self._lines())
        except Exception as error:  # noqa: BLE001 - the reader of the script's rows raises it
            self.failure = error
            self._process.kill()

    def _lines(self) -> Iterator[memoryview]:
        yield self._writer.lines(self._first)
        for batch in self._rows:
            if batch.num_rows:
                yield self._writer.lines(batch)


def _renamed(schema: Schema, names: Sequence[str]) -> Schema:
    return Schema(tuple(Field(name, field.dtype) for name, field in zip(names, schema, strict=True)))
