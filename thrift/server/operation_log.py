"""Log of an operation for clients: its steps and its progress, in Hive's words."""

from __future__ import annotations

import threading
import time
from collections import deque
from itertools import islice

from sharkpy.execution.statement import Progress

MOST_LINES = 10_000
MOST_LETTERS = 10_000
_PROGRESS_SECONDS = 1.0


class OperationLog:
    """Lines that are read once in order, or again from the start. Above `MOST_LINES`, the oldest are dropped.

    Superset shows progress from lines that say how many jobs there are, which one is launched, and how far a stage is:
    the mean of its map and reduce. Superset takes its link from a line with a tracking URL.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self._first = 0
        """Number of the first line that is still in the log."""
        self._next = 0
        """Number of the next line to read."""
        self._stage = -1
        self._told = 0.0

    def info(self, text: str) -> None:
        self._add(f"INFO  : {text}")

    def error(self, text: str) -> None:
        self._add(f"ERROR : {text}")

    def progress(self, progress: Progress) -> None:
        """Log that a stage begins, continues or is done, at most once a second for one stage. Notices come at once."""
        if progress.notice is not None:
            self._add(f"WARN  : {progress.notice}")
            return
        if progress.queued_behind is not None:
            if time.monotonic() - self._told >= _PROGRESS_SECONDS:
                self._told = time.monotonic()
                self.info(f"Waiting: {progress.queued_behind} queries before it")
            return
        number = progress.stages_done + 1
        if progress.stages_done != self._stage:
            self._stage = progress.stages_done
            self._told = 0.0
            self.info(f"Total jobs = {number}")
            self.info(f"Launching Job {number} out of {number}")
            self.info(f"Stage-{number}: {progress.stage}")
        is_done = progress.tasks_done == progress.tasks_total
        if is_done or time.monotonic() - self._told >= _PROGRESS_SECONDS:
            self._told = time.monotonic()
            percent = 100 * progress.tasks_done // max(progress.tasks_total, 1)
            self.info(f"Stage-{number} map = {percent}%,  reduce = {percent}%, rows read = {progress.rows_read}")

    def read(self, most: int, *, from_start: bool = False) -> list[str]:
        """Return the next lines, at most `most`."""
        with self._lock:
            begin = self._first if from_start else max(self._next, self._first)
            at = begin - self._first
            lines = list(islice(self._lines, at, at + most))
            self._next = begin + len(lines)
            return lines

    def last(self, most: int) -> list[str]:
        """Return the newest lines, at most `most`. `read` still returns them."""
        with self._lock:
            return list(islice(self._lines, max(0, len(self._lines) - most), None))

    def _add(self, line: str) -> None:
        with self._lock:
            if len(self._lines) == MOST_LINES:
                self._first += 1
            self._lines.append(" ".join(line[:MOST_LETTERS].splitlines()))
