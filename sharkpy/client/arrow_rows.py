"""Row sets of the protocol as Arrow batches, and their types."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.thrift.bindings import ttypes
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL_DAY_TIME,
    INTERVAL_YEAR_MONTH,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    DataType,
    DecimalType,
    Field,
    Schema,
    is_interval,
    is_string,
    to_arrow,
)

_T = ttypes.TTypeId
_TYPES: dict[int, DataType] = {
    _T.BOOLEAN_TYPE: BOOLEAN,
    _T.TINYINT_TYPE: TINYINT,
    _T.SMALLINT_TYPE: SMALLINT,
    _T.INT_TYPE: INT,
    _T.BIGINT_TYPE: BIGINT,
    _T.FLOAT_TYPE: FLOAT,
    _T.DOUBLE_TYPE: DOUBLE,
    _T.BINARY_TYPE: BINARY,
    _T.DATE_TYPE: DATE,
    _T.TIMESTAMP_TYPE: TIMESTAMP,
    _T.NULL_TYPE: NULL,
    _T.INTERVAL_YEAR_MONTH_TYPE: INTERVAL_YEAR_MONTH,
    _T.INTERVAL_DAY_TIME_TYPE: INTERVAL_DAY_TIME,
}
"""Types by the protocol's number. Values of other types come as text, without their inner types, and stay text."""
_COLUMN_KINDS = ("boolVal", "byteVal", "i16Val", "i32Val", "i64Val", "doubleVal", "stringVal", "binaryVal")


def schema_of(table: Any) -> Schema:
    """Schema of a TTableSchema."""
    return Schema(tuple(Field(column.columnName, _dtype(column.typeDesc)) for column in table.columns))


def _dtype(description: Any) -> DataType:
    entry = description.types[0].primitiveEntry
    if entry is None:
        return STRING
    if entry.type == _T.DECIMAL_TYPE:
        given = entry.typeQualifiers.qualifiers if entry.typeQualifiers else {}
        digits = (given[name].i32Value if name in given else None for name in ("precision", "scale"))
        precision, scale = digits
        return DecimalType(precision or 38, scale or 0)
    return _TYPES.get(entry.type, STRING)


def batch_of(row_set: Any, schema: Schema) -> pa.RecordBatch:
    """Arrow batch of a TRowSet in columns (protocol V6 and later)."""
    arrays = [_array(column, field.dtype) for column, field in zip(row_set.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=list(schema.names))


def _array(column: Any, dtype: DataType) -> pa.Array[Any]:
    held = next(one for kind in _COLUMN_KINDS if (one := getattr(column, kind)) is not None)
    target = to_arrow(dtype)
    mask = _null_mask(held.nulls, len(held.values))
    if pa.types.is_null(target):
        return pa.nulls(len(held.values))
    if is_interval(dtype):
        numbers = [None if is_null else _amount(text) for text, is_null in zip(held.values, _flags(mask), strict=False)]
        return pa.array(numbers, target)
    if held is column.stringVal and not is_string(dtype):
        return _parsed(held.values, mask, target)
    return _plain(held.values, mask, target)


def _plain(values: Sequence[Any], mask: np.ndarray[Any, Any] | None, target: pa.DataType) -> pa.Array[Any]:
    if mask is None:
        return pa.array(values, target)
    convert: Callable[[Any], Any] = np.asarray if pa.types.is_primitive(target) else list
    return pa.array(convert(values), target, mask=mask)


def _parsed(texts: Sequence[str], mask: np.ndarray[Any, Any] | None, target: pa.DataType) -> pa.Array[Any]:
    """Parse dates, timestamps and decimals, which are texts on the wire."""
    if pa.types.is_binary(target):
        return pa.array([text.encode() for text in texts], target, mask=mask)
    return pa.array(list(texts), pa.string(), mask=mask).cast(target)


def _flags(mask: np.ndarray[Any, Any] | None) -> Iterable[bool]:
    return itertools.repeat(False) if mask is None else mask.tolist()


def _amount(text: str) -> int:
    """Months of `1-2`, microseconds of `3 04:05:06.700000000`: the texts of intervals on the wire."""
    sign = -1 if text.startswith("-") else 1
    days, _, clock = text.lstrip("-").partition(" ")
    if not clock:
        years, _, months = days.partition("-")
        return sign * (int(years) * 12 + int(months))
    hours, minutes, seconds = clock.split(":")
    whole, _, fraction = seconds.partition(".")
    total = ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(whole)
    return sign * (total * 1_000_000 + int(fraction.ljust(9, "0")) // 1000)


def _null_mask(bits: bytes, count: int) -> np.ndarray[Any, Any] | None:
    """True for each NULL row; None if no row is NULL. The bitmap may be shorter than the rows."""
    if not any(bits):
        return None
    flags = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")[:count].astype(bool)
    return np.pad(flags, (0, count - len(flags)))
