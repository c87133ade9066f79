"""Remote objects as files for sequential reading, with the next bytes requested in advance."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from sharkpy.sources.storage.store import ObjectFacts, Store

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

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
