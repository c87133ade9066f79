"""Rows of fields between delimiters: LazySimpleSerDe, and its relatives MultiDelimitSerDe and DelimitedJSONSerDe."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sharkpy.base.errors import ConfigurationError, ExecutionError
from sharkpy.base.records import dataclass
from sharkpy.sources.arrow import Array, column_type, pc
from sharkpy.sources.column_conversion import row_count_batch
from sharkpy.sources.line_chunks import LineLayout
from sharkpy.sources.rows.row_format import Properties
from sharkpy.sources.source import BATCH_ROWS, ReadMetrics
from sharkpy.sources.text_fields import FieldReader, HiddenEscapes, hide_escapes
from sharkpy.sources.text_format import CARRIAGE_RETURN, NEWLINE, TextFormat, text_format
from sharkpy.sources.text_write import hive_text, text_rows
from sharkpy.values.types import BINARY, DataType, Schema, is_nested
from sharkpy.values.utf8 import valid_texts, valid_utf8
from sharkpy.values.value_text import format_column

MUCH_BYTES = 1 << 22
"""Bytes of text in a process from which compiled loops pay: loading numba takes as long as splitting some times as
much.
"""
_KERNELS = "sharkpy.sources.cut_fields"
_MOST_BYTES = (1 << 31) - 1
"""Most bytes of data with 32-bit offsets."""
_SPARE_LINE_ENDS = ((0xFE, NEWLINE), (0xFF, CARRIAGE_RETURN))
"""Bytes that UTF-8 never uses and `hide_escapes` uses last, for line ends inside rows."""


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
            yield from self._read(data, HiddenEscapes(None, (), self.layout.null))
            return
        yield from self._read(*hide_escapes(valid_utf8(data), self.layout))

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
        data, hidden = hide_escapes(_flat_bytes(ended), self.layout)
        yield from self._read(data, replace(hidden, restores=(*hidden.restores, *inside)))

    def _hides(self, data: bytes) -> bool:
        escape = self.layout.escape
        return self.layout.line != NEWLINE or (escape is not None and escape in data)

    def _read(self, data: bytes, hidden: HiddenEscapes) -> Iterator[pa.RecordBatch]:
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


_FIELD = "field.delim"
_SINGLE = b"\x01"


class MultiDelimitedRows:
    """Rows for LazySimpleSerDe's reader and writer, with the delimiter replaced by one byte."""

    _inner = DelimitedRows()

    def check(self, schema: Schema, properties: Properties) -> None:
        _delimiter(properties)
        self._inner.check(schema, _single(properties))

    def lines(self, properties: Properties) -> LineLayout:
        return self._inner.lines(_single(properties))

    def reader(
        self, schema: Schema, names: Sequence[str], properties: Properties, metrics: ReadMetrics
    ) -> _MultiDelimitedReader:
        inner = self._inner.reader(schema, names, _single(properties), metrics)
        return _MultiDelimitedReader(inner, _delimiter(properties))

    def encode(self, batch: pa.RecordBatch, schema: Schema, properties: Properties) -> Array:
        delimiter = _delimiter(properties)
        for column, field in zip(batch.columns, schema, strict=True):
            is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
            if is_text and pc.any(pc.match_substring(column, delimiter.decode()), min_count=0).as_py():
                message = f'a value of column "{field.name}" holds the delimiter {delimiter.decode()!r} of its table'
                raise ExecutionError(message, hint="give the table another delimiter or format", sqlstate="22000")
        return pc.replace_substring(self._inner.encode(batch, schema, _single(properties)), _SINGLE, delimiter)


class _MultiDelimitedReader:
    def __init__(self, inner: DelimitedReader, delimiter: bytes) -> None:
        self._inner = inner
        self._delimiter = delimiter

    def read_lines(self, data: bytes) -> Iterator[pa.RecordBatch]:
        yield from self._inner.read_lines(data.replace(self._delimiter, _SINGLE))

    def read_rows(self, rows: Array) -> Iterator[pa.RecordBatch]:
        yield from self._inner.read_rows(pc.replace_substring(rows, self._delimiter, _SINGLE))


def _delimiter(properties: Properties) -> bytes:
    text = dict(properties).get(_FIELD, "")
    if not text:
        raise ConfigurationError(f'a table of the MultiDelimitSerDe needs the property "{_FIELD}"', sqlstate="22023")
    return text.encode()


def _single(properties: Properties) -> Properties:
    return tuple(item for item in properties if item[0] not in (_FIELD, "serialization.format"))


def delimited_json(batch: pa.RecordBatch, schema: Schema, properties: Properties) -> Array:
    """Bytes of each row, without a line end. Delimiters within values are not escaped."""
    layout = text_format(properties)
    null = pa.scalar(layout.null, pa.binary())
    columns = [
        pc.fill_null(_texts(column, field.dtype), null) for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pc.binary_join_element_wise(*columns, layout.separator(0)) if len(columns) > 1 else columns[0]


def _texts(column: Array, dtype: DataType) -> Array:
    """Values as binary; NULL stays NULL."""
    if is_nested(dtype):
        mask = column.is_null().to_numpy(zero_copy_only=False)
        return pa.array(format_column(column, dtype), pa.string(), mask=mask).cast(pa.binary())
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.binary()) if dtype == BINARY else hive_text(column, dtype)
