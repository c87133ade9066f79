"""Row sets as bytes of thrift's binary protocol: by columns since protocol V6, and by rows in V1 to V5."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sharkpy.thrift.row_sets.column_values import (
    STRINGS,
    byte_strings,
    column_texts,
    data_bytes,
    join_bytes,
    number_values,
    prefixed_bytes,
    wire_kind,
)
from sharkpy.values.types import BINARY, DataType, Schema

if TYPE_CHECKING:
    import pyarrow as pa

_START = struct.Struct(">bhq")
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
        parts += _column_parts([batch.column(index) for batch in batches], field.dtype)
    return b"".join([*parts, _END])


def _column_parts(chunks: list[pa.Array[Any]], dtype: DataType) -> list[Any]:
    """Return the pieces of a TColumn: its one member, a struct of the values and of the bits that mark NULLs."""
    kind = wire_kind(dtype)
    if kind.number:
        values: list[Any] = [number_values(chunk, dtype) for chunk in chunks]
    else:
        strings = chunks if dtype == BINARY else [column_texts(chunk, dtype) for chunk in chunks]
        values = [data_bytes(prefixed_bytes(chunk)) for chunk in strings]
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


def row_based_row_set(batches: Sequence[pa.RecordBatch], schema: Schema, start_row: int) -> bytes:
    """Return the batches' rows; `start_row` is the number of the first row in the result."""
    num_rows = sum(batch.num_rows for batch in batches)
    head = _START.pack(_I64, 1, start_row) + _LIST.pack(_LIST_CODE, 2, _STRUCT, num_rows)
    return b"".join([head, *(_rows(batch, schema) for batch in batches if batch.num_rows), _END])


def _rows(batch: pa.RecordBatch, schema: Schema) -> memoryview:
    """Return TRow structs, each a list of its columns' values."""
    cells = [_cells(column, field.dtype) for column, field in zip(batch.columns, schema, strict=True)]
    return data_bytes(join_bytes([_LIST.pack(_LIST_CODE, 1, _STRUCT, len(schema)), *cells, _END]))


def _cells(column: pa.Array[Any], dtype: DataType) -> pa.Array[Any]:
    """Return TColumnValue structs with one member, a struct whose only field is the value. For NULL it is empty."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = STRINGS if dtype == BINARY else wire_kind(dtype)
    if kind.number:
        matrix = number_values(column, dtype).view("u1").reshape(len(column), -1)
        values = byte_strings(matrix)
    else:
        values = prefixed_bytes(column_texts(column, dtype))
    member = _FIELD.pack(_STRUCT, kind.member)
    present = join_bytes([member + _FIELD.pack(kind.code, 1), values, _END + _END])
    if not column.null_count:
        return present
    cells: pa.Array[Any] = pc.if_else(column.is_valid(), present, pa.scalar(member + _END + _END, pa.binary()))
    return cells
