"""Remote objects for readers that need files: sparse local copies, and sequential reading with requests in advance.

A local copy has only the bytes that were fetched. Near ranges of bytes are joined to one request, large ones are split
to run in parallel.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import threading
import weakref
from bisect import bisect_left, bisect_right
from collections import OrderedDict, deque
from collections.abc import Generator, Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from sharkpy.base.cancellation import cancellable_lock
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.storage.store import ObjectFacts, Store, is_identified

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_MOST_FILES = 256
_MOST_BYTES = 4 << 30
_SHARE_OF_DISK = 16
"""Share of the disk's free space that the copies of a process may take: one in this many."""
_HOLE_BYTES = 1 << 20


class FetchedFile:
    """Sparse copy of an object, at its full size. Safe to use from several threads.

    1. Readers `fetch` all bytes that they use. A hole silently reads as other bytes than the object's.
    2. `path` can be opened as long as this object exists. The file has no name in any folder, so that the system frees
       it when its last user closes it, even after a kill.
    """

    def __init__(self, facts: ObjectFacts, folder: str | None = None, hole: bytes = b"") -> None:
        """`folder`: folder of the file, by default the system's temporary one. `hole`: byte that holes read as, in
        tests.
        """
        self.facts = facts
        self._spans = Spans()
        self._lock = threading.Lock()
        self._folder = folder or tempfile.gettempdir()
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                for start in range(0, facts.size_bytes if hole else 0, _HOLE_BYTES):
                    file.write(hole * min(_HOLE_BYTES, facts.size_bytes - start))
                file.flush()
                file.truncate(facts.size_bytes)
                self._descriptor = os.dup(file.fileno())
        except OSError as error:
            raise io_error(error, self._folder) from None
        weakref.finalize(self, os.close, self._descriptor).atexit = False

    @property
    def path(self) -> str:
        return f"/proc/self/fd/{self._descriptor}"

    @property
    def size_bytes(self) -> int:
        """Number of bytes fetched so far."""
        return self._spans.size_bytes

    def fetch(self, store: Store, ranges: Iterable[Range]) -> None:
        """Fetch the missing bytes of some ranges, near ones by one request. Ranges may reach past the end of the
        object.
        """
        size = self.facts.size_bytes
        wanted = [(max(start, 0), min(end, size)) for start, end in ranges]
        with cancellable_lock(self._lock):
            missing = coalesced(self._spans.missing(wanted))
            for (start, end), content in zip(missing, store.read(self.facts, missing), strict=True):
                self._write(start, content)
                self._spans.add(start, end)

    def _write(self, start: int, content: memoryview) -> None:
        try:
            while content:
                written = os.pwrite(self._descriptor, content, start)
                start, content = start + written, content[written:]
        except OSError as error:
            raise io_error(error, self._folder) from None


class FetchedFiles:
    """Copies that this process used last, as a cache of fetched bytes."""

    def __init__(self, folder: str | None = None, most_bytes: int | None = None, hole: bytes = b"") -> None:
        """Cache copies of at most `most_bytes` in all, by default a share of the disk's free space. Copies that readers
        hold are not counted.
        """
        self._folder = folder
        self._most_bytes = most_bytes
        self._hole = hole
        self._lock = threading.Lock()
        self._known = OrderedDict[tuple[str, ObjectFacts], FetchedFile]()

    def use_folder(self, folder: str) -> None:
        """Put new copies into `folder`, and take the limit on their bytes from its disk."""
        with self._lock:
            if folder != self._folder:
                self._folder, self._most_bytes = folder, None

    def file(self, facts: ObjectFacts, access_id: str) -> FetchedFile:
        """Copy of an object for readers with this access."""
        if not is_identified(facts):
            return FetchedFile(facts, self._folder, self._hole)
        key = access_id, facts
        with self._lock:
            found = self._known.pop(key, None) or FetchedFile(facts, self._folder, self._hole)
            self._known[key] = found
            self._shrink()
            return found

    def _shrink(self) -> None:
        if self._most_bytes is None:
            self._most_bytes = min(_MOST_BYTES, _free_bytes(self._folder) // _SHARE_OF_DISK)
        size = sum(one.size_bytes for one in self._known.values())
        while len(self._known) > 1 and (len(self._known) > _MOST_FILES or size > self._most_bytes):
            _, oldest = self._known.popitem(last=False)
            size -= oldest.size_bytes


def _free_bytes(folder: str | None) -> int:
    try:
        return shutil.disk_usage(folder or tempfile.gettempdir()).free
    except OSError:
        return 0


FETCHED = FetchedFiles()


_PIECE_BYTES = 4 << 20
_FIRST_BYTES = 4 << 20
"""Bytes of the first request, before it is known whether more are needed."""
_LEAST_BYTES = 64 << 10
_KEPT_PIECES = 3


class RangeReader(io.RawIOBase):
    """Unbuffered reader of an object, for one thread.

    Most reads are between `start` and `end`. There pieces are requested in advance, and a few are kept for seeks back.
    Elsewhere a request reads only the next bytes, and more each time as long as reads are sequential.
    """

    def __init__(self, store: Store, facts: ObjectFacts, start: int = 0, end: int | None = None) -> None:
        super().__init__()
        self._store = store
        self._facts = facts
        self._start = start
        self._end = min(facts.size_bytes, facts.size_bytes if end is None else end)
        self._place = 0
        self._kept = deque[tuple[int, memoryview]](maxlen=_KEPT_PIECES)
        self._coming: Iterator[memoryview] = iter(())
        self._next = start
        """Offset of the next piece."""
        self._step = _LEAST_BYTES

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._facts.size_bytes}[whence]
        self._place = max(base + offset, 0)
        return self._place

    def tell(self) -> int:
        return self._place

    def read(self, size: int | None = -1) -> bytes:
        """Some of the next bytes, at most `size`; all remaining bytes without a size."""
        if size is None or size < 0:
            return self.readall()
        content = bytes(self._content()[:size])
        self._place += len(content)
        return content

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer).cast("B")
        content = self._content()[: len(target)]
        target[: len(content)] = content
        self._place += len(content)
        return len(content)

    def close(self) -> None:
        self._drop()
        self._kept.clear()
        super().close()

    def _content(self) -> memoryview:
        """Bytes from the reader's position; empty at the object's end."""
        while self._place < self._facts.size_bytes:
            for start, piece in self._kept:
                if start <= self._place < start + len(piece):
                    return piece[self._place - start :]
            self._come()
        return memoryview(b"")

    def _come(self) -> None:
        """Receive the next piece, or the piece at the reader's position if that is elsewhere."""
        is_near = self._next <= self._place < self._next + 2 * _PIECE_BYTES
        piece = next(self._coming, None) if is_near else None
        if piece is None:
            self._drop()
            self._begin(self._next if is_near else self._place, is_near and bool(self._kept))
            piece = next(self._coming)
        self._kept.append((self._next, piece))
        self._next += len(piece)

    def _begin(self, place: int, is_further: bool) -> None:
        """Request bytes from a position; `is_further`: the bytes before it were just read."""
        if self._start <= place < self._end:
            first = min(place + _FIRST_BYTES, self._end)
            ranges = [(place, first)]
            if is_further:
                ranges += [(at, min(at + _PIECE_BYTES, self._end)) for at in range(first, self._end, _PIECE_BYTES)]
            self._step = _LEAST_BYTES
        else:
            self._step = min(2 * self._step, _PIECE_BYTES) if is_further else _LEAST_BYTES
            ranges = [(place, min(place + self._step, self._facts.size_bytes))]
        self._next = place
        self._coming = self._store.read(self._facts, ranges)

    def _drop(self) -> None:
        """Drop the requests in flight."""
        if isinstance(self._coming, Generator):
            self._coming.close()
        self._coming = iter(())


class Spans:
    """Ranges of present bytes, sorted and not touching."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    @property
    def size_bytes(self) -> int:
        return sum(self._ends) - sum(self._starts)

    def add(self, start: int, end: int) -> None:
        """Note that bytes are present; an empty range has none."""
        if start >= end:
            return
        first, last = bisect_left(self._ends, start), bisect_right(self._starts, end)
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
        self._starts[first:last], self._ends[first:last] = [start], [end]

    def missing(self, ranges: Iterable[Range]) -> list[Range]:
        """Parts of some ranges that are not present."""
        return [part for start, end in ranges for part in self._missing(start, end)]

    def _missing(self, start: int, end: int) -> list[Range]:
        found, place = list[Range](), start
        index = bisect_right(self._ends, start)
        while place < end:
            begin = self._starts[index] if index < len(self._starts) else end
            if place < begin:
                found.append((place, min(begin, end)))
            if begin >= end:
                break
            place, index = self._ends[index], index + 1
        return found


Range = tuple[int, int]
"""Start, and the end after the last byte."""


def coalesced(
    ranges: Iterable[Range], waste: float = 0.05, most_gap: int = 1 << 20, most: int = 16 << 20
) -> list[Range]:
    """Ranges that cover `ranges`, sorted, without overlaps, none of more than `most` bytes.

    Gaps of at most `most_gap` bytes are read too, the smallest first, as long as all gaps together have at most `waste`
    of the wanted bytes.
    """
    wanted = _union(ranges)
    room = int(waste * sum(end - start for start, end in wanted))
    filled = set[int]()
    for gap, place in sorted((after[0] - before[1], place) for place, (before, after) in enumerate(pairwise(wanted))):
        if gap > min(room, most_gap):
            break
        room -= gap
        filled.add(place + 1)
    joined = list[Range]()
    for place, (start, end) in enumerate(wanted):
        if place in filled:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return [piece for start, end in joined for piece in _cut(start, end, most)]


def _union(ranges: Iterable[Range]) -> list[Range]:
    """The same bytes as ranges that are sorted and do not touch."""
    found = list[Range]()
    for start, end in sorted(ranges):
        if start >= end:
            continue
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def _cut(start: int, end: int, most: int) -> Iterator[Range]:
    """Pieces of nearly equal size."""
    count = -(-(end - start) // most)
    size = -(-(end - start) // count)
    for at in range(start, end, size):
        yield at, min(at + size, end)
