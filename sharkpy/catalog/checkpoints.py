"""Checkpoints of an SQLite file in WAL mode, behind those who commit."""

from __future__ import annotations

import math
import sqlite3
import threading
import time
from contextlib import closing, suppress
from urllib.parse import quote

_SECONDS = 1.0
"""Time between two checkpoints, while something is committed."""
MOST_PAGES = 4_000
"""Pages of the log at which a commit makes a checkpoint by itself: more than come in a few seconds of epochs."""


class Checkpoints:
    """Moves what the log has into the file, which waits for the disk, in threads of its own: no commit does that, as
    long as they are not far behind.

    A checkpoint waits for no lock, and nobody waits for it: what readers of an earlier moment hold back is for the next
    one.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._due = time.monotonic() + _SECONDS
        self._thread: threading.Thread | None = None

    def note_commit(self) -> None:
        """Make a checkpoint, if one is due. Called by one thread at a time."""
        now = time.monotonic()
        if now < self._due or (self._thread is not None and self._thread.is_alive()):
            return
        self._due = now + _SECONDS
        self._thread = threading.Thread(target=self._checkpoint, name="sharkpy-checkpoint", daemon=True)
        with suppress(RuntimeError):  # The interpreter ends.
            self._thread.start()

    def close(self) -> None:
        """Wait for the end of one that runs; none is made after it."""
        self._due = math.inf
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()

    def _checkpoint(self) -> None:
        # What fails is done the next time, or by a commit.
        with suppress(sqlite3.Error), closing(self._connected()) as connection:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def _connected(self) -> sqlite3.Connection:
        """Connection to the file, which is not made anew where it is gone."""
        return sqlite3.connect(f"file:{quote(self._path)}?mode=rw", isolation_level=None, uri=True)
