"""Delimited lines to columns by compiled loops. They find fields and parse plain ones; lenient rules parse the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.base.records import dataclass
from sharkpy.sources.arrow import Array, column_type
from sharkpy.sources.kernels.cut_lines import copy_fields, count_byte, cut_lines
from sharkpy.sources.kernels.parse_values import (
    EXACT_MANTISSA,
    EXACT_POWER,
    INTEGER_POWERS,
    MOST_DIGITS,
    POWERS,
    parse_booleans,
    parse_dates,
    parse_decimals,
    parse_reals,
    parse_timestamps,
)
from sharkpy.sources.lenient_conversion import fitted_texts
from sharkpy.sources.text_fields import FieldReader
from sharkpy.sources.text_format import NEWLINE
from sharkpy.values.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER_TYPES,
    TIMESTAMP,
    DataType,
    DecimalType,
    is_string,
)
from sharkpy.values.utf8 import valid_texts

_Numbers = np.ndarray[Any, np.dtype[Any]]
_SPARE_BYTES = 16
"""Bytes that copying may write past a field, see `copy_fields`."""
_NO_LIMIT = 1 << 62


@dataclass(frozen=True, slots=True)
class CutLines:
    """Offsets of the wanted fields of lines: `data[starts[i, row]:ends[i, row]]`, or -1 if a line is too short."""

    data: _Numbers
    null: _Numbers
    num_rows: int
    num_short: int
    starts: _Numbers
    ends: _Numbers

    @classmethod
    def of(
        cls, data: bytes, separator: int, null: bytes, wanted: Sequence[int], num_fields: int, takes_rest: bool
    ) -> CutLines:
        """Cut `data`, whose lines end with line feeds. `wanted` ascends; with `takes_rest` a line has at most
        `num_fields`.
        """
        array = np.frombuffer(data, np.uint8)
        newline = np.uint8(NEWLINE)
        shape = (len(wanted), count_byte(array, newline) + 1 if wanted else 0)
        starts, ends = _empty(shape, np.int32), _empty(shape, np.int32)
        fields = (np.array(wanted, np.int64), num_fields, num_fields - 1 if takes_rest else _NO_LIMIT)
        num_rows, num_short = cut_lines(array, np.uint8(separator), newline, *fields, starts, ends)
        return cls(array, np.frombuffer(null, np.uint8), num_rows, num_short, starts[:, :num_rows], ends[:, :num_rows])

    def raw(self, index: int, rows: _Numbers | None = None) -> tuple[Array, bool]:
        """Fields as binary, NULL if they are missing or equal the NULL text; and whether all fields are ASCII."""
        starts, ends = self.starts[index], self.ends[index]
        if rows is not None:
            starts, ends = starts[rows], ends[rows]
        num_rows = len(starts)
        size = int(np.subtract(ends, starts).sum(dtype=np.int64))
        offsets, valid, out = (
            _empty(num_rows + 1, np.int32),
            _all_valid(num_rows),
            _empty(size + _SPARE_BYTES, np.uint8),
        )
        num_nulls, is_ascii = copy_fields(self.data, starts, ends, self.null, offsets, valid, out)
        buffers = [_buffer(valid) if num_nulls else None, _buffer(offsets), _buffer(out)]
        return pa.Array.from_buffers(pa.binary(), num_rows, buffers, num_nulls), is_ascii


@dataclass(frozen=True, slots=True)
class ColumnReader:
    """Columns of cut lines. Invalid UTF-8 is replaced, except bytes that encode hidden characters."""

    lines: CutLines
    fields: FieldReader

    def column(self, index: int, dtype: DataType) -> Array:
        plain = self._plain_form(dtype)
        if plain is not None:
            return self._parsed(index, dtype, plain)
        if is_string(dtype) and not self.fields.hidden:
            return fitted_texts(self._raw(index).view(pa.string()), dtype)
        return self.fields.read(self._raw(index), dtype)

    def _raw(self, index: int, rows: _Numbers | None = None) -> Array:
        raw, is_ascii = self.lines.raw(index, rows)
        return raw if is_ascii or self.fields.hidden else valid_texts(raw)

    def _plain_form(self, dtype: DataType) -> _PlainForm | None:
        """Loop for a type; None for texts, and for types whose fields need more rules than a loop has."""
        if dtype == TIMESTAMP and self.fields.layout.timestamp_formats:
            return None
        if dtype in INTEGER_TYPES:
            arrow_type = column_type(dtype)
            bound = min(1 << (arrow_type.bit_width - 1), 10**MOST_DIGITS)
            numbers = (0, -bound, bound - 1, INTEGER_POWERS)
            return _PlainForm(
                parse_decimals, np.int64, lambda values: values.astype(f"i{arrow_type.byte_width}"), numbers
            )
        if isinstance(dtype, DecimalType):
            if dtype.scale >= MOST_DIGITS:
                return None
            bound = 10 ** min(dtype.precision, MOST_DIGITS) - 1
            return _PlainForm(parse_decimals, np.int64, _wide, (dtype.scale, -bound, bound, INTEGER_POWERS))
        return _PLAIN_FORMS.get(dtype)

    def _parsed(self, index: int, dtype: DataType, plain: _PlainForm) -> Array:
        starts, ends = self.lines.starts[index], self.lines.ends[index]
        num_rows = len(starts)
        values, valid, odd = _empty(num_rows, plain.values), _all_valid(num_rows), _empty(num_rows, np.int32)
        num_nulls, num_odd = plain.parse(
            self.lines.data, starts, ends, self.lines.null, *plain.parameters, values, valid, odd
        )
        buffers = [_buffer(valid) if num_nulls else None, _buffer(plain.as_arrow(values))]
        column = pa.Array.from_buffers(column_type(dtype), num_rows, buffers, num_nulls)
        if not num_odd:
            return column
        rows = odd[:num_odd]
        places = np.arange(num_rows)
        places[rows] = np.arange(num_rows, num_rows + num_odd)
        return pa.concat_arrays([column, self.fields.read(self._raw(index, rows), dtype, rows)]).take(pa.array(places))


@dataclass(frozen=True, slots=True)
class _PlainForm:
    """A loop over fields with its `parameters`, the NumPy type that it fills, and the conversion to Arrow's bytes."""

    parse: Callable[..., tuple[int, int]]
    values: type[np.generic]
    as_arrow: Callable[[_Numbers], _Numbers]
    parameters: tuple[object, ...] = ()


def _same(values: _Numbers) -> _Numbers:
    return values


def _wide(values: _Numbers) -> _Numbers:
    """Extend each value to 128 bits."""
    wide = _empty((len(values), 2), np.int64)
    wide[:, 0] = values
    np.right_shift(values, 63, out=wide[:, 1])
    return wide


def _bits(values: _Numbers) -> _Numbers:
    return np.packbits(values, bitorder="little")


_PLAIN_FORMS = {
    BOOLEAN: _PlainForm(parse_booleans, np.uint8, _bits),
    DATE: _PlainForm(parse_dates, np.int32, _same),
    TIMESTAMP: _PlainForm(parse_timestamps, np.int64, _same),
    DOUBLE: _PlainForm(parse_reals, np.float64, _same, (EXACT_MANTISSA[64], EXACT_POWER[64], POWERS)),
    # Rounding to 53 bits first and then to 24 does not change the result of a division (S. A. Figueroa, 1995).
    FLOAT: _PlainForm(
        parse_reals, np.float64, lambda values: values.astype(np.float32), (EXACT_MANTISSA[32], EXACT_POWER[32], POWERS)
    ),
}


def _empty(shape: int | tuple[int, int], dtype: type[np.generic]) -> _Numbers:
    """Uninitialised array from Arrow's memory pool, which reuses memory."""
    memory: Any = pa.allocate_buffer(int(np.prod(shape)) * np.dtype(dtype).itemsize)
    array: _Numbers = np.frombuffer(memory, np.uint8).view(dtype).reshape(shape)
    return array


def _buffer(array: Any) -> pa.Buffer:
    return pa.py_buffer(array)


def _all_valid(num_rows: int) -> _Numbers:
    bits = _empty((num_rows + 7) // 8, np.uint8)
    bits[:] = 255
    return bits
