"""LazySimpleSerDe: fields between delimiters, nested types by levels of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.csv

from sharkpy.sources.arrow import Array, ChunkedArray, column_type, pc, reader_of
from sharkpy.sources.columns import row_count_batch
from sharkpy.sources.escapes import Hidden, hide
from sharkpy.sources.line_chunks import LineLayout
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.rows.row_format import Properties
from sharkpy.sources.source import BATCH_ROWS
from sharkpy.sources.text_fields import FieldReader, needs_fields
from sharkpy.sources.text_format import CARRIAGE_RETURN, NEWLINE, TextFormat, text_format
from sharkpy.sources.text_write import text_rows
from sharkpy.types import (
    DOUBLE,
    FLOAT,
    INTEGER_TYPES,
    TIMESTAMP,
    CharType,
    DataType,
    DecimalType,
    Schema,
    VarcharType,
    is_string,
)

_SPARE_LINE_ENDS = ((0xFE, NEWLINE), (0xFF, CARRIAGE_RETURN))
"""Bytes that UTF-8 never uses and `hide` uses last, for line ends inside rows."""


@dataclass(frozen=True, slots=True)
class DelimitedRows:
    """The CSV reader's typed conversion is tried first; what it refuses is read leniently."""

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
    """Reads the rows of one split; remembers the columns that once were not well formed."""

    def __init__(self, layout: TextFormat, schema: Schema, names: tuple[str, ...], metrics: ReadMetrics) -> None:
        self.layout = layout
        self.names = names
        self.metrics = metrics
        self.positions = [schema.names.index(name) for name in names]
        self.types = [schema[name].dtype for name in names]
        self.num_fields = len(schema)
        # Timestamps of other forms than Hive's own are for the FieldReader too.
        self.refused: set[int] = {
            i
            for i, dtype in enumerate(self.types)
            if needs_fields(dtype) or (dtype == TIMESTAMP and layout.timestamp_formats)
        }

    def read_lines(self, data: bytes) -> Iterator[pa.RecordBatch]:
        if not data.isascii():
            data = valid_utf8(data)
        yield from self._read(data)

    def read_rows(self, rows: Array) -> Iterator[pa.RecordBatch]:
        """Rows of a sequence file, which may hold line ends."""
        flat = b"".join(rows.to_pylist()) if not _is_ascii(rows) else b""
        if flat and valid_utf8(flat) is not flat:
            rows = pa.array([valid_utf8(row) for row in rows.to_pylist()], pa.binary())
        inside = []
        for spare, byte in _SPARE_LINE_ENDS:
            if pc.any(pc.match_substring(rows, bytes([byte])), min_count=0).as_py():
                rows = pc.replace_substring(rows, bytes([byte]), bytes([spare]))
                inside.append((spare, byte))
        ended = pc.binary_join_element_wise(rows, b"", bytes([self.layout.line]))
        yield from self._read(_flat_bytes(ended), tuple(inside))

    def _read(self, data: bytes, inside: tuple[tuple[int, int], ...] = ()) -> Iterator[pa.RecordBatch]:
        """`inside`: bytes that stand for line ends inside rows."""
        data, hidden = hide(data, self.layout)
        hidden = replace(hidden, restores=(*hidden.restores, *inside))
        if not self.names:
            rows = _count_lines(data)
            self.metrics.rows += rows
            yield row_count_batch(rows)
            return
        table = self._by_csv_reader(data, hidden)
        if table is None:
            table = self._by_splitting(data, hidden)
        self.metrics.rows += table.num_rows
        # Its chunks are those that the CSV reader's threads made; joining them would copy everything.
        yield from table.to_batches(BATCH_ROWS)

    def _by_csv_reader(self, data: bytes, hidden: Hidden) -> pa.Table | None:
        """None where lines differ in their number of fields."""
        separator = self.layout.separators[0]
        if separator == 0 or separator > 127:
            return None
        end = data.find(b"\n")
        width = data.count(separator, 0, len(data) if end < 0 else end) + 1
        if self.layout.last_takes_rest and width > self.num_fields:
            return None
        has_hexadecimal = any(dtype in INTEGER_TYPES for dtype in self.types) and _has_hexadecimal(data)
        for _ in range(3):
            typed = [
                i
                for i, position in enumerate(self.positions)
                if position < width and self._is_typed(i, has_hexadecimal, hidden)
            ]
            try:
                parsed = self._parse(data, width, typed)
            except pa.ArrowInvalid as error:
                if "conversion error" not in str(error):
                    return None
                self.refused.update(typed)
                continue
            if odd := {i for i in typed if _is_doubtful(parsed.column(str(self.positions[i])), self.types[i])}:
                self.refused |= odd
                continue
            if parsed.num_rows and width < self.num_fields:
                self.metrics.malformed_lines += parsed.num_rows
            return self._finish(parsed, set(typed), hidden, self._has_null(data))
        return None

    def _is_typed(self, index: int, has_hexadecimal: bool, hidden: Hidden) -> bool:
        dtype = self.types[index]
        if index in self.refused or (hidden and is_string(dtype)):
            return False
        # The CSV reader takes hexadecimal digits for integers; Hive does not.
        return not (has_hexadecimal and dtype in INTEGER_TYPES)

    def _has_null(self, data: bytes) -> bool:
        # One byte is searched for much faster than two.
        return self.layout.null[:1] in data and self.layout.null in data

    def _parse(self, data: bytes, width: int, typed: list[int]) -> pa.Table:
        wanted = {self.positions[i]: column_type(self.types[i]) for i in typed}
        present = sorted({position for position in self.positions if position < width})
        return pa.csv.read_csv(
            reader_of(data),
            read_options=pa.csv.ReadOptions(
                column_names=[str(i) for i in range(width)], block_size=1 << 20, use_threads=pa.cpu_count() > 1
            ),
            parse_options=pa.csv.ParseOptions(
                delimiter=chr(self.layout.separators[0]), quote_char=False, ignore_empty_lines=False
            ),
            convert_options=pa.csv.ConvertOptions(
                check_utf8=False,
                include_columns=[str(position) for position in present] or ["0"],
                column_types={str(i): wanted.get(i, pa.binary()) for i in {*present, 0}},
                null_values=[self.layout.null.decode(), ""],
                strings_can_be_null=False,
                true_values=["true", "TRUE", "True"],
                false_values=["false", "FALSE", "False"],
            ),
        )

    def _finish(self, parsed: pa.Table, typed: set[int], hidden: Hidden, has_null: bool) -> pa.Table:
        columns = []
        fields = FieldReader(self.layout, hidden, self.metrics)
        for index, (position, dtype) in enumerate(zip(self.positions, self.types, strict=True)):
            if str(position) not in parsed.column_names:
                columns.append(pa.nulls(parsed.num_rows, column_type(dtype)))
            elif index in typed:
                column = parsed.column(str(position))
                columns.append(self._typed_column(column, dtype, has_null))
            else:
                raw = _one_chunk(parsed.column(str(position)))
                columns.append(fields.read(raw, dtype))
        return pa.table(columns, schema=self._schema())

    def _typed_column(self, column: ChunkedArray, dtype: DataType, has_null: bool) -> ChunkedArray:
        if not is_string(dtype):
            return column
        null = self.layout.null.decode()
        if has_null and pc.any(pc.equal(column, null), min_count=0).as_py():
            column = pc.if_else(pc.equal(column, null), pa.scalar(None, pa.string()), column)
        if isinstance(dtype, (VarcharType, CharType)):
            column = pc.utf8_slice_codeunits(column, 0, dtype.length)
        return column

    def _by_splitting(self, data: bytes, hidden: Hidden) -> pa.Table:
        """Any lines at all: too short ones end in NULLs, surplus fields are dropped."""
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = pc.split_pattern(pa.array([data.removesuffix(b"\n")], pa.binary()), b"\n").values
        most = self.num_fields - 1 if self.layout.last_takes_rest else None
        split = pc.split_pattern(lines, self.layout.separator(0), max_splits=most) if most != 0 else list_of_one(lines)
        short = pc.sum(pc.less(pc.list_value_length(split), self.num_fields), min_count=0).as_py()
        self.metrics.malformed_lines += short
        parts = pc.list_slice(split, 0, self.num_fields, return_fixed_size_list=True)
        fields = FieldReader(self.layout, hidden, self.metrics)
        columns = [
            fields.read(pc.list_element(parts, position), dtype)
            for position, dtype in zip(self.positions, self.types, strict=True)
        ]
        return pa.table(columns, schema=self._schema())

    def _schema(self) -> pa.Schema:
        return pa.schema([(name, column_type(dtype)) for name, dtype in zip(self.names, self.types, strict=True)])


def _has_hexadecimal(data: bytes) -> bool:
    """Whether `0x` or `0X` occurs."""
    array = np.frombuffer(data, np.uint8)
    return any((array[np.flatnonzero(array[1:] == x)] == ord("0")).any() for x in b"xX")


def _is_doubtful(column: ChunkedArray, dtype: DataType) -> bool:
    """Whether the CSV reader may have taken what Hive does not.

    That is spellings of NaN and infinities, and decimals with more digits than their type has.
    """
    if dtype in (FLOAT, DOUBLE):
        return not pc.all(pc.is_finite(column), min_count=0).as_py()
    if isinstance(dtype, DecimalType):
        bounds = pc.min_max(column).as_py()
        limit = Decimal(10) ** (dtype.precision - dtype.scale)
        return any(bound is not None and abs(bound) >= limit for bound in bounds.values())
    return False


def _one_chunk(column: ChunkedArray) -> Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def valid_utf8(data: bytes) -> bytes:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").encode()
    return data


def _count_lines(data: bytes) -> int:
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data.count(NEWLINE) + (not data.endswith(b"\n"))


def list_of_one(items: Array) -> Array:
    return pa.ListArray.from_arrays(pa.array(range(len(items) + 1), pa.int32()), items)


def _is_ascii(rows: Array) -> bool:
    data = rows.buffers()[2]
    return data is None or bool((np.frombuffer(data, np.uint8) < 128).all())


def _flat_bytes(rows: Array) -> bytes:
    """The bytes of all rows, one behind the other."""
    offsets = np.frombuffer(rows.buffers()[1], np.int32)
    first, last = int(offsets[rows.offset]), int(offsets[rows.offset + len(rows)])
    return bytes(memoryview(rows.buffers()[2])[first:last])
