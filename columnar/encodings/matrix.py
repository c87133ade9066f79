"""matrix: arrays of one length, stored column after column, read as a two-dimensional NumPy array without a copy.

No algorithm accepts missing and infinite values, so they are counted by column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sharkpy.base.errors import DataError
from sharkpy.base.records import dataclass
from sharkpy.columnar import arrow_buffers
from sharkpy.columnar.encoded_column import Codec, Decoded, EncodedColumn, ScanForm
from sharkpy.columnar.profile import ColumnProfile
from sharkpy.values import types as t

_NAME = "matrix"
_ELEMENTS: dict[t.DataType, str] = {t.DOUBLE: "f8", t.FLOAT: "f4"}


def encode_matrix(columns: Sequence[arrow_buffers.Array]) -> EncodedColumn:
    """Encode at least one column of floats as a column of arrays. Their memory is copied only when it is written."""
    element = next(dtype for dtype, name in _ELEMENTS.items() if columns[0].dtype == np.dtype(name))
    values = pa.chunked_array([arrow_buffers.part(column) for column in columns])
    return EncodedColumn(_NAME, t.ArrayType(element), len(columns[0]), {"columns": len(columns)}, {"values": values})


def as_numpy(column: EncodedColumn) -> arrow_buffers.Array:
    """Return the stored memory as an array of shape (rows, columns) with contiguous columns. Mapped memory is
    read-only.
    """
    values = arrow_buffers.numpy(column.parts["values"])
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
    lengths = arrow_buffers.view(pc.list_value_length(array), "i4")
    if lengths[0] == 0 or (lengths != lengths[0]).any():
        return None
    rows = arrow_buffers.view(elements, _ELEMENTS[profile.dtype.element]).reshape(len(array), -1)
    return encode_matrix(list(np.asfortranarray(rows).T))


def _decode(column: EncodedColumn) -> pa.Array[Any]:
    values = as_numpy(column)
    offsets = np.arange(0, values.size + 1, values.shape[1], dtype=np.int32)
    elements = arrow_buffers.part(np.ascontiguousarray(values).reshape(-1))
    buffers = [None, arrow_buffers.buffer(arrow_buffers.part(offsets), 1)]
    return pa.Array.from_buffers(t.to_arrow(column.dtype), column.num_rows, buffers, children=[elements])


def _scan_form(column: EncodedColumn) -> ScanForm:
    return Decoded(_decode(column))


CODEC = Codec(_NAME, _estimate, _encode, _decode, _scan_form)


_HINT = 'na="drop" leaves out such rows, na="mean" fills in the column\'s mean'
_LABEL_HINT = 'na="drop" leaves out such rows'


@dataclass(frozen=True, slots=True)
class NotFinite:
    """Numbers of missing (NaN, also from NULL) and infinite values of each column."""

    missing: npt.NDArray[np.int64]
    infinite: npt.NDArray[np.int64]

    @classmethod
    def of(cls, matrix: npt.NDArray[Any]) -> NotFinite:
        """Count over the columns of a float matrix. If all values are finite, the cost is one sum."""
        counts = np.zeros((2, matrix.shape[1]), np.int64)
        with np.errstate(over="ignore", invalid="ignore"):
            sums = matrix.sum(axis=0)
        for column in np.flatnonzero(~np.isfinite(sums)):
            values = matrix[:, column]
            missing = int(np.count_nonzero(np.isnan(values)))
            counts[:, column] = missing, len(values) - missing - int(np.count_nonzero(np.isfinite(values)))
        return cls(counts[0], counts[1])

    def __add__(self, other: NotFinite) -> NotFinite:
        return NotFinite(self.missing + other.missing, self.infinite + other.infinite)

    def check(self, names: Sequence[str], *, kind: str = "column") -> None:
        """Raise DataError with the first column that has such values, and their number."""
        for name, missing, infinite in zip(names, self.missing, self.infinite, strict=True):
            if infinite:
                raise DataError(f'{kind} "{name}" has {_count(infinite, "infinite value")}')
            if missing:
                hint = _HINT if kind == "column" else _LABEL_HINT
                raise DataError(f'{kind} "{name}" has {_count(missing, "missing value")} (NULL or NaN)', hint=hint)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
