"""TRowSet by columns, of protocol V6 and later."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sharkpy.thrift.row_sets.texts import texts
from sharkpy.thrift.row_sets.wire_values import content, numbers, prefixed_bytes, wire_kind
from sharkpy.values.types import BINARY, DataType, Schema

if TYPE_CHECKING:
    import pyarrow as pa

_START_AND_NO_ROWS = struct.Struct(">bhqbhbi")
_FIELD = struct.Struct(">bh")
_LIST = struct.Struct(">bhbi")
_STRING = struct.Struct(">bhi")
_I64, _STRUCT, _LIST_CODE, _STRING_CODE = 10, 12, 15, 11
_END = b"\0"


def columnar_row_set(batches: Sequence[pa.RecordBatch], schema: Schema, start_row: int) -> bytes:
    """Return the batches' rows; `start_row` is the number of the first row in the result."""
    parts: list[Any] = [
        _START_AND_NO_ROWS.pack(_I64, 1, start_row, _LIST_CODE, 2, _STRUCT, 0),
        _LIST.pack(_LIST_CODE, 3, _STRUCT, len(schema)),
    ]
    for index, field in enumerate(schema):
        parts += _column([batch.column(index) for batch in batches], field.dtype)
    return b"".join([*parts, _END])


def _column(chunks: list[pa.Array[Any]], dtype: DataType) -> list[Any]:
    """Return the pieces of a TColumn: its one member, a struct of the values and of the bits that mark NULLs."""
    kind = wire_kind(dtype)
    if kind.number:
        values: list[Any] = [numbers(chunk, dtype) for chunk in chunks]
    else:
        strings = chunks if dtype == BINARY else [texts(chunk, dtype) for chunk in chunks]
        values = [content(prefixed_bytes(chunk)) for chunk in strings]
    nulls = _null_bits(chunks)
    head = _FIELD.pack(_STRUCT, kind.member) + _LIST.pack(_LIST_CODE, 1, kind.code, sum(map(len, chunks)))
    return [head, *values, _STRING.pack(_STRING_CODE, 2, len(nulls)), nulls, _END, _END]


def _null_bits(chunks: list[pa.Array[Any]]) -> bytes:
    """Return bits up to the last NULL: bit i % 8, from the lowest, of byte i // 8 is set if value i is NULL."""
    import numpy as np

    if not any(chunk.null_count for chunk in chunks):
        return b""
    flags = np.concatenate([chunk.is_null().to_numpy(zero_copy_only=False) for chunk in chunks])
    return np.packbits(flags, bitorder="little").tobytes().rstrip(b"\0")
