"""Columns in the form of thrift's binary protocol: big-endian numbers, and bytes after their length.

Values other than numbers, booleans and binary are sent as Hive's text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sharkpy.values import types as t

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    Numbers = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class WireKind:
    """Kind of value: its member of TColumn and TColumnValue, thrift's code of its type, and NumPy's for numbers."""

    member: int
    code: int
    number: str = ""


STRINGS = WireKind(7, 11)
BINARIES = WireKind(8, 11)
_KINDS: dict[t.DataType, WireKind] = {
    t.BOOLEAN: WireKind(1, 2, ">u1"),
    t.TINYINT: WireKind(2, 3, ">i1"),
    t.SMALLINT: WireKind(3, 6, ">i2"),
    t.INT: WireKind(4, 8, ">i4"),
    t.BIGINT: WireKind(5, 10, ">i8"),
    t.FLOAT: WireKind(6, 4, ">f8"),
    t.DOUBLE: WireKind(6, 4, ">f8"),
    t.BINARY: BINARIES,
}


def wire_kind(dtype: t.DataType) -> WireKind:
    return _KINDS.get(dtype, STRINGS)


def numbers(column: pa.Array[Any], dtype: t.DataType) -> Numbers:
    """Return the values of a column of numbers or booleans, big-endian, with 0 for NULL."""
    import pyarrow as pa

    if dtype == t.BOOLEAN:
        column = column.cast(pa.uint8())
    elif dtype == t.FLOAT:
        # Like Double.valueOf(Float.toString(x)): 0.1 stays 0.1.
        column = column.cast(pa.string()).cast(pa.float64())
    filled = column.fill_null(0) if column.null_count else column
    values: Numbers = filled.to_numpy(zero_copy_only=False)
    return values.astype(wire_kind(dtype).number, copy=False)


def prefixed_bytes(column: pa.Array[Any]) -> pa.Array[Any]:
    """Return the bytes of each value after their length, in a binary array without NULL. A NULL counts as ""."""
    import numpy as np
    import pyarrow as pa

    values: pa.Array[Any] = column.view(pa.binary())
    if values.null_count:
        values = values.fill_null(b"")
    lengths = np.diff(_ends(values)).astype(">i4")
    return join_bytes([byte_strings(lengths.view("u1").reshape(-1, 4)), values])


def byte_strings(rows: Numbers) -> pa.Array[Any]:
    """Return binary values of equal width, from a matrix of bytes."""
    import numpy as np
    import pyarrow as pa

    count, width = rows.shape
    ends = np.arange(0, width * count + 1, width, dtype=np.int32)
    buffers = [None, *(pa.py_buffer(np.ascontiguousarray(array).data) for array in (ends, rows))]
    return pa.BinaryArray.from_buffers(pa.binary(), count, buffers)


def join_bytes(parts: Sequence[pa.Array[Any] | bytes]) -> pa.Array[Any]:
    """Join the parts of each row, one after another; a part of plain bytes is the same in every row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    joined = [pa.scalar(part, pa.binary()) if isinstance(part, bytes) else part for part in (*parts, b"")]
    result: pa.Array[Any] = pc.call_function("binary_join_element_wise", joined)
    return result


def content(column: pa.Array[Any]) -> memoryview:
    """Return all bytes of a binary array without NULL, one value after another."""
    ends, data = _ends(column), column.buffers()[2]
    return memoryview(b"" if data is None else data)[ends[0] : ends[-1]]


def _ends(column: pa.Array[Any]) -> Numbers:
    """Return offsets in the data of a binary array: the start of its first value, and the end of each value."""
    import numpy as np

    offsets = column.buffers()[1]
    if offsets is None:
        return np.zeros(1, np.int32)
    return np.frombuffer(memoryview(offsets), np.int32)[column.offset : column.offset + len(column) + 1]
