"""TRowSet by rows, of protocol V1 to V5."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sharkpy.thrift.row_sets.texts import texts
from sharkpy.thrift.row_sets.wire_values import (
    STRINGS,
    byte_strings,
    content,
    join_bytes,
    numbers,
    prefixed_bytes,
    wire_kind,
)
from sharkpy.values.types import BINARY, DataType, Schema

if TYPE_CHECKING:
    import pyarrow as pa

_START = struct.Struct(">bhq")
_FIELD = struct.Struct(">bh")
_LIST = struct.Struct(">bhbi")
_I64, _STRUCT, _LIST_CODE = 10, 12, 15
_END = b"\0"


def row_based_row_set(batches: Sequence[pa.RecordBatch], schema: Schema, start_row: int) -> bytes:
    """Return the batches' rows; `start_row` is the number of the first row in the result."""
    num_rows = sum(batch.num_rows for batch in batches)
    head = _START.pack(_I64, 1, start_row) + _LIST.pack(_LIST_CODE, 2, _STRUCT, num_rows)
    return b"".join([head, *(_rows(batch, schema) for batch in batches if batch.num_rows), _END])


def _rows(batch: pa.RecordBatch, schema: Schema) -> memoryview:
    """Return TRow structs, each a list of its columns' values."""
    cells = [_cells(column, field.dtype) for column, field in zip(batch.columns, schema, strict=True)]
    return content(join_bytes([_LIST.pack(_LIST_CODE, 1, _STRUCT, len(schema)), *cells, _END]))


def _cells(column: pa.Array[Any], dtype: DataType) -> pa.Array[Any]:
    """Return TColumnValue structs with one member, a struct whose only field is the value. For NULL it is empty."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = STRINGS if dtype == BINARY else wire_kind(dtype)
    if kind.number:
        matrix = numbers(column, dtype).view("u1").reshape(len(column), -1)
        values = byte_strings(matrix)
    else:
        values = prefixed_bytes(texts(column, dtype))
    member = _FIELD.pack(_STRUCT, kind.member)
    present = join_bytes([member + _FIELD.pack(kind.code, 1), values, _END + _END])
    if not column.null_count:
        return present
    cells: pa.Array[Any] = pc.if_else(column.is_valid(), present, pa.scalar(member + _END + _END, pa.binary()))
    return cells
