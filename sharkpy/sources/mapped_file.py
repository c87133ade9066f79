"""Files as bytes with offsets: local ones are mapped, remote ones are fetched as they are read."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import overload

from sharkpy.base import uri
from sharkpy.base.cancellation import check_cancelled
from sharkpy.sources.file_bytes import FileBytes
from sharkpy.sources.layout import DataFile
from sharkpy.sources.local_copy import LocalCopy, facts_of, local_copy
from sharkpy.sources.split import Split

_HEAD_BYTES = 64 << 10
"""Bytes of a header, and bytes after a split that are fetched with it."""
_STEP_BYTES = 256 << 10
_SEARCHED_BYTES = 1 << 20


class _MappedCopy:
    """Bytes of a remote file; missing ones are fetched on access."""

    def __init__(self, copy: LocalCopy, size: int, start: int, end: int) -> None:
        """Map a copy; most reads are between `start` and `end`."""
        self._copy = copy
        self._size = size
        self._low, self._high = start, min(end + _HEAD_BYTES, size)
        copy.fetch([(0, _HEAD_BYTES), (self._low, self._high)])
        with open(copy.path, "rb") as file:
            self._map = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, key: int, /) -> int: ...

    @overload
    def __getitem__(self, key: slice, /) -> bytes: ...

    def __getitem__(self, key: int | slice, /) -> int | bytes:
        if isinstance(key, slice):
            start, stop, _ = key.indices(self._size)
            self._fetch(start, stop)
            return self._map[start:stop]
        self._fetch(key, min(key + 1, self._size))
        return self._map[key]

    def find(self, sub: bytes, start: int, /) -> int:
        while start < self._size:
            check_cancelled()
            end = min(start + _SEARCHED_BYTES, self._size)
            self._fetch(start, end)
            found = self._map.find(sub, start, end)
            if found >= 0 or end == self._size:
                return found
            start = end - len(sub) + 1
        return -1

    def close(self) -> None:
        self._map.close()

    def _fetch(self, start: int, end: int) -> None:
        if start >= end or (self._low <= start and end <= self._high):
            return
        end = min(max(end, start + _STEP_BYTES), self._size)
        self._copy.fetch([(start, end)])
        if self._low <= start <= self._high:
            self._high = max(self._high, end)
        else:
            self._low, self._high = start, end


@contextmanager
def mapped(file: DataFile | Split) -> Iterator[FileBytes]:
    """Bytes of a data file, or of a split's file, which must not be empty."""
    if not uri.is_remote(file.path):
        with open(file.path, "rb") as local, mmap.mmap(local.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield data
        return
    start, end = (file.start, file.start + file.length) if isinstance(file, Split) else (0, 0)
    with closing(_MappedCopy(local_copy(file), facts_of(file).size_bytes, start, end)) as copy:
        yield copy
