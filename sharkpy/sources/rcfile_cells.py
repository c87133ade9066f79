"""The cells of an RCFile's columns: as text (ColumnarSerDe) or binary (LazyBinaryColumnarSerDe)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from sharkpy.base.records import dataclass
from sharkpy.catalog.hive_formats import COLUMNAR, SERDE_KEY
from sharkpy.sources.arrow import Array, column_type, pc
from sharkpy.sources.binary_values import IntArray, vlongs_at
from sharkpy.sources.lenient_conversion import lenient
from sharkpy.sources.rows.lazy_binary import decode_content, encode_content
from sharkpy.sources.source import Properties, ReadMetrics
from sharkpy.sources.text_fields import FieldReader, hide_escapes
from sharkpy.sources.text_format import TextFormat, text_format
from sharkpy.sources.text_write import to_text
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    TINYINT,
    DataType,
    Field,
    Schema,
    is_string,
)
from sharkpy.values.utf8 import valid_texts, valid_utf8

_EMPTY_TEXT = b"\xbf"
"""An empty string in the binary form, in which a cell without bytes is NULL."""
_NO_BYTE = 0xFF
"""Separator that never occurs, since cells are not split into fields: no text has this byte."""
_FIXED: dict[DataType, str] = {TINYINT: ">i1", SMALLINT: ">i2", FLOAT: ">f4", DOUBLE: ">f8"}


@dataclass(frozen=True, slots=True)
class Cells:
    """The bytes of all cells of a column, one after the other, and the length of each."""

    content: bytes
    lengths: IntArray
    size_bytes: int = 0

    def as_binary(self) -> Array:
        offsets = np.zeros(len(self.lengths) + 1, np.int32)
        np.cumsum(self.lengths, out=offsets[1:])
        buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(self.content)]
        return pa.Array.from_buffers(pa.binary(), len(self.lengths), buffers)

    @classmethod
    def of(cls, cells: Array) -> Cells:
        """Cells of binary values without NULL."""
        offsets = np.frombuffer(cells.buffers()[1], np.int32)[cells.offset : cells.offset + len(cells) + 1]
        data = cells.buffers()[2]
        content = b"" if data is None else bytes(memoryview(data)[int(offsets[0]) : int(offsets[-1])])
        return cls(content, np.diff(offsets).astype(np.int64))


class CellFormat(Protocol):
    def check(self, schema: Schema) -> None: ...

    def decode(self, cells: Cells, dtype: DataType, metrics: ReadMetrics) -> Array: ...

    def encode(self, column: Array, field: Field) -> Cells: ...


def cell_format(properties: Properties) -> CellFormat:
    if dict(properties).get(SERDE_KEY) == COLUMNAR:
        layout = replace(text_format(properties), is_lined=False)
        if layout.escape is None:
            layout = replace(layout, separators=(_NO_BYTE, *layout.separators[1:]))
        return TextCells(layout)
    return BinaryCells()


@dataclass(frozen=True, slots=True)
class TextCells:
    layout: TextFormat

    def check(self, schema: Schema) -> None:
        self.layout.check(schema)

    def decode(self, cells: Cells, dtype: DataType, metrics: ReadMetrics) -> Array:
        content = cells.content
        if not content.isascii() and valid_utf8(content) is not content:
            texts = [valid_utf8(cell) for cell in cells.as_binary().to_pylist()]
            cells = Cells.of(pa.array(texts, pa.binary()))
            content = cells.content
        hidden_content, hidden = hide_escapes(content, self.layout)
        raw = Cells(hidden_content, cells.lengths).as_binary()
        return FieldReader(self.layout, hidden, metrics).read(raw, dtype)

    def encode(self, column: Array, field: Field) -> Cells:
        text = to_text(column, field.dtype, self.layout, 1, field.name)
        return Cells.of(pc.fill_null(text, pa.scalar(self.layout.null, pa.binary())))


class BinaryCells:
    def check(self, schema: Schema) -> None:
        """Accept any columns."""

    def decode(self, cells: Cells, dtype: DataType, metrics: ReadMetrics) -> Array:
        is_null = cells.lengths == 0
        if dtype in (INT, BIGINT):
            values = np.zeros(len(is_null), np.int64)
            starts = np.cumsum(cells.lengths) - cells.lengths
            data = np.frombuffer(cells.content + bytes(8), np.uint8)
            values[~is_null] = vlongs_at(data, starts[~is_null])
            narrow = values.astype(np.int32) if dtype == INT else values
            return pa.array(narrow, column_type(dtype), mask=is_null)
        if form := _FIXED.get(dtype):
            return self._fixed(cells, dtype, np.dtype(form), metrics)
        if is_string(dtype) or dtype == BINARY:
            return self._texts(cells, dtype, is_null)
        return self._one_by_one(cells, dtype, metrics)

    def _fixed(self, cells: Cells, dtype: DataType, form: np.dtype[Any], metrics: ReadMetrics) -> Array:
        """Values of a fixed size; cells of another size are malformed."""
        is_there = cells.lengths == form.itemsize
        content = cells.content
        if not np.array_equal(is_there, cells.lengths > 0):
            malformed = np.flatnonzero(~is_there & (cells.lengths > 0))
            metrics.malformed_fields += len(malformed)
            metrics.mark(malformed.tolist())
            starts = (np.cumsum(cells.lengths) - cells.lengths)[is_there].tolist()
            content = b"".join(content[start : start + form.itemsize] for start in starts)
        values = np.zeros(len(is_there), form.newbyteorder("="))
        values[is_there] = np.frombuffer(content, form)
        return pa.array(values, column_type(dtype), mask=~is_there)

    def _texts(self, cells: Cells, dtype: DataType, is_null: Any) -> Array:
        raw = cells.as_binary()
        if is_string(dtype):
            raw = pc.if_else(pc.equal(raw, _EMPTY_TEXT), b"", raw)
        raw = pc.if_else(pa.array(is_null), pa.scalar(None, pa.binary()), raw)
        if dtype == BINARY:
            return raw
        return lenient(valid_texts(raw).view(pa.string()), dtype)

    def _one_by_one(self, cells: Cells, dtype: DataType, metrics: ReadMetrics) -> Array:
        values, place = [], 0
        for row, length in enumerate(cells.lengths.tolist()):
            try:
                cell = cells.content[place : place + length]
                value = decode_content(cell, 0, length, dtype) if length else None
            except (IndexError, ValueError, OverflowError):
                metrics.malformed_fields += 1
                metrics.mark([row])
                value = None
            values.append(value)
            place += length
        return pa.array(values, column_type(dtype))

    def encode(self, column: Array, field: Field) -> Cells:
        dtype = field.dtype
        cells = [b"" if value is None else encode_content(value, dtype) for value in column.to_pylist()]
        if is_string(dtype):
            cells = [
                _EMPTY_TEXT if not cell and value.is_valid else cell for cell, value in zip(cells, column, strict=True)
            ]
        return Cells.of(pa.array(cells, pa.binary()))
