"""Readers of data folders, visible to all processes of the machine that use the warehouse."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b

from sharkpy.base import uri

_UNWRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True)
class Reading:
    """The place and mark of a reader."""

    place: int
    mark: int


class FolderReaders:
    """Locks of the folders being read: hidden or dropped files stay until their readers have left.

    Readers enter a folder before they list its files.

    1. Each folder is one byte of a file, by the hash of its path, and readers share a lock on this byte. If two folders
       share a byte, their files merely stay longer.
    2. The locks belong to the process and end with it. Its threads are counted by the mark under which they entered:
       later readers do not see files that were hidden before.
    3. If the file can be neither written nor read, readers are not recorded. Then no process deletes files there
       either.
    """

    def __init__(self, path: str, warehouse: str) -> None:
        """`path` is the file of the locks. Folders in `warehouse` have the same name under every path of the
        warehouse.
        """
        self._path = path
        self._warehouse = warehouse
        self._file = -1
        self._counts: dict[int, Counter[int]] = {}
        """Number of readers of a place, by their marks."""
        self._mark = 0
        self._left: deque[Reading] = deque()
        self._lock = threading.Lock()

    def enter(self, folder: str) -> Reading:
        place = self._place(folder)
        with self._lock:
            self._settle()
            if place not in self._counts:
                file = self._opened()
                if file >= 0:
                    fcntl.lockf(file, fcntl.LOCK_SH, 1, place)
                self._counts[place] = Counter()
            self._counts[place][self._mark] += 1
            return Reading(place, self._mark)

    def leave(self, reading: Reading) -> None:
        """Leave a folder. The garbage collector may call this in the middle of any other method."""
        self._left.append(reading)
        if self._lock.acquire(blocking=False):
            try:
                self._settle()
            finally:
                self._lock.release()

    @contextmanager
    def reading(self, folder: str) -> Iterator[None]:
        reading = self.enter(folder)
        try:
            yield
        finally:
            self.leave(reading)

    def _settle(self) -> None:
        """Subtract the readers that have left."""
        while self._left:
            reading = self._left.popleft()
            counts = self._counts[reading.place]
            counts[reading.mark] -= 1
            if not counts[reading.mark]:
                del counts[reading.mark]
            if not counts:
                del self._counts[reading.place]
                if self._file >= 0:
                    fcntl.lockf(self._file, fcntl.LOCK_UN, 1, reading.place)

    def mark(self) -> int:
        """Begin another mark, after files were hidden."""
        with self._lock:
            self._mark += 1
            return self._mark

    def is_read(self, folder: str, before: int | None = None) -> bool:
        """Return True if the folder is being read. With `before`, readers of this process count only if they entered
        before that mark.
        """
        place = self._place(folder)
        with self._lock:
            self._settle()
            file, marks = self._opened(), self._counts.get(place, ())
            if file < 0 or any(before is None or mark < before for mark in marks):
                return True
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            except OSError:
                return True
            fcntl.lockf(file, fcntl.LOCK_SH if marks else fcntl.LOCK_UN, 1, place)
            return False

    def close(self) -> None:
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1

    def _opened(self) -> int:
        """Open the lock file once per process: closing another descriptor of it would release the locks.

        Return -1 if it does not exist and cannot be created.
        """
        if self._file >= 0:
            return self._file
        try:
            self._file = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if error.errno not in _UNWRITABLE:
                raise
            with suppress(OSError):
                self._file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        return self._file

    def _place(self, folder: str) -> int:
        name = uri.below(folder, self._warehouse) or uri.normal(folder)
        return int.from_bytes(blake2b(os.fsencode(name), digest_size=6).digest(), "big")
