"""Progress of an operation for its client: a log in Hive's words, and a table of stages."""

from __future__ import annotations

import threading
import time
from collections import deque
from itertools import islice
from typing import Any

from sharkpy.execution.statement import Progress
from sharkpy.thrift.bindings import ttypes

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


_HEADER = ("STAGES", "ATTEMPT", "STATUS", "TOTAL", "COMPLETED", "RUNNING", "PENDING", "FAILED", "KILLED")
"""Columns of the table.

Beeline has a format for these nine columns. With any other number the query fails in the client.
"""
_NAME_LENGTH = 28
_Status = ttypes.TJobExecutionStatus


class StageTable:
    """The latest figures of each stage. The engine's threads call `tell`."""

    def __init__(self, parallelism: int) -> None:
        self._parallelism = parallelism
        self._lock = threading.Lock()
        self._stages: dict[int, Progress] = {}
        self._queued_behind: int | None = None

    def tell(self, progress: Progress) -> None:
        if progress.notice is not None:
            return
        with self._lock:
            self._queued_behind = progress.queued_behind
            if progress.queued_behind is None:
                self._stages[progress.stages_done] = progress

    @property
    def rows_read(self) -> int:
        with self._lock:
            return sum(stage.rows_read for stage in self._stages.values())

    def response(self, started: float, elapsed: float, *, is_over: bool) -> Any:
        """Return the progress for a client: NOT_AVAILABLE after the end, or the bar would be drawn into the result."""
        if is_over:
            return ttypes.TProgressUpdateResp([], [], 0.0, _Status.NOT_AVAILABLE, "", int(started * 1000))
        with self._lock:
            stages, queued = dict(sorted(self._stages.items())), self._queued_behind
        last = max(stages, default=0)
        rows = [self._row(number, stage, number < last) for number, stage in stages.items()]
        footer = f"{self._summary(stages, elapsed)}"
        if queued is not None:
            footer = f"WAITING: {queued} QUERIES BEFORE IT"
        done = [1.0 if number < last else _share(stage) for number, stage in stages.items()]
        share = sum(done) / len(done) if done else 0.0
        return ttypes.TProgressUpdateResp(list(_HEADER), rows, share, _Status.IN_PROGRESS, footer, int(started * 1000))

    def _row(self, number: int, stage: Progress, is_done: bool) -> list[str]:
        total = max(stage.tasks_total, 1)
        completed = total if is_done else stage.tasks_done
        running = min(self._parallelism, total - completed)
        status = "SUCCEEDED" if completed == total else "RUNNING"
        name = f"Stage-{number + 1} {stage.stage}"[:_NAME_LENGTH]
        figures = (total, completed, running, total - completed - running, 0, 0)
        return [name, "0", status, *map(str, figures)]

    def _summary(self, stages: dict[int, Progress], elapsed: float) -> str:
        rows = sum(stage.rows_read for stage in stages.values())
        return f"ROWS READ: {rows:,}  ROWS/S: {int(rows / max(elapsed, 0.001)):,}"


def _share(stage: Progress) -> float:
    return stage.tasks_done / stage.tasks_total if stage.tasks_total else 0.0
