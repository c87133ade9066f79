"""Rows of a script: written as lines to its standard input, and read from its standard output."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sharkpy.base.errors import UnsupportedError
from sharkpy.catalog.model import StorageFormat
from sharkpy.plan.row_steps import DELIMITED_JSON, Script
from sharkpy.sources.arrow import Array, pc
from sharkpy.sources.formats import source
from sharkpy.sources.rows.delimited import delimited_json
from sharkpy.sources.source import ReadMetrics
from sharkpy.sources.text_files import LineSource
from sharkpy.sources.text_format import TORN_KEY, text_format
from sharkpy.values.types import Schema

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
