"""Rows of edges or vertices as tasks read them, checked: arrays, or columns of a table's block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.base.errors import DataError, TypeMismatchError
from sharkpy.columnar.block_cache import open_block
from sharkpy.columnar.handle import BlockHandle
from sharkpy.ml.graph import ids as vertex_ids
from sharkpy.ml.graph.ids import Ids
from sharkpy.ml.graph.workspace import Array, Handle, read

VALUE = "value"
"""Name of the array of values. The arrays of ids are named by the role."""


@dataclass(frozen=True, slots=True)
class Role:
    """Meaning of an input's columns: ids, and perhaps values after them."""

    name: str
    ids: tuple[str, ...]
    """Name of each column of ids, for errors."""

    @property
    def shape(self) -> str:
        count = len(self.ids)
        return f"{count} or {count + 1} columns: {', '.join(self.ids)}, and values"


EDGES = Role("edges", ("sources of edges", "targets of edges"))
VERTICES = Role("vertices", ("ids of vertices",))


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of an input's rows: `columns` of a table's block, or arrays without one."""

    handle: Handle
    role: Role
    columns: tuple[str, ...] = ()

    def read(self) -> tuple[list[Ids], Array | None]:
        """Read the columns of ids, and the values if there are any. Raise DataError if a value is NULL."""
        if self.columns and isinstance(self.handle, BlockHandle):
            table = open_block(self.handle).read(self.columns, decoded=True)
            return checked_columns(table.columns, self.role)
        arrays = read(self.handle)
        return [vertex_ids.from_arrays(name, arrays) for name in self.role.ids], arrays.get(VALUE)


def checked_columns(columns: Sequence[Any], role: Role) -> tuple[list[Ids], Array | None]:
    """Return ids and values of columns. Raise DataError or TypeMismatchError that names the invalid column."""
    ids = [vertex_ids.as_ids(column, what) for column, what in zip(columns, role.ids, strict=False)]
    lengths = {len(column) for column in (*ids, *columns[len(ids) :])}
    if len(lengths) > 1:
        raise DataError(f"the columns of {role.name} have different lengths: {', '.join(map(str, sorted(lengths)))}")
    if len({str(one.type) for one in ids if len(one)}) > 1:
        raise DataError(f"{role.name} have ids of type {ids[0].type} and {ids[1].type}", hint="cast them to one type")
    return ids, _numbers(columns[-1], role) if len(columns) > len(ids) else None


def _numbers(values: Any, role: Role) -> Array:
    what = f"values of {role.name}"
    if isinstance(values, pa.Array | pa.ChunkedArray):
        if values.null_count:
            raise DataError(f"{values.null_count:,} of {len(values):,} {what} are NULL", hint="leave these rows out")
        if pa.types.is_decimal(values.type):
            values = values.cast(pa.float64())
        values = values.to_numpy() if isinstance(values, pa.ChunkedArray) else values.to_numpy(zero_copy_only=False)
    array = np.asarray(values)
    is_record = role is VERTICES and array.dtype.fields is not None and not array.dtype.hasobject
    if array.ndim != 1 or (array.dtype.kind not in "biuf" and not is_record):
        raise TypeMismatchError(f"{what} are not numeric: {array.dtype} of {array.ndim} dimensions")
    return array
