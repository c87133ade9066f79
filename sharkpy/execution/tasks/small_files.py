"""Small file inputs of a task, read as tables before its query begins, and a cache of their rows.

So DuckDB knows their number of rows before it orders joins, and its threads call no Python for them. The cache
serves files that are read repeatedly, such as a table joined in each epoch.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.records import dataclass
from sharkpy.execution.tasks.parquet_scan import is_read_by_duckdb
from sharkpy.physical.stage_program import FileColumns, StageProgram, StepColumns, TaskInput
from sharkpy.sources.malformed_rows import is_validated
from sharkpy.sources.open_files import check_unchanged
from sharkpy.sources.source import ReadMetrics, Split
from sharkpy.values.types import Schema, arrow_schema

if TYPE_CHECKING:
    from sharkpy.execution.tasks.inputs import TaskData, TaskMetrics

SMALL_BYTES = 256 << 10
"""Limit on the bytes of an input's splits. Parallel reading would not start sooner for so few."""
MOST_DECODED = 16 << 20
"""Limit on the bytes of a query's tables. A larger input, such as a compressed file, is streamed."""


def reads_streams(program: StageProgram, part: TaskInput) -> bool:
    """True if an input of the program is a stream, whose number of rows DuckDB does not know."""
    splits, small = dict(part.splits), {spec.relation for spec in _small_inputs(program, part)}
    return any(
        isinstance(spec, StepColumns)
        or (
            isinstance(spec, FileColumns)
            and spec.relation not in small
            and not is_read_by_duckdb(spec, splits.get(spec.relation, ()))
        )
        for spec in program.inputs
    )


def knows_rows(program: StageProgram, part: TaskInput) -> bool:
    """True if the planner knew the number of rows of all streams, which then come from files."""
    if any(isinstance(spec, StepColumns) for spec in program.inputs):
        return False
    return all(split.num_rows is not None for _, splits in part.splits for split in splits)


def small_tables(program: StageProgram, data: TaskData, metrics: TaskMetrics) -> dict[str, pa.Table]:
    """Return the rows of the program's small file inputs, by relation.

    Scans of the same splits read them once, with all columns that any of them needs, and count them once.
    """
    splits_of = dict(data.part.splits)
    alike: dict[tuple[tuple[Split, ...], Schema], list[FileColumns]] = {}
    for spec in _small_inputs(program, data.part):
        alike.setdefault((splits_of.get(spec.relation, ()), spec.schema), []).append(spec)
    found: dict[str, pa.Table] = {}
    left = MOST_DECODED
    for (splits, schema), specs in alike.items():
        wanted = {name for spec in specs for name in spec.names}
        names = tuple(name for name in schema.names if name in wanted)
        counted = ReadMetrics()
        table = _read(splits, schema, names, counted, left)
        if table is None:
            continue
        left -= table.get_total_buffer_size()
        metrics.read.merge(counted)
        for spec in specs:
            metrics.rows_in += table.num_rows
            found[spec.relation] = _columns(table, spec)
    return found


def _small_inputs(program: StageProgram, part: TaskInput) -> list[FileColumns]:
    """Return the small file inputs that are read as tables: inputs of epochs, joins and the like.

    A query over one file input may end before it has read all of it, so it gets a stream.
    """
    splits_of, found = dict(part.splits), list[FileColumns]()
    for spec in program.inputs:
        if not isinstance(spec, FileColumns) or spec.sample is not None:
            continue
        splits = splits_of.get(spec.relation, ())
        is_read = len(program.inputs) > 1 or any(map(is_validated, splits))
        if is_read and _are_small(splits) and not is_read_by_duckdb(spec, splits):
            found.append(spec)
    return found


def _are_small(splits: Sequence[Split]) -> bool:
    """True if the splits have few bytes, or their files if splits are row groups or offsets."""
    from sharkpy.sources.formats import source

    size = 0
    for split in splits:
        size += split.length if source(split.format).splits_lines(split.properties) else split.file_bytes
        if size > SMALL_BYTES:
            return False
    return True


def _read(
    splits: Sequence[Split], schema: Schema, names: tuple[str, ...], counted: ReadMetrics, most: int
) -> pa.Table | None:
    """Return the rows of splits in order, or None if they exceed `most` bytes."""
    batches, size = list[pa.RecordBatch](), 0
    for split in splits:
        rows = split_cache.find(split, schema, names) or _rows_of(split, schema, names, most - size)
        if rows is None:
            return None
        size += rows.size_bytes
        if size > most:
            return None
        counted.merge(rows.metrics)
        batches += rows.batches
    table = pa.Table.from_batches(batches, schema=_arrow(schema, names))
    return table.combine_chunks() if len(batches) > 1 else table


def _rows_of(split: Split, schema: Schema, names: tuple[str, ...], most: int) -> SplitRows | None:
    """Return the rows of a split, or None if they exceed `most` bytes."""
    from sharkpy.sources.split_rows import read_split

    arrow, metrics = _arrow(schema, names), ReadMetrics()
    batches, size = list[pa.RecordBatch](), 0
    for batch in read_split(split, schema, names, metrics):
        check_cancelled()
        # DuckDB sees no rows in a table without columns.
        arrays = batch.columns or [pa.repeat(pa.scalar(True), batch.num_rows)]
        batches.append(pa.RecordBatch.from_arrays(arrays, schema=arrow))
        size += batches[-1].get_total_buffer_size()
        if size > most:
            return None
    rows = SplitRows(tuple(batches), metrics, size)
    if not is_validated(split):
        # An epoch's files are read once.
        split_cache.keep(split, schema, names, rows)
    return rows


def _arrow(schema: Schema, names: Sequence[str]) -> pa.Schema:
    return arrow_schema(schema.select(names)) if names else pa.schema([("_", pa.bool_())])


def _columns(table: pa.Table, spec: FileColumns) -> pa.Table:
    """Return the columns of an input under its aliases."""
    if not spec.names:
        return pa.table({"_": pa.repeat(pa.scalar(True), table.num_rows)})
    return table.select(list(spec.names)).rename_columns(list(spec.aliases))


MOST_CACHED_BYTES = 16 << 20
CACHED_SECONDS = 10.0
"""Seconds since the last use after which the next access removes the rows."""
_CLOCK_NS = 100_000_000
"""Two changes of a file within this time may have the same timestamp."""
_Key = tuple[Split, Schema, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class SplitRows:
    """Some columns of a split's rows, the figures of reading them, and their bytes."""

    batches: tuple[pa.RecordBatch, ...]
    metrics: ReadMetrics
    size_bytes: int


class SplitCache:
    """Cache of rows by split, which has its file's path, size and time. Thread-safe.

    1. Rows are returned only for an unchanged file. If the file is gone or has changed, SourceError is raised, as by a
       reader.
    2. Files written very recently are not cached: another write may leave size and time unchanged.
    """

    def __init__(self, most_bytes: int = MOST_CACHED_BYTES, seconds: float = CACHED_SECONDS) -> None:
        """Cache at most `most_bytes`, and each split's rows until `seconds` after their last use."""
        self._most_bytes = most_bytes
        self._seconds = seconds
        self._lock = threading.Lock()
        self._known: OrderedDict[_Key, tuple[SplitRows, float]] = OrderedDict()
        """Rows with the time of their last use, least recently used first."""
        self._size = 0

    @property
    def size_bytes(self) -> int:
        return self._size

    def find(self, split: Split, schema: Schema, names: tuple[str, ...]) -> SplitRows | None:
        key = split, schema, names
        with self._lock:
            self._forget_old()
            if key not in self._known:
                return None
            rows, _ = self._known.pop(key)
            self._known[key] = rows, time.monotonic()
        check_unchanged(split)
        return rows

    def keep(self, split: Split, schema: Schema, names: tuple[str, ...], rows: SplitRows) -> None:
        """Cache the rows of a split of a file, unless they are large or the file is very recent."""
        is_file = split.modified_ns > 0
        if not is_file or time.time_ns() - split.modified_ns < _CLOCK_NS or rows.size_bytes > self._most_bytes // 2:
            return
        key = split, schema, names
        with self._lock:
            self._forget_old()
            if key not in self._known:
                self._known[key] = rows, time.monotonic()
                self._size += rows.size_bytes
            while self._size > self._most_bytes:
                self._forget_first()

    def clear(self) -> None:
        with self._lock:
            self._known.clear()
            self._size = 0

    def _forget_old(self) -> None:
        while self._known and time.monotonic() - next(iter(self._known.values()))[1] > self._seconds:
            self._forget_first()

    def _forget_first(self) -> None:
        _, (rows, _) = self._known.popitem(last=False)
        self._size -= rows.size_bytes


split_cache = SplitCache()
"""Cache of this process."""
