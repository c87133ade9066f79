"""Rows of a data file that do not count any more, by their places in it: from files of deletes and deletion vectors."""

from __future__ import annotations

import functools
import json
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sharkpy.base.errors import SourceError
from sharkpy.base.json_nesting import check_json_nesting
from sharkpy.sources.arrow import pc
from sharkpy.sources.failures import format_error, io_error
from sharkpy.sources.lake.roaring import Positions, bitmap_positions

POSITIONS, PUFFIN, INLINE = "positions", "puffin", "inline"
_MAGIC = b"\xd1\xd39d"
_BLOB = "deletion-vector-v1"
_PUFFIN_END = 12
"""Bytes behind a Puffin file's footer: its length, flags, magic."""
_KNOWN = 256


@dataclass(frozen=True, slots=True)
class Deletes:
    """Deletes of a data file.

    `kind`: POSITIONS, a Parquet file with columns file_path and pos; PUFFIN, a file of deletion vectors that says whose
    they are; INLINE, the rows themselves as a text, which `inline` makes.
    """

    kind: str
    path: str


def inline(rows: Positions) -> Deletes:
    """Deletes of rows, by their places in order."""
    return Deletes(INLINE, zlib.compress(np.diff(rows, prepend=0).astype(np.int64).tobytes()).hex())


def deleted_rows(found: Sequence[Deletes], written_path: str) -> Positions:
    """Places of all deleted rows, in order, each once. `written_path`: as deletes name the data file."""
    parts = [_rows(one, written_path) for one in found]
    rows: Positions = np.unique(np.concatenate(parts)) if parts else np.empty(0, np.int64)
    return rows


def kept(rows: Positions, first: int, count: int) -> pa.BooleanArray | None:
    """Which of `count` rows from `first` stay; None for all."""
    low, high = np.searchsorted(rows, (first, first + count))
    if low == high:
        return None
    mask = np.ones(count, np.bool_)
    mask[rows[low:high] - first] = False
    return pa.array(mask)


@functools.lru_cache(_KNOWN)
def _rows(one: Deletes, written_path: str) -> Positions:
    """Rows of one file of deletes. Such a file never changes."""
    if one.kind == INLINE:
        rows: Positions = np.cumsum(np.frombuffer(zlib.decompress(bytes.fromhex(one.path)), np.int64))
        return rows
    if one.kind == POSITIONS:
        return _of_positions(one.path, written_path)
    try:
        with open(one.path, "rb") as file:
            place = _place_in_puffin(file, written_path)
            if place is None:
                return np.empty(0, np.int64)
            file.seek(place[0])
            data = file.read(place[1])
    except OSError as error:
        raise io_error(error, one.path) from None
    size = int.from_bytes(data[:4], "big")
    vector, check = data[4 : 4 + size], int.from_bytes(data[4 + size : 8 + size], "big")
    if len(data) < size + 8 or zlib.crc32(vector) != check:
        raise SourceError(f'a deletion vector in "{one.path}" is damaged')
    return _of_vector(vector, one.path)


def _place_in_puffin(file: BinaryIO, written_path: str) -> tuple[int, int] | None:
    """Offset and length of the vector of a data file; None where the file has none for it."""
    file.seek(-_PUFFIN_END, os.SEEK_END)
    end = file.read(_PUFFIN_END)
    size = int.from_bytes(end[:4], "little")
    if end[-4:] != b"PFA1" or end[4]:
        raise SourceError(f'"{file.name}" is no Puffin file with a plain footer')
    file.seek(-_PUFFIN_END - size, os.SEEK_END)
    try:
        footer = file.read(size).decode()
        check_json_nesting(footer)
        for blob in json.loads(footer)["blobs"]:
            if blob["type"] == _BLOB and blob.get("properties", {}).get("referenced-data-file") == written_path:
                return int(blob["offset"]), int(blob["length"])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SourceError(f'the footer of the Puffin file "{file.name}" is damaged') from None
    return None


def _of_vector(vector: bytes, place: str) -> Positions:
    if vector[:4] != _MAGIC:
        raise SourceError(f'no deletion vector is where "{place}" should have one')
    return bitmap_positions(vector[4:])


def _of_positions(path: str, written_path: str) -> Positions:
    try:
        with pq.ParquetFile(path, memory_map=True) as file:
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
