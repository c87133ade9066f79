"""LazySimpleSerDe: fields between delimiters, nested types with delimiters of several levels."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sharkpy.sources.arrow import Array, column_type, pc
from sharkpy.sources.columns import row_count_batch
from sharkpy.sources.escapes import Hidden, hide
from sharkpy.sources.line_chunks import LineLayout
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.rows.row_format import Properties
from sharkpy.sources.source import BATCH_ROWS
from sharkpy.sources.text_fields import FieldReader
from sharkpy.sources.text_format import CARRIAGE_RETURN, NEWLINE, TextFormat, text_format
from sharkpy.sources.text_write import text_rows
from sharkpy.values.types import Schema
from sharkpy.values.utf8 import valid_texts, valid_utf8

MUCH_BYTES = 1 << 22
"""Bytes of text in a process from which compiled loops pay: loading numba takes as long as splitting some times as
much.
"""
_KERNELS = "sharkpy.sources.cut_fields"
_MOST_BYTES = (1 << 31) - 1
"""Most bytes of data with 32-bit offsets."""
_SPARE_LINE_ENDS = ((0xFE, NEWLINE), (0xFF, CARRIAGE_RETURN))
"""Bytes that UTF-8 never uses and `hide` uses last, for line ends inside rows."""


@dataclass(frozen=True, slots=True)
class DelimitedRows:
    """Rows of LazySimpleSerDe."""

    is_lined: bool = True

    def check(self, schema: Schema, properties: Properties) -> None:
        text_format(properties).check(schema)

    def lines(self, properties: Properties) -> LineLayout:
        layout = text_format(properties)
        return LineLayout(bytes([layout.line]), layout.header_lines, layout.footer_lines)

    def reader(
        self, schema: Schema, names: Sequence[str], properties: Properties, metrics: ReadMetrics
    ) -> DelimitedReader:
        return DelimitedReader(text_format(properties), schema, tuple(names), metrics)

    def encode(self, batch: pa.RecordBatch, schema: Schema, properties: Properties) -> Array:
        return text_rows(batch, schema, replace(text_format(properties), is_lined=self.is_lined))


class DelimitedReader:
    """Reads rows by compiled loops. Small data is split by Arrow's functions, so that numba need not be loaded."""

    bytes_read = 0
    """Bytes read by all readers of this process."""

    def __init__(self, layout: TextFormat, schema: Schema, names: tuple[str, ...], metrics: ReadMetrics) -> None:
        self.layout = layout
        self.names = names
        self.metrics = metrics
        self.positions = [schema.names.index(name) for name in names]
        self.types = [schema[name].dtype for name in names]
        self.num_fields = len(schema)

    def read_lines(self, data: bytes) -> Iterator[pa.RecordBatch]:
        if not self._hides(data):
            yield from self._read(data, Hidden(None, (), self.layout.null))
            return
        yield from self._read(*hide(valid_utf8(data), self.layout))

    def read_rows(self, rows: Array) -> Iterator[pa.RecordBatch]:
        """Read rows of a sequence file, which may contain line ends."""
        flat = b"".join(rows.to_pylist()) if not _is_ascii(rows) else b""
        if flat and valid_utf8(flat) is not flat:
            rows = pa.array([valid_utf8(row) for row in rows.to_pylist()], pa.binary())
        inside = []
        for spare, byte in _SPARE_LINE_ENDS:
            if pc.any(pc.match_substring(rows, bytes([byte])), min_count=0).as_py():
                rows = pc.replace_substring(rows, bytes([byte]), bytes([spare]))
                inside.append((spare, byte))
        ended = pc.binary_join_element_wise(rows, b"", bytes([self.layout.line]))
        data, hidden = hide(_flat_bytes(ended), self.layout)
        yield from self._read(data, replace(hidden, restores=(*hidden.restores, *inside)))

    def _hides(self, data: bytes) -> bool:
        escape = self.layout.escape
        return self.layout.line != NEWLINE or (escape is not None and escape in data)

    def _read(self, data: bytes, hidden: Hidden) -> Iterator[pa.RecordBatch]:
        if not data:
            return
        if CARRIAGE_RETURN in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        fields = FieldReader(self.layout, hidden, self.metrics)
        read = self._by_cutting if self._is_much(data) else self._by_splitting
        columns, num_rows = read(data, fields)
        self.metrics.rows += num_rows
        if not self.names:
            yield row_count_batch(num_rows)
            return
        batch = pa.RecordBatch.from_arrays(columns, schema=self._schema())
        for first in range(0, num_rows, BATCH_ROWS):
            yield batch.slice(first, BATCH_ROWS)

    def _is_much(self, data: bytes) -> bool:
        DelimitedReader.bytes_read += len(data)
        return (_KERNELS in sys.modules or DelimitedReader.bytes_read >= MUCH_BYTES) and len(data) <= _MOST_BYTES

    def _by_cutting(self, data: bytes, fields: FieldReader) -> tuple[list[Array], int]:
        from sharkpy.sources.cut_fields import ColumnReader, CutLines

        wanted = sorted(set(self.positions))
        separator, null = self.layout.separators[0], fields.hidden.null
        lines = CutLines.of(data, separator, null, wanted, self.num_fields, self.layout.last_takes_rest)
        self.metrics.malformed_lines += lines.num_short
        if lines.num_short and self.metrics.marks is not None:
            last = CutLines.of(
                data, separator, null, [self.num_fields - 1], self.num_fields, self.layout.last_takes_rest
            )
            self.metrics.mark(np.flatnonzero(last.starts[0] < 0), is_whole=True)
        reader = ColumnReader(lines, fields)
        columns = [
            reader.column(wanted.index(position), dtype)
            for position, dtype in zip(self.positions, self.types, strict=True)
        ]
        return columns, lines.num_rows

    def _by_splitting(self, data: bytes, fields: FieldReader) -> tuple[list[Array], int]:
        lines = pc.split_pattern(pa.array([data.removesuffix(b"\n")], pa.binary()), b"\n").values
        most = self.num_fields - 1 if self.layout.last_takes_rest else None
        split = pc.split_pattern(lines, self.layout.separator(0), max_splits=most) if most != 0 else list_of_one(lines)
        is_short = pc.less(pc.list_value_length(split), self.num_fields)
        self.metrics.malformed_lines += pc.sum(is_short, min_count=0).as_py()
        self.metrics.mark(pc.indices_nonzero(is_short).to_numpy(), is_whole=True)
        parts = pc.list_slice(split, 0, self.num_fields, return_fixed_size_list=True)
        raw = [pc.list_element(parts, position) for position in self.positions]
        if not fields.hidden and not data.isascii():
            raw = list(map(valid_texts, raw))
        return list(map(fields.read, raw, self.types)), len(lines)

    def _schema(self) -> pa.Schema:
        return pa.schema([(name, column_type(dtype)) for name, dtype in zip(self.names, self.types, strict=True)])


def list_of_one(items: Array) -> Array:
    return pa.ListArray.from_arrays(pa.array(range(len(items) + 1), pa.int32()), items)


def _is_ascii(rows: Array) -> bool:
    data = rows.buffers()[2]
    return data is None or bool((np.frombuffer(data, np.uint8) < 128).all())


def _flat_bytes(rows: Array) -> bytes:
    """Bytes of all rows, one after the other."""
    offsets = np.frombuffer(rows.buffers()[1], np.int32)
    first, last = int(offsets[rows.offset]), int(offsets[rows.offset + len(rows)])
    return bytes(memoryview(rows.buffers()[2])[first:last])
