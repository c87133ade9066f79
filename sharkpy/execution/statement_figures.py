"""Figures of a statement: rows and bytes read, planning, CPU time and memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sharkpy.base.records import dataclass

if TYPE_CHECKING:
    from sharkpy.execution.stages.block_figures import BlockFigures
    from sharkpy.execution.stages.profile import StageProfile


@dataclass(frozen=True, slots=True)
class TableLoad:
    """Load of blocks of a table from its files, for which a statement waited. `started` is in seconds since 1970."""

    table: str
    started: float
    seconds: float
    blocks: int


def loading_seconds(loads: Iterable[TableLoad]) -> float:
    """Return the seconds in which any of `loads` ran."""
    seconds = end = 0.0
    for one in sorted(loads, key=lambda load: load.started):
        stop = one.started + one.seconds
        seconds += max(0.0, stop - max(end, one.started))
        end = max(end, stop)
    return seconds


@dataclass(slots=True)
class StatementFigures:
    """Figures of a statement so far. Stages count when they end; a stage that ended early is not counted."""

    rows_read: int = 0
    """Rows of tables, files and programs that the statement's stages have read."""
    bytes_read: int = 0
    """Encoded bytes of the columns of blocks, and bytes of data files."""
    blocks_read: int = 0
    blocks_pruned: int = 0
    bytes_spilled: int | None = None
    """Bytes that DuckDB wrote to temporary files; None if DuckDB measured no query of the statement."""
    planning_seconds: float = 0.0
    """Seconds for resolving names and for planning, without loads of tables."""
    cpu_seconds: float = 0.0
    """CPU seconds of the statement's thread, of its stages in this process (see `ProcessCpu`), and of its tasks."""
    peak_bytes: int | None = None
    """Largest estimate of the bytes by which the process has grown for it; None if no growth was noticed."""

    def add_stage(self, stage: StageProfile, blocks: BlockFigures) -> None:
        """Add a stage that has ended."""
        self.rows_read += stage.rows_read
        self.bytes_read += stage.file_bytes + blocks.read_bytes
        self.blocks_read += blocks.read
        self.blocks_pruned += blocks.pruned
        if stage.bytes_spilled is not None:
            self.bytes_spilled = (self.bytes_spilled or 0) + stage.bytes_spilled
        if stage.placement != "driver":
            self.cpu_seconds += sum(stage.cpu_seconds_per_task)

    def note_memory(self, size: int) -> None:
        """Note the present estimate of the statement's memory."""
        if size > (self.peak_bytes or 0):
            self.peak_bytes = size


class ProcessCpu:
    """CPU time of this process, divided equally among the stages that run in it at the same time.

    DuckDB's threads work for all queries, and the system does not tell for which. So the only
    running stage gets the process's CPU time, and each of n stages an nth of it. Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._num_running = 0
        self._share = 0.0
        """CPU seconds of a stage that has run since the start of the process."""
        self._counted = 0.0
        """CPU time of the process up to which `_share` counts."""

    def begin(self) -> float:
        """Begin a stage. Return the number that `end` takes."""
        with self._lock:
            self._count()
            self._num_running += 1
            return self._share

    def end(self, begun: float) -> float:
        """End a stage. Return its CPU seconds."""
        with self._lock:
            self._count()
            self._num_running -= 1
            return self._share - begun

    def _count(self) -> None:
        now = time.process_time()
        if self._num_running:
            self._share += (now - self._counted) / self._num_running
        self._counted = now


PROCESS_CPU = ProcessCpu()
