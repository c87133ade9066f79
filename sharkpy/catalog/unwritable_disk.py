"""The catalog's file on a disk that cannot be written: a reserve of space for changes that free space on a full
disk, and opening without creating files on a read-only one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

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


_WAL = "-wal"


def is_unwritable(path: str) -> bool:
    """Return True for an existing file if this process cannot write the file or its folder."""
    return Path(path).is_file() and not (os.access(path, os.W_OK) and os.access(Path(path).parent, os.W_OK))


class ReadOnlyDatabase:
    """Connection to a database in WAL mode on a disk, or in a folder, that cannot be written.

    1. If a writer is active, or a killed writer left its shared index, that index is used: changes are visible.
    2. Without a journal, only the file is read (`immutable`).
    3. A journal without an index, which cannot be created there, is applied to a copy of both files in the temporary
       folder.
    4. In the last two cases, `connection` reopens the files after a change.

    Raise sqlite3.Error if none of this works.
    """

    def __init__(self, path: str, seconds: float) -> None:
        self._path = path
        self._seconds = seconds
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._seen: tuple[object, ...] | None = None
        self._connection = self._opened()

    @property
    def connection(self) -> sqlite3.Connection:
        if self._seen is not None and self._seen != self._state():
            self.close()
            self._connection = self._opened()
        return self._connection

    def close(self) -> None:
        self._connection.close()
        if self._copy is not None:
            self._copy.cleanup()
            self._copy = None

    def _opened(self) -> sqlite3.Connection:
        self._seen = None
        state = self._state()
        address = f"file:{quote(self._path)}?mode=ro"
        with contextlib.suppress(sqlite3.OperationalError):
            return self._checked(address)
        self._seen = state
        if not _size(self._path + _WAL):
            return self._checked(f"{address}&immutable=1")
        self._copy = tempfile.TemporaryDirectory(prefix="sharkpy-catalog-")
        copy = Path(self._copy.name, "catalog.sqlite")
        for ending in (_WAL, ""):
            shutil.copyfile(self._path + ending, str(copy) + ending)
        connection = self._checked(f"file:{quote(str(copy))}?mode=rw")
        connection.execute("PRAGMA query_only = ON")
        return connection

    def _checked(self, address: str) -> sqlite3.Connection:
        """Return a connection that has read from the file."""
        connection = sqlite3.connect(
            address, timeout=self._seconds, isolation_level=None, check_same_thread=False, uri=True
        )
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except BaseException:
            connection.close()
            raise
        return connection

    def _state(self) -> tuple[object, ...]:
        return tuple(_identity(self._path + ending) for ending in ("", _WAL))


def _identity(path: str) -> tuple[int, int, int] | None:
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _size(path: str) -> int:
    identity = _identity(path)
    return identity[1] if identity is not None else 0
