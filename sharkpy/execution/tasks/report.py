"""Report of a task to the driver, separate from its data: figures, small results, and its error.

The figures of operators come from DuckDB's profile, in a form that can be summed over tasks.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from sharkpy.base.errors import SharkError
from sharkpy.base.records import dataclass
from sharkpy.physical.stage_program import BlockColumns, FileColumns, KernelColumns, StageInput
from sharkpy.sources.storage.meter import RequestCounts

if TYPE_CHECKING:
    from sharkpy.columnar.handle import BlockHandle
    from sharkpy.columnar.statistics_table import PackedStatistics
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
    """Findings of a map task's collectors (see `sharkpy.execution.tasks.exchange_statistics`)."""
    cpu_seconds: float = 0.0
    blocks_local: int = 0
    """Number of blocks read from the memory of the task's host, if there are several hosts."""
    blocks_remote: int = 0
    blocks_rebuilt: int = 0
    """Number of lost or damaged blocks that the task rebuilt itself."""
    rows_exchanged: int = 0
    """Part of `rows_in` that came from exchanges."""
    bytes_spilled: int | None = None
    """Bytes that DuckDB wrote to temporary files; None if not measured."""
    requested: RequestCounts = RequestCounts()
    """Requests of the task to remote storage."""
    ended: float = 0.0
    """End by the clock of the task's host, in seconds since 1970."""
    worker: str = ""
    """Host and process that ran the task; "" in the driver."""
    attempt: int = 0
    """Runs of the task that were lost before, with their workers."""
    frames: tuple[bytes, ...] | None = None
    """All frames of the task for the driver, if they are small; None if they come through Spark."""


@dataclass(slots=True)
class ReportCollector:
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


SCAN = "scan"
_FILE_SCAN = "READ_PARQUET"
STEP = "step"
"""Kind of Python code between two queries, whose figures do not come from DuckDB."""
KINDS: dict[str, str] = {
    "TABLE_SCAN": SCAN,
    "ARROW_SCAN": SCAN,
    "FILTER": "filter",
    "PROJECTION": "project",
    "HASH_GROUP_BY": "aggregate",
    "PERFECT_HASH_GROUP_BY": "aggregate",
    "PARTITIONED_AGGREGATE": "aggregate",
    "SIMPLE_AGGREGATE": "aggregate",
    "UNGROUPED_AGGREGATE": "aggregate",
    "HASH_JOIN": "join",
    "NESTED_LOOP_JOIN": "join",
    "BLOCKWISE_NL_JOIN": "join",
    "PIECEWISE_MERGE_JOIN": "join",
    "IE_JOIN": "join",
    "ASOF_JOIN": "join",
    "CROSS_PRODUCT": "join",
    "LEFT_DELIM_JOIN": "join",
    "RIGHT_DELIM_JOIN": "join",
    "WINDOW": "window",
    "STREAMING_WINDOW": "window",
    "ORDER_BY": "sort",
    "TOP_N": "top_n",
    "LIMIT": "limit",
    "STREAMING_LIMIT": "limit",
    "UNION": "union",
    "UNNEST": "unnest",
}
"""Kind of each DuckDB operator; any other has its own name in lower case."""


@dataclass(frozen=True, slots=True)
class OperatorFigures:
    """Figures of one operator over the inputs `relations`.

    `seconds` is the time of all threads, `size_bytes` the size of its output. `ordinal` counts operators of the same
    kind over the same relations, from the top.
    """

    kind: str
    relations: frozenset[str]
    ordinal: int
    rows: int
    size_bytes: int
    seconds: float


def spilled_bytes(text: str) -> int:
    """Return the bytes that a query wrote to temporary files, by its JSON profile."""
    profile = json.loads(text) if text else {}
    return int((profile.get("io") or {}).get("total_bytes_written", 0))


def read_figures(text: str, inputs: Iterable[StageInput]) -> list[OperatorFigures]:
    """Return the operators of a JSON profile, parents first, with the inputs that their scans read."""
    inputs = tuple(inputs)
    relations_of = _Relations(inputs)
    alone = _relations(inputs[0]) if len(inputs) == 1 else frozenset()
    found: list[tuple[str, frozenset[str], Mapping[str, Any]]] = []
    profile = json.loads(text) if text else {}
    for root in profile.get("operator") or profile.get("children") or ():
        _visit(root, relations_of, alone, found)
    counts: dict[tuple[str, frozenset[str]], int] = {}
    figures = []
    # Kernels report the rows that they read. DuckDB reads their groups.
    kernels = frozenset().union(*(_relations(spec) for spec in inputs if isinstance(spec, KernelColumns)))
    for kind, relations, node in found:
        if kind == SCAN and relations and relations <= kernels:
            continue
        key = (kind, relations)
        ordinal = 0 if kind == SCAN else counts.get(key, 0)
        counts[key] = ordinal + 1
        rows, size = int(node.get("intermediate_rows", 0)), int(node.get("intermediate_size_bytes", 0))
        figures.append(OperatorFigures(kind, relations, ordinal, rows, size, float(node.get("timing", 0.0))))
    return figures


def sum_figures(tasks: Iterable[Iterable[OperatorFigures]]) -> tuple[OperatorFigures, ...]:
    """Sum the figures of equal operators, in the order of their first occurrence."""
    sums: dict[tuple[str, frozenset[str], int], OperatorFigures] = {}
    for task in tasks:
        for one in task:
            key = (one.kind, one.relations, one.ordinal)
            if (so_far := sums.get(key)) is not None:
                one = OperatorFigures(
                    *key,
                    so_far.rows + one.rows,
                    so_far.size_bytes + one.size_bytes,
                    so_far.seconds + one.seconds,
                )
            sums[key] = one
    return tuple(sums.values())


class _Relations:
    """Inputs of a query; finds each scan's input by its column names.

    DuckDB reports Arrow columns with the query's names and file columns with the files' names, which inputs may share.
    Inputs that no scan has taken yet come first.
    """

    def __init__(self, inputs: Sequence[StageInput]) -> None:
        self._aliases = {alias: _relations(spec) for spec in inputs for alias in _aliases(spec)}
        self._files = {spec.relation: frozenset(spec.names) for spec in inputs if isinstance(spec, FileColumns)}
        self._taken: set[str] = set()

    def of_scan(self, node: Mapping[str, Any]) -> frozenset[str]:
        projections = (node.get("extra_info") or {}).get("Projections", ())
        names = frozenset([projections] if isinstance(projections, str) else projections)
        if _function(node) != _FILE_SCAN:
            return frozenset().union(*(self._aliases[name] for name in names if name in self._aliases))
        places = [relation for relation, stored in self._files.items() if names <= stored]
        places.sort(key=lambda relation: (relation in self._taken, len(self._files[relation])))
        self._taken.update(places[:1])
        return frozenset(places[:1])


def _relations(spec: StageInput) -> frozenset[str]:
    """Return the relations of which an input has rows."""
    blocks = spec.all_blocks if isinstance(spec, KernelColumns) else (spec,)
    return frozenset(one.relation for one in blocks)


def _aliases(spec: StageInput) -> Iterable[str]:
    if isinstance(spec, (BlockColumns, FileColumns, KernelColumns)):
        return spec.aliases
    return spec.schema.names


def _visit(
    node: Mapping[str, Any],
    inputs: _Relations,
    alone: frozenset[str],
    found: list[tuple[str, frozenset[str], Mapping[str, Any]]],
) -> frozenset[str]:
    """Add `node` and its descendants to `found`, parents first. Return the relations that it reads."""
    name = str(node.get("type", ""))
    place = len(found)
    below = [_visit(child, inputs, alone, found) for child in node.get("children") or ()]
    relations = frozenset().union(*below)
    if _reads_input(node):
        # A scan that names no column reads the only input.
        relations = inputs.of_scan(node) or alone
    if name not in ("", "RESULT_COLLECTOR", "EXPLAIN_ANALYZE"):
        found.insert(place, (KINDS.get(name, name.lower()), relations, node))
    return relations


def _reads_input(node: Mapping[str, Any]) -> bool:
    """True if an operator scans Arrow data or files, not constants."""
    function = _function(node)
    return KINDS.get(str(node.get("type"))) == SCAN and ("ARROW" in function or function == _FILE_SCAN)


def _function(node: Mapping[str, Any]) -> str:
    return str((node.get("extra_info") or {}).get("Function", node.get("type")))
