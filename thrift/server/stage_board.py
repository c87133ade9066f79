"""Progress of an operation, as Hive's clients show it: a table of stages with nine columns."""

from __future__ import annotations

import threading
from typing import Any

from sharkpy.execution.statement import Progress
from sharkpy.thrift.wire.bindings import ttypes

_HEADER = ("STAGES", "ATTEMPT", "STATUS", "TOTAL", "COMPLETED", "RUNNING", "PENDING", "FAILED", "KILLED")
"""Columns of the table.

Beeline has a format for these nine columns. With any other number the query fails in the client.
"""
_NAME_LENGTH = 28
_Status = ttypes.TJobExecutionStatus


class StageBoard:
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
