"""matrix: arrays of one length, stored column after column, read as a two-dimensional NumPy array without a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sharkpy.columnar import parts
from sharkpy.columnar.encoded_column import Codec, Decoded, EncodedColumn, ScanForm
from sharkpy.columnar.profile import ColumnProfile
from sharkpy.values import types as t

_NAME = "matrix"
_ELEMENTS: dict[t.DataType, str] = {t.DOUBLE: "f8", t.FLOAT: "f4"}


def encode_matrix(columns: Sequence[parts.Array]) -> EncodedColumn:
    """Encode at least one column of floats as a column of arrays. Their memory is copied only when it is written."""
    element = next(dtype for dtype, name in _ELEMENTS.items() if columns[0].dtype == np.dtype(name))
    values = pa.chunked_array([parts.part(column) for column in columns])
    return EncodedColumn(_NAME, t.ArrayType(element), len(columns[0]), {"columns": len(columns)}, {"values": values})


def as_numpy(column: EncodedColumn) -> parts.Array:
    """Return the stored memory as an array of shape (rows, columns) with contiguous columns. Mapped memory is
    read-only.
    """
    values = parts.numpy(column.parts["values"])
    return values.reshape((column.num_rows, column.param("columns")), order="F")


def _estimate(profile: ColumnProfile) -> float | None:  # noqa: ARG001 - only used if it is forced
    return None


def _encode(profile: ColumnProfile) -> EncodedColumn | None:
    """Encode arrays of floats of equal length, if there are no NULLs among the arrays and in them."""
    array = profile.array
    if not isinstance(profile.dtype, t.ArrayType) or profile.dtype.element not in _ELEMENTS or not len(array):
        return None
    elements = pc.list_flatten(array)
    if array.null_count or elements.null_count:
        return None
    lengths = parts.view(pc.list_value_length(array), "i4")
    if lengths[0] == 0 or (lengths != lengths[0]).any():
        return None
    rows = parts.view(elements, _ELEMENTS[profile.dtype.element]).reshape(len(array), -1)
    return encode_matrix(list(np.asfortranarray(rows).T))


def _decode(column: EncodedColumn) -> pa.Array[Any]:
    values = as_numpy(column)
    offsets = np.arange(0, values.size + 1, values.shape[1], dtype=np.int32)
    elements = parts.part(np.ascontiguousarray(values).reshape(-1))
    buffers = [None, parts.buffer(parts.part(offsets), 1)]
    return pa.Array.from_buffers(t.to_arrow(column.dtype), column.num_rows, buffers, children=[elements])


def _scan_form(column: EncodedColumn) -> ScanForm:
    return Decoded(_decode(column))


CODEC = Codec(_NAME, _estimate, _encode, _decode, _scan_form)
