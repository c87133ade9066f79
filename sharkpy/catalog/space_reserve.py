"""Reserve of disk space next to the catalog, for changes that free space on a full disk."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

RESERVED_BYTES = 1 << 20
"""Room for a catalog change in its journal, and for a new entry in a folder."""
_PROBED_BYTES = 64 << 10
_LEAST_FREE = 4 * RESERVED_BYTES
"""Free bytes that a disk needs before the reserve takes some."""


class SpaceReserve:
    """A file of random bytes, shared by all processes that use the warehouse.

    1. `keep` fills it if the disk has room, and does nothing otherwise.
    2. Inside `freeing` its bytes are released if the disk is full, and filled again afterwards.
    3. No method raises: a warehouse works without a reserve too.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def keep(self) -> None:
        with contextlib.suppress(OSError):
            if self._size() >= RESERVED_BYTES:
                return
            disk = os.statvfs(Path(self._path).parent)
            if disk.f_bavail * disk.f_frsize >= _LEAST_FREE:
                self._fill()

    def release(self) -> bool:
        """Release the bytes. Return False if there were none."""
        try:
            if not self._size():
                return False
            os.truncate(self._path, 0)
        except OSError:
            return False
        return True

    @contextlib.contextmanager
    def freeing(self) -> Iterator[None]:
        """Run a body that frees space. It may use the reserve if the disk is full."""
        is_released = not self._has_room() and self.release()
        try:
            yield
        finally:
            if is_released:
                self.keep()

    def _size(self) -> int:
        try:
            return Path(self._path).stat().st_size
        except FileNotFoundError:
            return 0

    def _has_room(self) -> bool:
        """Write to the disk to test for room: a quota shows in no figure of it."""
        try:
            with _opened(self._path) as file:
                size = os.fstat(file).st_size
                try:
                    return os.pwrite(file, os.urandom(_PROBED_BYTES), size) == _PROBED_BYTES
                finally:
                    os.ftruncate(file, size)
        except OSError:
            return False

    def _fill(self) -> None:
        with _opened(self._path) as file:
            try:
                # Random bytes: a compressing file system would store zeros without using room.
                is_whole = os.pwrite(file, os.urandom(RESERVED_BYTES), 0) == RESERVED_BYTES
            except OSError:
                is_whole = False
            if not is_whole:
                os.ftruncate(file, 0)


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        yield file
    finally:
        os.close(file)
