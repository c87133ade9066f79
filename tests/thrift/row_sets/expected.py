"""Row sets as thrift's own codec writes and reads them, from Python's values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TTransport import TMemoryBuffer

from sharkpy.thrift.bindings import ttypes
from sharkpy.values import types as t
from sharkpy.values.value_text import format_value

TYPES: tuple[t.DataType, ...] = (
    t.NULL,
    t.BOOLEAN,
    t.TINYINT,
    t.SMALLINT,
    t.INT,
    t.BIGINT,
    t.FLOAT,
    t.DOUBLE,
    t.STRING,
    t.VarcharType(20),
    t.CharType(3),
    t.BINARY,
    t.DATE,
    t.TIMESTAMP,
    t.DecimalType(9, 2),
    t.DecimalType(20, 0),
    t.DecimalType(38, 12),
    t.DecimalType(38, 38),
    t.INTERVAL_YEAR_MONTH,
    t.INTERVAL_DAY_TIME,
    t.ArrayType(t.INT),
    t.MapType(t.STRING, t.DOUBLE),
    t.StructType(("a", "b"), (t.STRING, t.DATE)),
)

_MEMBERS: dict[t.DataType, tuple[str, type[Any], type[Any], Any]] = {
    t.BOOLEAN: ("boolVal", ttypes.TBoolColumn, ttypes.TBoolValue, False),
    t.TINYINT: ("byteVal", ttypes.TByteColumn, ttypes.TByteValue, 0),
    t.SMALLINT: ("i16Val", ttypes.TI16Column, ttypes.TI16Value, 0),
    t.INT: ("i32Val", ttypes.TI32Column, ttypes.TI32Value, 0),
    t.BIGINT: ("i64Val", ttypes.TI64Column, ttypes.TI64Value, 0),
    t.FLOAT: ("doubleVal", ttypes.TDoubleColumn, ttypes.TDoubleValue, 0.0),
    t.DOUBLE: ("doubleVal", ttypes.TDoubleColumn, ttypes.TDoubleValue, 0.0),
    t.BINARY: ("binaryVal", ttypes.TBinaryColumn, None, b""),
}
_TEXT = ("stringVal", ttypes.TStringColumn, ttypes.TStringValue, "")


def columns(dtype: t.DataType) -> st.SearchStrategy[list[Any]]:
    """Python's values of a type, some of them None."""
    return st.lists(st.none() | _values(dtype), max_size=40)


def _values(dtype: t.DataType) -> st.SearchStrategy[Any]:
    match dtype:
        case t.DecimalType(precision, scale):
            return st.decimals(-(10 ** (precision - scale)) + 1, 10 ** (precision - scale) - 1, places=scale)
        case t.VarcharType(length) | t.CharType(length):
            return st.text(max_size=length)
        case t.ArrayType(element):
            return st.lists(st.none() | _values(element), max_size=4)
        case t.MapType(key, value):
            return st.dictionaries(_values(key), st.none() | _values(value), max_size=4).map(lambda one: [*one.items()])
        case t.StructType(names, types):
            return st.fixed_dictionaries(
                {name: st.none() | _values(inner) for name, inner in zip(names, types, strict=True)}
            )
    return _SIMPLE[dtype]


def _integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


_SIMPLE: dict[t.DataType, st.SearchStrategy[Any]] = {
    t.NULL: st.none(),
    t.BOOLEAN: st.booleans(),
    t.TINYINT: _integers(8),
    t.SMALLINT: _integers(16),
    t.INT: _integers(32),
    t.BIGINT: _integers(64),
    t.FLOAT: st.floats(width=32),
    t.DOUBLE: st.floats(),
    t.STRING: st.text() | st.integers(1, 2000).map("long ü".__mul__),
    t.BINARY: st.binary(),
    t.DATE: st.dates(),
    t.TIMESTAMP: st.datetimes() | st.datetimes().map(lambda one: one.replace(microsecond=0)),
    t.INTERVAL_YEAR_MONTH: _integers(32),
    t.INTERVAL_DAY_TIME: _integers(64),
}


def wire_value(value: Any, dtype: t.DataType) -> Any:
    """Value that thrift gets for a value that is not NULL."""
    if dtype == t.FLOAT:
        return float(str(np.float32(value)))
    if dtype in _MEMBERS:
        return value
    if t.is_string(dtype):
        return value
    if dtype == t.DATE:
        return value.isoformat()
    if dtype == t.TIMESTAMP:
        text = value.isoformat(" ")
        return text.rstrip("0") if value.microsecond else text
    if isinstance(dtype, t.DecimalType):
        return format(value, "f")
    return format_value(value, dtype)


def columnar(batch: pa.RecordBatch, schema: t.Schema, start_row: int) -> ttypes.TRowSet:
    members = []
    for column, field in zip(batch.columns, schema, strict=True):
        member, kind, _, nothing = _MEMBERS.get(field.dtype, _TEXT)
        values = column.to_pylist(maps_as_pydicts="lossy")
        bits = sum(1 << place for place, value in enumerate(values) if value is None)
        nulls = bits.to_bytes((bits.bit_length() + 7) // 8, "little")
        given = [nothing if value is None else wire_value(value, field.dtype) for value in values]
        members.append(ttypes.TColumn(**{member: kind(given, nulls)}))
    return ttypes.TRowSet(start_row, [], members)


def row_based(batch: pa.RecordBatch, schema: t.Schema, start_row: int) -> ttypes.TRowSet:
    rows = [
        ttypes.TRow([_cell(value, field.dtype) for value, field in zip(row, schema, strict=True)])
        for row in zip(*(column.to_pylist(maps_as_pydicts="lossy") for column in batch.columns), strict=True)
    ]
    return ttypes.TRowSet(start_row, rows)


def _cell(value: Any, dtype: t.DataType) -> ttypes.TColumnValue:
    member, _, kind, _ = _TEXT if dtype == t.BINARY else _MEMBERS.get(dtype, _TEXT)
    if value is not None:
        value = value.decode(errors="replace") if dtype == t.BINARY else wire_value(value, dtype)
    return ttypes.TColumnValue(**{member: kind(value)})


def written(row_set: ttypes.TRowSet) -> bytes:
    transport = TMemoryBuffer()
    row_set.write(TBinaryProtocolAccelerated(transport))
    return bytes(transport.getvalue())


def read(content: bytes, kind: type[Any] = ttypes.TRowSet) -> Any:
    """Reading takes all bytes."""
    transport = TMemoryBuffer(content)
    row_set = kind()
    row_set.read(TBinaryProtocolAccelerated(transport))
    assert transport.cstringio_buf.read() == b""
    return row_set


def schema_of(*dtypes: t.DataType) -> t.Schema:
    return t.Schema(tuple(t.Field(f"c{place}", dtype) for place, dtype in enumerate(dtypes)))


def batch_of(*columns: tuple[t.DataType, list[Any]]) -> pa.RecordBatch:
    arrays = [pa.array(values, t.to_arrow(dtype)) for dtype, values in columns]
    return pa.RecordBatch.from_arrays(arrays, [f"c{place}" for place in range(len(arrays))])
