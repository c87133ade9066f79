"""Runner of a script over a task's rows: lines to its standard input, rows from its standard output."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from sharkpy.base.errors import UnsupportedError
from sharkpy.catalog.model import StorageFormat
from sharkpy.execution.tasks.steps.row_steps import StepRun
from sharkpy.execution.tasks.steps.script_process import ScriptProcess
from sharkpy.plan.row_steps import DELIMITED_JSON, Script
from sharkpy.sources.arrow import Array, pc
from sharkpy.sources.formats import source
from sharkpy.sources.rows.delimited import delimited_json
from sharkpy.sources.source import ReadMetrics
from sharkpy.sources.text_files import LineSource
from sharkpy.sources.text_format import TORN_KEY, text_format
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


_SEPARATOR, _SHOWN_SEPARATOR = b"\x01", b"\t"
_ESCAPES = ((b"\\", b"\\\\"), (b"\n", b"\\n"), (b"\r", b"\\r"), (b"\t", b"\\t"), (_SEPARATOR, _SHOWN_SEPARATOR))
_UNESCAPED = {ord("n"): b"\n", ord("r"): b"\r", ord("t"): b"\t", ord("\\"): b"\\"}


class LineWriter:
    """Writer of batches as lines, one per row. Delimiters in values are not escaped unless the script uses escapes."""

    def __init__(self, script: Script, schema: Schema) -> None:
        self._script = script
        self._schema = schema
        self._properties = (*script.written.properties, (TORN_KEY, "true"))
        self._rows = None if script.written.name == DELIMITED_JSON else lines_of(script.written).rows
        if self._rows is None:
            self._newline = bytes([text_format(self._properties).line])
        else:
            self._rows.check(schema, self._properties)
            self._newline = self._rows.lines(self._properties).newline

    def lines(self, batch: pa.RecordBatch) -> memoryview:
        if self._rows is None:
            rows = delimited_json(batch, self._schema, self._properties)
        else:
            rows = self._rows.encode(batch, self._schema, self._properties)
        if self._script.escapes:
            for raw, written in _ESCAPES:
                rows = pc.replace_substring(rows, raw, written)
        return _flat(pc.binary_join_element_wise(rows, b"", self._newline))


class LineReader:
    """Reader of chunks of whole lines as batches of `schema`. Malformed values become NULL and are counted."""

    def __init__(self, script: Script, schema: Schema, metrics: ReadMetrics) -> None:
        rows = lines_of(script.read).rows
        rows.check(schema, script.read.properties)
        self.newline = rows.lines(script.read.properties).newline
        self._escapes = script.escapes
        self._metrics = metrics
        self._reader = rows.reader(schema, schema.names, script.read.properties, metrics)

    def batches(self, lines: bytes) -> Iterator[pa.RecordBatch]:
        self._metrics.bytes += len(lines)
        if self._escapes:
            split = lines.removesuffix(self.newline).split(self.newline)
            yield from self._reader.read_rows(pa.array(map(_unescaped, split), pa.binary()))
        else:
            yield from self._reader.read_lines(lines)


def lines_of(storage: StorageFormat) -> LineSource:
    """Return the line format of a script's rows. Raise UnsupportedError if the format is not lines."""
    found = source(storage.name)
    if not isinstance(found, LineSource):
        raise UnsupportedError(
            f"rows of a script in the format {storage.name}, which is not lines of text, are not supported"
        )
    return found


def _unescaped(line: bytes) -> bytes:
    line = line.replace(_SHOWN_SEPARATOR, _SEPARATOR)
    if b"\\" not in line:
        return line
    parts = iter(line.split(b"\\"))
    result = next(parts)
    for part in parts:
        if not part:
            # An escaped escape: the text that follows is plain.
            result += b"\\" + next(parts, b"")
        else:
            result += _UNESCAPED.get(part[0], b"\\" + part[:1]) + part[1:]
    return result


def _flat(rows: Array) -> memoryview:
    """Return the bytes of all rows, one after the other."""
    if isinstance(rows, pa.ChunkedArray):
        rows = rows.combine_chunks()
    offsets = np.frombuffer(rows.buffers()[1], np.int32)
    return memoryview(rows.buffers()[2])[offsets[rows.offset] : offsets[rows.offset + len(rows)]]
