"""Features as blocks of the block store: a table's own or made by a query, mapped by all readers.

A table's own blocks are read without a copy if plan and statistics show that they have the required layout.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sharkpy.base import settings
from sharkpy.base.errors import BlocksReplacedError, CorruptionError, DataError
from sharkpy.base.records import dataclass
from sharkpy.columnar.block import Block
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.version import TableVersion
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.queries.write_query import write_blocks
from sharkpy.execution.stages.function_jobs import BlockPasses
from sharkpy.ml.features.block_reader import BlockReader, TableColumns, kernel_code, kernel_name, matrix_in, read_matrix
from sharkpy.ml.features.feature_blocks import Kernel
from sharkpy.ml.features.feature_plan import FeaturePlan, check_finite, column_means
from sharkpy.optimizer.decisions import place_stage
from sharkpy.physical.stage_program import BlockSink, MatrixLayout
from sharkpy.plan.expr import Alias, ColumnRef
from sharkpy.plan.logical import LogicalPlan, Project, Scan
from sharkpy.udf.user.python_code import python_code

if TYPE_CHECKING:
    from sharkpy.columnar.statistics_table import StatisticsTable
    from sharkpy.execution.tables.snapshot import QuerySnapshot
    from sharkpy.ml.features.feature_plan import FeaturePlan

_MOST_REMAKES = 3
"""Limit on the number of times that a pass recomputes all blocks."""


class StoredBlocks:
    """FeatureBlocks whose arrays are mapped from blocks of the store. All processes of a machine share the memory.

    1. The blocks are the table's own if these store the features contiguously. Else one query makes the blocks with
       this object, and they are freed with it.
    2. `run` is one RDD job, or threads of this process if the session allows it and the blocks are small and local.
    3. Blocks of a scan do not depend on the number of tasks that made them: they follow the order of the table's
       blocks.
    4. Only a lost or damaged block is recomputed, even in the middle of a pass. CorruptionError is raised if its
       sources have changed since.
    """

    def __init__(self, session: EngineSession, features: FeaturePlan, snapshot: QuerySnapshot | None = None) -> None:
        """Make or find the blocks over the current versions of the tables, or over `snapshot`.

        Raise DataError if a column has a missing or infinite value (the message names it), or if there are no rows.
        """
        self._session = session
        self._features = features
        self._lock = threading.Lock()
        with session.working(f"features of {features.plan.label}"):
            contents = session.table_cache.contents(features.plan)
            self._content = self._found(snapshot)
            self._contents = contents if snapshot is None or self._is_current(snapshot) else None

    @property
    def names(self) -> tuple[str, ...]:
        return self._features.names

    @property
    def label(self) -> str | None:
        return self._features.label

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self._features.dtype)

    @property
    def has_label(self) -> bool:
        return self._features.label is not None

    @property
    def num_rows(self) -> int:
        return sum(handle.num_rows for handle in self.handles)

    @property
    def size_bytes(self) -> int:
        """Bytes that a pass reads."""
        return self._size_bytes(self.handles)

    def _size_bytes(self, blocks: Sequence[BlockHandle]) -> int:
        return sum(block.num_rows for block in blocks) * (len(self.names) + self.has_label) * self.dtype.itemsize

    @property
    def handles(self) -> tuple[BlockHandle, ...]:
        """Handles of the blocks, by number."""
        return self._content.passes.handles

    @property
    def read(self) -> BlockReader:
        """Reader of a block's arrays."""
        return self._content.read

    @property
    def num_tasks(self) -> int:
        """Number of RDD tasks that passes have started so far."""
        return self._content.passes.num_tasks

    def run(self, kernel: Kernel, argument: Any = None) -> list[Any]:
        """Run one pass: [kernel(block, argument) for each block], in the order of blocks.

        If the kernel raises, raise ExecutionError that names the kernel and the block.
        """
        description = f"{kernel_name(kernel)} over features"
        with self._session.working(description):
            for attempt in count():
                content = self._content
                self._session.engine.store.touch(content.passes.handles)
                code = kernel_code(kernel, content.read)
                try:
                    return content.passes.run(code, argument, description, in_driver=self.is_in_driver)
                except BlocksReplacedError:
                    if attempt == _MOST_REMAKES:
                        raise
                    self.remake(content)
        raise AssertionError("a pass returns or raises")

    @property
    def is_in_driver(self) -> bool:
        """True if passes run in this process."""
        return self._is_for_driver(self.handles)

    def _is_for_driver(self, blocks: Sequence[BlockHandle]) -> bool:
        conf, engine = self._session.conf, self._session.engine
        limit, is_allowed = conf.value(settings.DRIVER_PLACEMENT_BYTES), conf.value(settings.DRIVER_PLACEMENT)
        size = self._size_bytes(blocks)
        return place_stage(size, engine.is_local, limit, is_allowed).is_driver

    def _is_current(self, snapshot: QuerySnapshot) -> bool:
        """True if the tables still have the versions of the snapshot."""
        now = self._session.snapshot()
        try:
            return all(now.is_state(table, state) for table, state in snapshot.states())
        finally:
            now.release()

    def mend(self) -> None:
        """Recompute missing blocks. Damaged blocks are noticed by their readers."""
        content = self._content
        lost = [handle for handle in content.passes.handles if not _is_there(handle)]
        if not lost:
            return
        try:
            self.repair(lost)
        except BlocksReplacedError:
            self.remake(content)

    def repair(self, lost: Iterable[BlockHandle]) -> None:
        """Recompute the lost or damaged blocks among `lost`."""
        self._session.table_cache.repair(lost)

    def _found(self, snapshot: QuerySnapshot | None = None) -> _Content:
        session, features = self._session, self._features
        if snapshot is None:
            snapshot = session.snapshot()
            try:
                return self._found(snapshot)
            finally:
                snapshot.release()
        in_table = self._in_table(snapshot)
        if in_table is not None:
            return in_table
        handles = stored_features(session, features, snapshot)
        store = session.engine.store
        store.adopt(handles)
        # The blocks are freed with the last of their handles.
        store.retire(handles)
        store.enforce_limit()
        return _Content(self._passes(handles), read_matrix, is_made=True)

    def _in_table(self, snapshot: QuerySnapshot) -> _Content | None:
        """Return the table's own blocks, if they are on this machine and store the features in the required layout."""
        found = table_columns(self._features, snapshot) if self._session.engine.is_local else None
        if found is None:
            return None
        handles, columns = found
        passes = self._passes(handles)
        code = python_code(are_adjacent.__name__, are_adjacent)
        try:
            is_so = passes.run(code, columns, "layout of features", in_driver=self._is_for_driver(handles))
        except BlocksReplacedError:
            return None
        return _Content(passes, columns, is_made=False) if all(is_so) else None

    def _passes(self, handles: tuple[BlockHandle, ...]) -> BlockPasses:
        return BlockPasses(self._session.engine, handles, self.repair, self._session.pool)

    def remake(self, content: _Content | None = None) -> None:
        """Recompute all blocks by another run of the query, if its rows now have another order, or its table was loaded
        again.

        Do nothing if `content` was already replaced. Raise CorruptionError if the rows are not the same.
        """
        with self._lock:
            if content is not None and self._content is not content:
                return
            fact = "lost, and what the features were made from was changed since"
            if self._session.table_cache.contents(self._features.plan) != self._contents:
                raise CorruptionError.of_block(self.handles[0].block_id, fact)
            if self._content.is_made and any(handle.checksum is None for handle in self.handles):
                fact = "lost, and the query that made it gives other rows each time"
                raise CorruptionError.of_block(self.handles[0].block_id, fact)
            self._content = self._found()


@dataclass(frozen=True, slots=True)
class _Content:
    """Current blocks, and their reader."""

    passes: BlockPasses
    read: BlockReader
    is_made: bool
    """True if a query made the blocks for the features."""


def _known_bytes(features: FeaturePlan, snapshot: QuerySnapshot) -> int:
    """Return the size of the blocks of all rows of a table in bytes, or 0 if it is unknown."""
    nodes = list(features.plan.walk())
    if not isinstance(nodes[-1], Scan) or not all(isinstance(node, (Project, Scan)) for node in nodes):
        return 0
    num_values = len(features.names) + (features.label is not None)
    return (snapshot.num_rows(nodes[-1].table) or 0) * num_values * np.dtype(features.dtype).itemsize


def _is_there(handle: BlockHandle) -> bool:
    paths = (handle.durable_path, "" if handle.host else handle.memory_path)
    return any(path and Path(path).exists() for path in paths)


def feature_layout(session: EngineSession, features: FeaturePlan, snapshot: QuerySnapshot) -> MatrixLayout:
    """Return the layout of blocks of features, with the means that replace missing values for na="mean"."""
    layout = MatrixLayout(features.dtype, features.label is not None, features.na == "drop")
    return replace(layout, fills=column_means(session, features, snapshot)) if features.na == "mean" else layout


def stored_features(session: EngineSession, features: FeaturePlan, snapshot: QuerySnapshot) -> tuple[BlockHandle, ...]:
    """Make blocks with one matrix each, which the store has not adopted yet."""
    try:
        layout = feature_layout(session, features, snapshot)
        sink = BlockSink(features.schema, features.block_rows, None, layout=layout)
        # Make room first: else the new blocks would go to disk, instead of blocks that were not used for long.
        session.engine.store.make_room(min(_known_bytes(features, snapshot), session.engine.store.memory_limit))
        handles = tuple(handle for handle, _ in write_blocks(session, features.plan, sink, snapshot))
    except DataError:
        # This error counts the wrong values of one block only.
        check_finite(session, features, snapshot)
        raise
    if not handles:
        left = "no row is left: each one has a missing value (NULL or NaN), or there are none"
        raise DataError(left if features.na == "drop" else "there are no rows to learn from")
    return handles


def table_columns(
    features: FeaturePlan, snapshot: QuerySnapshot
) -> tuple[tuple[BlockHandle, ...], TableColumns] | None:
    """Return the blocks of a cached table on this machine, if the features are its own columns and seem to have the
    required layout.

    No value is missing or infinite, so no policy for missing values is needed. `are_adjacent` checks the layout of
    each block.
    """
    found = _scanned(features.plan)
    if found is None:
        return None
    scan, names = found
    version = snapshot.scan_source(scan.table)
    if not isinstance(version, TableVersion) or not version.num_rows:
        return None
    label = names[len(features.names)] if features.label is not None else None
    names = names[: len(features.names)]
    width = np.dtype(features.dtype).itemsize
    if not all(not block.host and _is_plain(block, names, width) for block in version.blocks):
        return None
    columns = (*names, label) if label is not None else names
    if not all(_is_finite(version.statistics, name) for name in columns):
        return None
    return version.blocks, TableColumns(names, label, features.dtype)


def are_adjacent(number: int, block: Block, columns: TableColumns) -> bool:
    """True if the columns of a block are stored contiguously, in the order of their names."""
    del number
    return matrix_in(block, columns.names, np.dtype(columns.dtype)) is not None


def _scanned(plan: LogicalPlan) -> tuple[Scan, tuple[str, ...]] | None:
    """Return the scan of all rows of a table, and the table's column for each column of the plan. Return None for any
    other plan.
    """
    wanted = tuple(column.column_id for column in plan.output)
    while isinstance(plan, Project):
        behind = {item.column_id: item.expr if isinstance(item, Alias) else item for item in plan.items}
        sources = [behind[column] for column in wanted]
        wanted = tuple(source.column_id for source in sources if isinstance(source, ColumnRef))
        if len(wanted) < len(sources):
            return None
        plan = plan.child
    if not isinstance(plan, Scan) or plan.predicate is not None or plan.sample is not None or plan.is_of_files:
        return None
    names = dict(zip((column.column_id for column in plan.columns), plan.names, strict=True))
    return plan, tuple(names[column] for column in wanted)


def _is_plain(block: BlockHandle, names: Sequence[str], width: int) -> bool:
    """True if columns seem unencoded, judging by their size in bytes."""
    return all(block.column_bytes.get(name) == block.num_rows * width for name in names)


def _is_finite(statistics: StatisticsTable, name: str) -> bool:
    column = statistics.columns[name]
    if column.null_counts.any() or column.has_nan.any():
        return False
    ends = [answer.value for answer in (statistics.minimum(name), statistics.maximum(name)) if answer is not None]
    return len(ends) == 2 and all(math.isfinite(float(end)) for end in ends)  # type: ignore[arg-type]
