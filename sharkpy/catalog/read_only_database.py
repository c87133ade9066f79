"""SQLite file of a catalog that cannot be written: opened without creating files."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path
from urllib.parse import quote

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
