"""Shared use of a table's folder of durable blocks. The only user of a folder may clean it up."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

UNWRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM)
"""Errors for a file that this process may not write."""

NAME = ".in-use"


class FolderUse:
    """Use of a folder until `close`, or until the process ends.

    If `is_alone`, no other process used the folder at the start, and its files may be changed.
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
        """Allow other processes to use the folder."""
        fcntl.flock(self._file, fcntl.LOCK_SH)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
