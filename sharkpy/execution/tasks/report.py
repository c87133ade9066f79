"""Report of a task to the driver, separate from its data: figures, small results, and its error."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sharkpy.base.errors import SharkError
from sharkpy.sources.storage.meter import RequestCounts

if TYPE_CHECKING:
    from sharkpy.columnar.handle import BlockHandle
    from sharkpy.columnar.statistics_table import PackedStatistics
    from sharkpy.execution.tasks.operator_figures import OperatorFigures
    from sharkpy.sources.source import ReadMetrics


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BlockResult:
    """Block that a BlockSink stored in task number `task`.

    `source` is the scanned block of all its rows, and its number among the blocks made from it.
    """

    handle: BlockHandle
    statistics: PackedStatistics
    task: int = 0
    source: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class FileResult:
    """File that a FileSink wrote; `encoded_bytes` is its size on disk.

    `modified_ns` and `tag` of a remote file come from its store.
    """

    path: str
    num_rows: int
    encoded_bytes: int
    modified_ns: int = 0
    tag: str = ""


def num_rows(results: Sequence[object]) -> int:
    """Return the number of rows in blocks and files."""
    written = sum(one.num_rows for one in results if isinstance(one, FileResult))
    return written + sum(one.handle.num_rows for one in results if isinstance(one, BlockResult))


@dataclass(frozen=True, slots=True)
class TaskReport:
    """Report at the end of a task. The first report of a partition counts, and retries report the same."""

    run_id: int
    partition: int
    rows_in: int = 0
    rows_out: int = 0
    bytes_out: int = 0
    seconds: float = 0.0
    read: ReadMetrics | None = None
    """Figures of reading files: malformed lines and the like."""
    results: tuple[BlockResult | FileResult, ...] = ()
    error: SharkError | None = None
    operators: tuple[OperatorFigures, ...] = ()
    """Figures of DuckDB's operators, if measured."""
    collected: bytes = b""
    """Findings of a map task's collectors (see `sharkpy.execution.tasks.collectors`)."""
    cpu_seconds: float = 0.0
    blocks_beside: int = 0
    """Number of blocks read from the memory of the task's host, if there are several hosts."""
    blocks_afar: int = 0
    blocks_rebuilt: int = 0
    """Number of lost or damaged blocks that the task rebuilt itself."""
    requested: RequestCounts = RequestCounts()  # noqa: RUF009  it is frozen
    """Requests of the task to remote storage."""


@dataclass(slots=True)
class ReportBook:
    """Record of reports in the driver, by stage run and partition. Thread-safe."""

    reports: dict[int, dict[int, TaskReport]] = field(default_factory=dict)
    listeners: dict[int, Callable[[TaskReport], None]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self, run_id: int, listener: Callable[[TaskReport], None]) -> None:
        with self.lock:
            self.reports[run_id] = {}
            self.listeners[run_id] = listener

    def add(self, report: TaskReport) -> None:
        with self.lock:
            run = self.reports.get(report.run_id)
            listener = self.listeners.get(report.run_id)
            if run is None or listener is None or report.partition in run:
                return
            run[report.partition] = report
        try:
            listener(report)
        except Exception:  # noqa: BLE001 - it would end pyspark's server, and lose all later reports
            _log.exception("a listener of task reports failed")

    def close(self, run_id: int) -> list[TaskReport]:
        """Remove and return the run's reports by partition; later ones are dropped."""
        with self.lock:
            self.listeners.pop(run_id, None)
            run = self.reports.pop(run_id, {})
        return [run[partition] for partition in sorted(run)]

    def seen(self, run_id: int) -> list[TaskReport]:
        with self.lock:
            run = self.reports.get(run_id, {})
            return [run[partition] for partition in sorted(run)]
