"""Lease on the continuous queries of a warehouse, held by one of the processes that could run them."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path


class Lease:
    """Lease as a lock on a file. It ends with its process, however the process ends."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = -1

    @property
    def is_held(self) -> bool:
        return self._file >= 0

    def take(self) -> bool:
        """Take the lease. Return False if another process has it, or if the file cannot be created."""
        if self._file >= 0:
            return True
        try:
            file = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            return False
        with suppress(OSError):
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        self._file = file
        return True

    def is_taken(self) -> bool:
        """Return True if a process has the lease."""
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(file)
        return False

    def holder(self) -> int | None:
        """Return the id of the process that took the lease last, or None if it cannot be read."""
        with suppress(OSError, ValueError):
            return int(Path(self._path).read_text())
        return None

    def release(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
