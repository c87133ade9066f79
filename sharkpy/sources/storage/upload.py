"""Content of an upload in parts. An upload that is given up ends with an error, so that the store removes its parts."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, BinaryIO

from sharkpy.base.errors import CancelledError
from sharkpy.sources.failures import io_error
from sharkpy.sources.storage.store import ObjectFacts

_MOST_PARTS = 9_000
"""Most parts of an upload; S3 allows 10,000."""


class Upload:
    """Parts of a file or of another object. The library requests the next one when it has room."""

    def __init__(self) -> None:
        self._is_given_up = False

    def give_up(self) -> None:
        """End the upload at its next part. If it were dropped at once, its parts would stay in the store."""
        self._is_given_up = True

    def of_file(self, content: BinaryIO, part_bytes: int) -> Iterator[bytes]:
        """Parts of a file from its current position."""
        try:
            yield from self.of_reader(content.read, part_bytes)
        except OSError as error:
            raise io_error(error, str(getattr(content, "name", ""))) from None

    def of_reader(self, read: Callable[[int], bytes], part_bytes: int) -> Iterator[bytes]:
        """Parts from `read`, which is called with the largest size of a part, up to an empty one."""
        while True:
            self._check()
            part = read(part_bytes)
            if not part:
                return
            yield part

    async def of_object(
        self, source: ObjectFacts, piece: Callable[[int, int], Coroutine[Any, Any, memoryview]], part_bytes: int
    ) -> AsyncIterator[memoryview]:
        """Parts of an object, each returned by `piece` for a start and an end."""
        for start in range(0, source.size_bytes, part_bytes):
            self._check()
            yield await piece(start, min(start + part_bytes, source.size_bytes))

    def _check(self) -> None:
        if self._is_given_up:
            raise CancelledError("the upload was given up")


def length_of(content: BinaryIO) -> int:
    """Number of bytes of a file from its current position."""
    start = content.tell()
    length = content.seek(0, io.SEEK_END) - start
    content.seek(start)
    return length


def part_of(length: int, part_bytes: int) -> int:
    """Size of a part in bytes: `part_bytes`, or more if there were too many parts otherwise."""
    return max(part_bytes, -(-length // _MOST_PARTS))
