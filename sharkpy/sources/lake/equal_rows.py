"""Deleted rows of a data file, by their values: from equality delete files."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from sharkpy.base.errors import SourceError
from sharkpy.sources.arrow import Array, ChunkedArray, pc
from sharkpy.sources.failures import format_error
from sharkpy.sources.lake.columns import LakeColumn, field_id
from sharkpy.sources.lake.deleted_rows import Deletes, check_row_count, file_of_deletes

_KNOWN = 16
_NONE = -1
Codes = npt.NDArray[np.int64]
"""Number of each row's values among the deleted values; -1 if they are not there."""


@dataclass(frozen=True, slots=True)
class EqualRows:
    """Values of deleted rows in the columns with some ids. NULL equals NULL.

    `values`: the distinct values of each column. `steps`: for each column, the sorted numbers of the distinct rows of
    the columns so far; a number combines the index of the previous columns' row with the index of the value.
    """

    ids: tuple[int, ...]
    values: tuple[Array, ...]
    steps: tuple[Codes, ...]

    @classmethod
    def of(cls, ids: Sequence[int], columns: Sequence[Array]) -> EqualRows:
        values: list[Array] = []
        steps: list[Codes] = []
        codes = np.zeros(len(columns[0]), np.int64)
        for column in columns:
            values.append(pc.unique(column))
            numbers = codes * len(values[-1]) + _places(column, values[-1])
            known, codes = np.unique(numbers, return_inverse=True)
            steps.append(known)
        return cls(tuple(ids), tuple(values), tuple(steps))

    def has(self, columns: Sequence[ChunkedArray]) -> pa.BooleanArray:
        """Mask of the rows with the values of a deleted row in the columns with the ids."""
        codes: Codes = np.zeros(len(columns[0]), np.int64)
        if not len(self.steps[0]):
            return _mask(codes != 0)
        for column, values, known in zip(columns, self.values, self.steps, strict=True):
            places = _places(column if column.type == values.type else column.cast(values.type), values)
            numbers = np.where((places == _NONE) | (codes == _NONE), _NONE, codes * len(values) + places)
            found = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
            codes = np.where(known[found] == numbers, found, _NONE)
        return _mask(codes != _NONE)


def _mask(values: npt.NDArray[np.bool_]) -> pa.BooleanArray:
    mask: pa.BooleanArray = pa.array(values, pa.bool_())
    return mask


def _places(column: Array | ChunkedArray, values: Array) -> Codes:
    found = pc.fill_null(pc.index_in(column, value_set=values), _NONE)
    chunked = found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])
    places: Codes = chunked.to_numpy().astype(np.int64)
    return places


def name_of_id(wanted: int, columns: Sequence[LakeColumn], stored: pa.Schema) -> str | None:
    """Name in a file of the column with an id; None if the file does not have it."""
    if any(field_id(field) is not None for field in stored):
        return next((field.name for field in stored if field_id(field) == wanted), None)
    column = next((one for one in columns if one.key == wanted), None)
    if column is None:
        return None
    return next((field.name for field in stored if column.is_called(field, by_id=False)), None)


def equal_rows(one: Deletes, columns: Sequence[LakeColumn], access_id: str) -> EqualRows:
    """Values of the deleted rows of a delete file; `columns`: the columns of the table."""
    return _known_rows(one, tuple(columns), access_id)


@functools.lru_cache(_KNOWN)
def _known_rows(one: Deletes, columns: tuple[LakeColumn, ...], access_id: str) -> EqualRows:
    copy, size = file_of_deletes(one.path, access_id)
    copy.fetch([(0, size)])
    try:
        with pq.ParquetFile(copy.path, memory_map=True) as file:
            check_row_count(file.metadata.num_rows, one.path)
            names = [name_of_id(wanted, columns, file.schema_arrow) for wanted in one.ids]
            if None in names:
                raise SourceError(f'"{one.path}", a file of deletes, does not have the columns that they are by')
            table = file.read(columns=[name for name in names if name is not None])
    except (pa.ArrowException, OSError) as error:
        raise format_error(one.path, "Parquet", error) from None
    found = [pa.concat_arrays(table.column(name).chunks or [pa.nulls(0)]) for name in names if name is not None]
    return EqualRows.of(one.ids, found)


def kept_by_values(deletes: Sequence[EqualRows], column_of: Callable[[int], ChunkedArray]) -> pa.BooleanArray | None:
    """Mask of the rows that are not deleted; None if all stay. `column_of` returns the column with an id."""
    mask: pa.BooleanArray | None = None
    for one in deletes:
        found = one.has([column_of(wanted) for wanted in one.ids])
        mask = found if mask is None else pc.or_(mask, found)
    return None if mask is None else pc.invert(mask)
