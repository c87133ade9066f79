"""Users of a table's folder of durable blocks: they share a lock, and one that is alone may tidy up."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

NAME = ".in-use"


class FolderUse:
    """Use of a folder until `close`, or the end of the process. `is_alone`: nobody else used it at the start."""

    def __init__(self, directory: str) -> None:
        Path(directory).mkdir(parents=True, exist_ok=True)
        self._file = os.open(Path(directory, NAME), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
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
