"""Users of a table's folder of durable blocks: they share a lock, and one that is alone may tidy up."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

UNWRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM)
"""Errors of a file that this process may not write."""

NAME = ".in-use"


class FolderUse:
    """Use of a folder until `close`, or the end of the process.

    `is_alone`: nobody else used it at the start, and its files may be changed.
    """

    def __init__(self, directory: str) -> None:
        path = Path(directory, NAME)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if error.errno not in UNWRITABLE or not path.exists():
                raise
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self.is_alone = False
            fcntl.flock(self._file, fcntl.LOCK_SH)
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.is_alone = True
        except OSError:
            self.is_alone = False
            fcntl.flock(self._file, fcntl.LOCK_SH)

    def share(self) -> None:
        """Let others in."""
        fcntl.flock(self._file, fcntl.LOCK_SH)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
