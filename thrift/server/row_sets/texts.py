"""Columns as text in Hive's form. Arrow converts all types except nested ones and intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sharkpy.base.errors import ExecutionError
from sharkpy.values import types as t

if TYPE_CHECKING:
    import pyarrow as pa

LAST_YEAR = 32_767
"""Last year of a date that Arrow writes as text, and also the limit before our era."""
_DAYS_PER_YEAR = 365.2425
_LAST_DAY = int((LAST_YEAR - 1970) * _DAYS_PER_YEAR)
_FIRST_DAY = int((-LAST_YEAR - 1969) * _DAYS_PER_YEAR)
_MICROS_PER_DAY = 86_400_000_000


def texts(column: pa.Array[Any], dtype: t.DataType) -> pa.Array[Any]:
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
