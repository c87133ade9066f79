"""Roaring bitmaps of 64-bit numbers, the form of deletion vectors (portable form of RoaringFormatSpec)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sharkpy.base.errors import ResourceError, SourceError

Positions = np.ndarray[Any, np.dtype[np.int64]]
_WITH_RUNS, _WITHOUT_RUNS = 12347, 12346
_LEAST_WITH_PLACES = 4
"""Least number of containers for which a bitmap with runs has a list of their offsets."""
_MOST_IN_ARRAY = 4096
_BITMAP_BYTES = 8192
_MOST_NUMBERS = 100_000_000


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0
        self._numbers = 0

    def take(self, size: int) -> bytes:
        found = self._data[self._place : self._place + size]
        if len(found) < size:
            raise SourceError("a deletion vector ends before its last row")
        self._place += size
        return found

    def count(self, found: int) -> None:
        """Count numbers that were found: a few bytes can encode very many."""
        self._numbers += found
        if self._numbers > _MOST_NUMBERS:
            raise ResourceError(f"a deletion vector has more than {_MOST_NUMBERS:,} rows", sqlstate="54000")

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def shorts(self, count: int) -> Any:
        return np.frombuffer(self.take(2 * count), "<u2").astype(np.int64)


def bitmap_positions(data: bytes) -> Positions:
    """Numbers in a bitmap, in their order. SourceError if it is damaged, ResourceError 54000 for too many."""
    reader = _Reader(data)
    found: list[Positions] = []
    for _ in range(reader.number(8)):
        high = reader.number(4) << 32
        found += [high + numbers for numbers in _containers(reader)]
    return np.concatenate(found) if found else np.empty(0, np.int64)


def _containers(reader: _Reader) -> list[Positions]:
    """Numbers of a 32-bit bitmap, by containers of 2 ** 16."""
    cookie = reader.number(4)
    if cookie & 0xFFFF == _WITH_RUNS:
        count = (cookie >> 16) + 1
        flags = np.unpackbits(np.frombuffer(reader.take((count + 7) // 8), np.uint8), bitorder="little")
    elif cookie == _WITHOUT_RUNS:
        count = reader.number(4)
        flags = np.zeros(count, np.uint8)
    else:
        raise SourceError("a deletion vector is no roaring bitmap")
    header = reader.shorts(2 * count).reshape(-1, 2)
    if cookie == _WITHOUT_RUNS or count >= _LEAST_WITH_PLACES:
        reader.take(4 * count)
    return [
        (int(key) << 16) + _container(reader, int(less_one) + 1, is_runs=bool(flag))
        for (key, less_one), flag in zip(header, flags, strict=False)
    ]


def _container(reader: _Reader, count: int, *, is_runs: bool) -> Positions:
    if is_runs:
        runs = reader.shorts(2 * reader.number(2)).reshape(-1, 2)
        reader.count(len(runs) + int(runs[:, 1].sum()))
        spans = [np.arange(start, start + more + 1, dtype=np.int64) for start, more in runs]
        return np.concatenate(spans) if spans else np.empty(0, np.int64)
    reader.count(count)
    if count <= _MOST_IN_ARRAY:
        found: Positions = reader.shorts(count)
        return found
    bits = np.unpackbits(np.frombuffer(reader.take(_BITMAP_BYTES), np.uint8), bitorder="little")
    return np.flatnonzero(bits).astype(np.int64)
