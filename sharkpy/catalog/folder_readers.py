"""Readers of data folders, whose files stay: processes of this machine, and streams that read a table's rows."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import weakref
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from typing import Protocol

from sharkpy.base import uri
from sharkpy.base.records import dataclass

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
        name = uri.below(folder, self._warehouse) or uri.normalized(folder)
        return int.from_bytes(blake2b(os.fsencode(name), digest_size=6).digest(), "big")


class Wants(Protocol):
    """A source of the names, as `wanted_name` builds them, of files that streams want."""

    def wanted_names(self) -> list[str]: ...


class WantedFiles:
    """Files that streams in the catalogs of this process want. Threads may share it.

    If one process has several catalogs, a file stays while any of them has a stream that wants it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known = weakref.WeakSet[Wants]()

    def add(self, wants: Wants) -> None:
        with self._lock:
            self._known.add(wants)

    def forget(self, wants: Wants) -> None:
        with self._lock:
            self._known.discard(wants)

    def among(self, paths: Iterable[str]) -> set[str]:
        """Return the files in `paths` that are wanted, under any name of their places."""
        asked = set(paths)
        if not asked:
            return set()
        with self._lock:
            known = list(self._known)
        wanted = {uri.canonical(path) for one in known for name in one.wanted_names() if (path := wanted_file(name)[1])}
        return {path for path in asked if uri.canonical(path) in wanted} if wanted else set()


WANTED = WantedFiles()


def wanted_name(path: str, partition: str) -> str:
    """Return the name of a remote file among a stream's files. `partition` is the name of its Hive partition."""
    return f"{partition}/{path}" if partition else path


def wanted_file(name: str) -> tuple[str, str]:
    """Split a name that `wanted_name` has built into Hive partition and path. The path is empty for a local file.

    Names of Hive partitions have no colons, so the first colon belongs to the scheme.
    """
    start = name.rfind("/", 0, name.find(":") + 1) + 1
    path = name[start:]
    return (name[: max(start - 1, 0)], path) if uri.is_remote(path) else ("", "")
