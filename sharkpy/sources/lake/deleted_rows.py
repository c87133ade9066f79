"""Deleted rows of a data file, by their positions in it or by their values.

Positions come from position delete files and from deletion vectors, which are Roaring bitmaps of 64-bit numbers
(portable form of RoaringFormatSpec). Values come from equality delete files.
"""

from __future__ import annotations

import functools
import json
import zlib
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from sharkpy.base import uri
from sharkpy.base.errors import ResourceError, SourceError
from sharkpy.base.parse_limits import check_json_nesting
from sharkpy.base.records import dataclass
from sharkpy.sources.arrow import Array, ChunkedArray, pc
from sharkpy.sources.file_errors import format_error, io_error, missing
from sharkpy.sources.lake.columns import LakeColumn, field_id
from sharkpy.sources.open_files import LocalCopy, data_file_of, local_copy, store_for_access

POSITIONS, PUFFIN, INLINE, EQUALITY = "positions", "puffin", "inline", "equality"
_MAGIC = b"\xd1\xd39d"
_BLOB = "deletion-vector-v1"
_PUFFIN_END = 12
"""Bytes at the end of a Puffin file, after its footer: footer length, flags, magic."""
_CACHED_FILES = 256
_MOST_ROWS = 100_000_000
"""Most rows of a delete file."""
_MOST_FOOTER, _MOST_VECTOR = 16 << 20, 1 << 30
"""Most bytes of a Puffin file's footer, and of a deletion vector."""


@dataclass(frozen=True, slots=True)
class Deletes:
    """Deletes of a data file.

    `kind`: POSITIONS, a Parquet file with columns file_path and pos; PUFFIN, a file of deletion vectors that names the
    data file of each; INLINE, the rows themselves as a text made by `inline`; EQUALITY, a Parquet file with the values
    that deleted rows have in the columns with the ids `ids` (see `equal_rows`).
    """

    kind: str
    path: str
    ids: tuple[int, ...] = ()


def inline(rows: Positions) -> Deletes:
    """Deletes of rows by their positions, in order."""
    return Deletes(INLINE, zlib.compress(np.diff(rows, prepend=0).astype(np.int64).tobytes()).hex())


def deleted_rows(found: Sequence[Deletes], written_path: str, access_id: str) -> Positions:
    """Positions of all rows that are deleted by position, sorted and distinct.

    `written_path`: name of the data file in the deletes; `access_id`: id of the access to it and to remote delete
    files.
    """
    parts = [_rows(one, written_path, access_id) for one in found if one.kind != EQUALITY]
    rows: Positions = np.unique(np.concatenate(parts)) if parts else np.empty(0, np.int64)
    return rows


def remaining_rows(rows: Positions, first: int, count: int) -> pa.BooleanArray | None:
    """Mask of the rows among `count` rows from `first` that are not deleted; None if all stay."""
    low, high = np.searchsorted(rows, (first, first + count))
    if low == high:
        return None
    mask = np.ones(count, np.bool_)
    mask[rows[low:high] - first] = False
    return pa.array(mask)


@functools.lru_cache(_CACHED_FILES)
def _rows(one: Deletes, written_path: str, access_id: str) -> Positions:
    """Rows of one delete file. Such a file never changes."""
    if one.kind == INLINE:
        rows: Positions = np.cumsum(np.frombuffer(zlib.decompress(bytes.fromhex(one.path)), np.int64))
        return rows
    copy, size = file_of_deletes(one.path, access_id)
    if one.kind == POSITIONS:
        copy.fetch([(0, size)])
        return _of_positions(copy.path, one.path, written_path)
    try:
        with open(copy.path, "rb") as file:
            place = _place_in_puffin(copy, file, size, one.path, written_path)
            if place is None:
                return np.empty(0, np.int64)
            data = _piece(copy, file, *place)
    except OSError as error:
        raise io_error(error, one.path) from None
    length = int.from_bytes(data[:4], "big")
    vector, check = data[4 : 4 + length], int.from_bytes(data[4 + length : 8 + length], "big")
    if len(data) < length + 8 or zlib.crc32(vector) != check:
        raise SourceError(f'a deletion vector in "{one.path}" is damaged')
    return _of_vector(vector, one.path)


def file_of_deletes(path: str, access_id: str) -> tuple[LocalCopy, int]:
    """A delete file for reading, and its size. Nothing of a remote file is fetched yet."""
    facts = store_for_access(path, access_id).stat(path)
    if facts is None:
        raise missing(path)
    return local_copy(data_file_of(facts, access_id)), facts.size_bytes


def check_row_count(count: int, path: str) -> None:
    """Raise ResourceError 54000 for a file with too many deletes."""
    if count > _MOST_ROWS:
        message = f'"{uri.redacted(path)}" has more than {_MOST_ROWS:,} deletes'
        raise ResourceError(message, hint="rewrite the table's data files", sqlstate="54000")


def _piece(copy: LocalCopy, file: BinaryIO, start: int, length: int) -> bytes:
    copy.fetch([(start, start + length)])
    file.seek(start)
    return file.read(length)


def _place_in_puffin(
    copy: LocalCopy, file: BinaryIO, size: int, path: str, written_path: str
) -> tuple[int, int] | None:
    """Offset and length of the deletion vector of a data file; None if there is none for it."""
    name = uri.redacted(path)
    end = _piece(copy, file, max(size - _PUFFIN_END, 0), _PUFFIN_END)
    length = int.from_bytes(end[:4], "little")
    if end[-4:] != b"PFA1" or end[4]:
        raise SourceError(f'"{name}" is not a Puffin file with a plain footer')
    if length > min(_MOST_FOOTER, size - _PUFFIN_END):
        raise SourceError(f'the footer of the Puffin file "{name}" is damaged, or too long')
    try:
        footer = _piece(copy, file, size - _PUFFIN_END - length, length).decode()
        check_json_nesting(footer)
        for blob in json.loads(footer)["blobs"]:
            if blob["type"] == _BLOB and blob.get("properties", {}).get("referenced-data-file") == written_path:
                place = int(blob["offset"]), int(blob["length"])
                if min(place) < 0 or place[1] > _MOST_VECTOR:
                    raise ValueError("no place of a vector")
                return place
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SourceError(f'the footer of the Puffin file "{name}" is damaged') from None
    return None


def _of_vector(vector: bytes, place: str) -> Positions:
    if vector[:4] != _MAGIC:
        raise SourceError(f'there is no deletion vector at the offset that is noted for "{place}"')
    return bitmap_positions(vector[4:])


def _of_positions(place: str, path: str, written_path: str) -> Positions:
    try:
        with pq.ParquetFile(place, memory_map=True) as file:
            check_row_count(file.metadata.num_rows, path)
            found = [_positions_in(file, group, written_path) for group in range(file.metadata.num_row_groups)]
    except (pa.ArrowException, OSError) as error:
        raise format_error(path, "Parquet", error) from None
    rows: Positions = np.concatenate(found) if found else np.empty(0, np.int64)
    return rows


def _positions_in(file: pq.ParquetFile, group: int, written_path: str) -> Positions:
    table = file.read_row_group(group, columns=["file_path", "pos"])
    mine = table.filter(pc.equal(table.column("file_path"), written_path))
    found: Positions = mine.column("pos").cast(pa.int64()).to_numpy()
    return found


_CACHED_VALUES = 16
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
    return _cached_rows(one, tuple(columns), access_id)


@functools.lru_cache(_CACHED_VALUES)
def _cached_rows(one: Deletes, columns: tuple[LakeColumn, ...], access_id: str) -> EqualRows:
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


def remaining_by_values(
    deletes: Sequence[EqualRows], column_of: Callable[[int], ChunkedArray]
) -> pa.BooleanArray | None:
    """Mask of the rows that are not deleted; None if all stay. `column_of` returns the column with an id."""
    mask: pa.BooleanArray | None = None
    for one in deletes:
        found = one.has([column_of(wanted) for wanted in one.ids])
        mask = found if mask is None else pc.or_(mask, found)
    return None if mask is None else pc.invert(mask)


Positions = np.ndarray[Any, np.dtype[np.int64]]
_MOST_NUMBERS = 100_000_000


def bitmap_positions(data: bytes) -> Positions:
    """Numbers in a roaring bitmap, in order. SourceError if it is damaged, ResourceError 54000 if it has too many."""
    from pyroaring import BitMap64

    try:
        found = BitMap64.deserialize(data)
    except (ValueError, IndexError):
        raise SourceError("a deletion vector is damaged: it is not a roaring bitmap") from None
    # A few bytes can encode very many numbers.
    if len(found) > _MOST_NUMBERS:
        raise ResourceError(f"a deletion vector has more than {_MOST_NUMBERS:,} rows", sqlstate="54000")
    return np.asarray(found.to_array(), np.int64)
