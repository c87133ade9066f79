"""Conversions between Arrow arrays, NumPy arrays and parts of encoded columns, without copies if possible."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.columnar import kernels
from sharkpy.values import types as t

Array = np.ndarray[Any, np.dtype[Any]]

_INTEGER_WIDTH: dict[t.DataType, str] = {
    t.TINYINT: "i1",
    t.SMALLINT: "i2",
    t.INT: "i4",
    t.BIGINT: "i8",
    t.DATE: "i4",
    t.TIMESTAMP: "i8",
    t.INTERVAL_YEAR_MONTH: "i4",
    t.INTERVAL_DAY_TIME: "i8",
}


def is_integral(dtype: t.DataType) -> bool:
    """Return whether values are stored as integers (decimals if they fit 64 bits)."""
    return dtype in _INTEGER_WIDTH or isinstance(dtype, t.DecimalType)


def view(array: pa.Array[Any], dtype: str) -> Array:
    """Return the values buffer of a primitive array as NumPy values. The values of null slots are undefined."""
    stored = array.buffers()[1]
    values: Array = np.frombuffer(memoryview(stored), dtype=dtype) if stored else np.empty(0, dtype)
    taken: Array = values[array.offset : array.offset + len(array)]
    return taken


def buffer(array: pa.Array[Any], index: int) -> pa.Buffer:
    """Return a buffer of an array. It is empty if Arrow has none."""
    return array.buffers()[index] or pa.py_buffer(b"")


def buffer_of(values: Array) -> pa.Buffer:
    """Return the memory of a contiguous array."""
    return pa.py_buffer(values.data.cast("B") if values.size else b"")


def part(values: Array, missing: Array | None = None) -> pa.Array[Any]:
    """Wrap numbers as an Arrow array over their memory, with NULL if `missing` is true. (`pa.array` of a NumPy array
    would import pandas, which takes half a second.)
    """
    values = np.ascontiguousarray(values)
    valid = None if missing is None else buffer_of(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [valid, buffer_of(values)])


def numpy(part: pa.Array[Any]) -> Array:
    """Return the values of numbers, days or microseconds; null slots have any. (Arrow's own conversion
    would import pandas.)
    """
    kind = "f" if pa.types.is_floating(part.type) else "u" if pa.types.is_unsigned_integer(part.type) else "i"
    return view(part, f"{kind}{part.type.bit_width // 8}")


def true_values(count: int) -> pa.Array[Any]:
    """Return an array of `count` times true."""
    return pa.Array.from_buffers(pa.bool_(), count, [None, pa.py_buffer(b"\xff" * ((count + 7) // 8))])


def missing_rows(array: pa.Array[Any]) -> Array:
    """Return which items are NULL."""
    valid = array.buffers()[0] if array.null_count else None
    if valid is None:
        return np.zeros(len(array), np.bool_)
    flags = np.unpackbits(np.frombuffer(memoryview(valid), np.uint8), bitorder="little")
    missing: Array = flags[array.offset : array.offset + len(array)] == 0
    return missing


def bytes_part(content: pa.Buffer | bytes) -> pa.Array[Any]:
    """Return a buffer as uint8 values."""
    stored = pa.py_buffer(content)
    return pa.Array.from_buffers(pa.uint8(), stored.size, [None, stored])


def validity_part(array: pa.Array[Any]) -> dict[str, pa.Array[Any]]:
    """Return the part "validity" of an array, or no part if it has no nulls."""
    if array.null_count == 0:
        return {}
    valid = array.is_valid()
    bits = np.frombuffer(memoryview(buffer(valid, 1)), np.uint8)
    if valid.offset:
        flags = np.unpackbits(bits, bitorder="little")[valid.offset : valid.offset + len(valid)]
        bits = np.packbits(flags, bitorder="little")
    return {"validity": part(bits[: (len(array) + 7) // 8])}


def integers_of(array: pa.Array[Any], dtype: t.DataType) -> Array | None:
    """Return the integers that represent an array without nulls, or None if a decimal needs more than 64 bits."""
    if not isinstance(dtype, t.DecimalType):
        return view(array, _INTEGER_WIDTH[dtype])
    if len(array) == 0:
        return np.empty(0, np.int64)
    pairs = np.frombuffer(memoryview(buffer(array, 1)), np.int64)[2 * array.offset : 2 * (array.offset + len(array))]
    low = np.empty(len(array), np.int64)
    return low if kernels.split_decimals(pairs, low) else None


def integer_output(num_rows: int, dtype: t.DataType) -> Array:
    """Return an empty array to decode integers into."""
    return np.empty(num_rows, _INTEGER_WIDTH.get(dtype, "i8"))


def integers_to_arrow(values: Array, dtype: t.DataType, validity: pa.Buffer | None) -> pa.Array[Any]:
    """Return decoded integers as a logical array. `values` is used without a copy if the width is the same."""
    if isinstance(dtype, t.DecimalType):
        pairs = np.empty(2 * len(values), np.int64)
        kernels.join_decimals(values, pairs)
        values, num_rows = pairs, len(values)
    else:
        num_rows = len(values)
    return pa.Array.from_buffers(t.to_arrow(dtype), num_rows, [validity, buffer_of(values)])


def code_width(top: int) -> str | None:
    """Return the narrowest unsigned type for codes up to `top`, or None above 32 bits."""
    for limit, name in ((1 << 8, "u1"), (1 << 16, "u2"), (1 << 32, "u4")):
        if top < limit:
            return name
    return None
