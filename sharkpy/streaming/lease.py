"""Lease on the continuous queries of a warehouse: one of the processes that could run them has it."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path


class Lease:
    """Lock of a file, which ends with its process, however that ends."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = -1

    @property
    def is_held(self) -> bool:
        return self._file >= 0

    def take(self) -> bool:
        """Take the lease, if no other process has it; False where another has, or the file cannot be made."""
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
        """True if a process has the lease."""
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
        """Number of the process that has had it last, as far as that can be read."""
        with suppress(OSError, ValueError):
            return int(Path(self._path).read_text())
        return None

    def release(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
