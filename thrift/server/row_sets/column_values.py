"""Values of a column in the form of thrift's binary protocol: big-endian numbers, and bytes after their length.

Numbers, booleans and binary are sent as such, all other values as Hive's text. Arrow converts all types to text except
nested ones and intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sharkpy.base.errors import ExecutionError
from sharkpy.base.records import dataclass
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


def number_values(column: pa.Array[Any], dtype: t.DataType) -> Numbers:
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


def data_bytes(column: pa.Array[Any]) -> memoryview:
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


LAST_YEAR = 32_767
"""Last year of a date that Arrow writes as text, and also the limit before our era."""
_DAYS_PER_YEAR = 365.2425
_LAST_DAY = int((LAST_YEAR - 1970) * _DAYS_PER_YEAR)
_FIRST_DAY = int((-LAST_YEAR - 1969) * _DAYS_PER_YEAR)
_MICROS_PER_DAY = 86_400_000_000


def column_texts(column: pa.Array[Any], dtype: t.DataType) -> pa.Array[Any]:
    """Return a column of UTF-8 strings; NULL stays NULL."""
    import pyarrow as pa

    match dtype:
        case t.StringType() | t.VarcharType() | t.CharType() | t.BinaryType():
            return _as_utf8(column.view(pa.binary()))
        case t.DecimalType(_, scale):
            return _decimal_texts(column, scale)
        case t.DateType():
            _check_years(column.view(pa.int32()), 1)
            return column.cast(pa.string())
        case t.TimestampType():
            _check_years(column.view(pa.int64()), _MICROS_PER_DAY)
            return _without_end_zeros(column.cast(pa.string()))
        case t.NullType():
            return column.cast(pa.string())
    return _texts_of_python_values(column, dtype)


def _without_end_zeros(timestamps: pa.Array[Any]) -> pa.Array[Any]:
    """Remove the zeros at the end of texts that all have six digits after the point."""
    import pyarrow.compute as pc

    return pc.ascii_rtrim(pc.ascii_rtrim(timestamps, characters="0"), characters=".")


def _decimal_texts(column: pa.Array[Any], scale: int) -> pa.Array[Any]:
    """Return texts with all digits of the scale, never with an exponent. Arrow writes one below 0.000001."""
    import pyarrow as pa
    import pyarrow.compute as pc

    written = column.cast(pa.string())
    if scale <= 6 or not pc.any(pc.match_substring(written, "E")).as_py():
        return written
    unscaled = pa.Array.from_buffers(
        pa.decimal128(t.MAX_PRECISION, 0), len(column), column.buffers(), offset=column.offset
    ).cast(pa.string())
    sign = pc.if_else(pc.starts_with(unscaled, "-"), "-", "")
    digits = pc.ascii_lpad(pc.ascii_ltrim(unscaled, characters="-"), scale + 1, "0")
    whole, fraction = pc.utf8_slice_codeunits(digits, 0, -scale), pc.utf8_slice_codeunits(digits, -scale)
    joined: pa.Array[Any] = pc.binary_join_element_wise(sign, whole, ".", fraction, "")
    return joined


def _check_years(column: pa.Array[Any], per_day: int) -> None:
    import pyarrow.compute as pc

    bounds = pc.min_max(column)
    if bounds["min"].is_valid and not (
        _FIRST_DAY * per_day <= bounds["min"].as_py() and bounds["max"].as_py() <= _LAST_DAY * per_day
    ):
        raise ExecutionError(f"a date or timestamp beyond the year {LAST_YEAR} has no text", sqlstate="22008")


def _as_utf8(column: pa.Array[Any]) -> pa.Array[Any]:
    """Return bytes as strings. Invalid UTF-8 is replaced, since it would end the connection of many clients."""
    import pyarrow as pa

    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        decoded = [None if value is None else value.decode(errors="replace") for value in column.to_pylist()]
        return pa.array(decoded, pa.string())


def _texts_of_python_values(column: pa.Array[Any], dtype: t.DataType) -> pa.Array[Any]:
    import pyarrow as pa

    from sharkpy.values.value_text import format_column

    return pa.array(format_column(column, dtype), pa.string(), mask=column.is_null().to_numpy(zero_copy_only=False))
