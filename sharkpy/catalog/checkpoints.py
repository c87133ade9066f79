"""Checkpoints of an SQLite file in WAL mode, in the background."""

from __future__ import annotations

import math
import sqlite3
import threading
import time
from contextlib import closing, suppress
from urllib.parse import quote

_SECONDS = 1.0
"""Time between two checkpoints while transactions commit."""
MOST_PAGES = 4_000
"""Pages of the log at which a commit makes a checkpoint itself: more than a few seconds of epochs add."""


class Checkpoints:
    """Moves the log into the file in threads, since this waits for the disk. Commits only do it if the threads cannot
    keep up.

    A checkpoint waits for no lock, and no commit waits for a checkpoint. Pages that earlier readers still need are left
    to the next checkpoint.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._due = time.monotonic() + _SECONDS
        self._thread: threading.Thread | None = None

    def note_commit(self) -> None:
        """Start a checkpoint if one is due. Call this from one thread at a time."""
        now = time.monotonic()
        if now < self._due or (self._thread is not None and self._thread.is_alive()):
            return
        self._due = now + _SECONDS
        self._thread = threading.Thread(target=self._checkpoint, name="sharkpy-checkpoint", daemon=True)
        with suppress(RuntimeError):  # The interpreter is shutting down.
            self._thread.start()

    def close(self) -> None:
        """Wait for a running checkpoint. No other one starts after it."""
        self._due = math.inf
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()

    def _checkpoint(self) -> None:
        # After a failure, the next checkpoint or a commit does the work.
        with suppress(sqlite3.Error), closing(self._connected()) as connection:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def _connected(self) -> sqlite3.Connection:
        """Connect to the file, without creating it if it was removed."""
        return sqlite3.connect(f"file:{quote(self._path)}?mode=rw", isolation_level=None, uri=True)
