"""FeatureRDD: the rows of a query as NumPy blocks, from its last stage or from cached blocks of the memory store."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import StorageLevel

from sharkpy.base.errors import InternalError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.columnar.block_cache import open_block
from sharkpy.columnar.handle import BlockHandle
from sharkpy.execution.stages.function_jobs import deal_blocks
from sharkpy.execution.tasks.matrix_blocks import matrix_of
from sharkpy.execution.tasks.sinks import PAYLOAD_BYTES, block_tables
from sharkpy.execution.workers.task_failure import ending_with_job
from sharkpy.ml.features.block_reader import BlockReader
from sharkpy.ml.features.feature_plan import FeaturePlan, feature_plan
from sharkpy.ml.features.stored_blocks import StoredBlocks, feature_layout
from sharkpy.ml.rdd.query_rdd import FusedRDD, SourceBase
from sharkpy.ml.rdd.query_source import QuerySource
from sharkpy.physical.stage_program import MatrixLayout
from sharkpy.plan.logical import LogicalPlan
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.columnar.block import Block
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.ml.features.feature_blocks import FeatureBlocks
    from sharkpy.ml.rdd.table_query import TableQuery
    from sharkpy.ml.rdd.table_rdd import TableRDD


class FeatureRDD(FusedRDD):
    """RDD of pairs (X, y), a pair a block of rows.

    1. X has the shape (rows, features) and contiguous columns; y has the shape (rows,) and the type of X, or is None
    without a label.
    2. Columns and types are checked when it is made; nothing runs before the first action. Missing values are found
       while blocks are made.
    3. Each action computes the blocks again, in the tasks that read them, without a row in between. `cache` keeps
       them in the memory store: tasks map them, and read only arrays.
    """

    def __init__(self, source: FeatureSource, feature_names: tuple[str, ...], label: str | None, dtype: str) -> None:
        self._begin(source.session, (source,))  # type: ignore[arg-type]
        self._source = source
        self.feature_names = feature_names
        """Names of the columns of X, in order."""
        self.label = label
        self.dtype = np.dtype(dtype)
        self.func = source
        self.base = SourceBase(source)  # type: ignore[arg-type]
        self.preservesPartitioning = False
        self.is_barrier = False
        self._follow(lambda: None)

    @classmethod
    def of(cls, table: TableRDD, columns: Sequence[str] | None, label: str | None, dtype: str, na: str) -> FeatureRDD:
        """FeatureRDD of columns of a TableRDD (None: all numeric and boolean ones but the label); see FeaturePlan for
        errors.
        """
        found = feature_plan(table.plan, columns, label, dtype, na)
        source = FeatureSource(table._query, found.names, found.label, found.dtype, na)
        return cls(source, found.names, found.label, found.dtype)

    def __repr__(self) -> str:
        label = f" label {self.label}" if self.label else ""
        cached = " (cached)" if self._source.keeps else ""
        return f"<FeatureRDD {', '.join(self.feature_names)}{label} {self.dtype}{cached}>"

    @property
    def num_rows(self) -> int:
        """Return the number of rows of all blocks. Compute the blocks unless they are cached."""
        if self._source.keeps:
            return self._source.stored().num_rows
        return int(self.map(_num_rows).sum())

    def blocks(self) -> FeatureBlocks:
        """Return the blocks as algorithms read them: the cached ones, else new ones that are freed with their last
        user.
        """
        return self._source.stored()

    def cache(self) -> FeatureRDD:
        """Cache the blocks in the memory store, from the first action on. Spark's cache is not used.

        Lost blocks are recomputed, one by one. `unpersist`, or the end of the RDD, frees them.
        """
        self._source.keep()
        self.is_cached = True
        return self

    def persist(self, storageLevel: StorageLevel = StorageLevel.MEMORY_ONLY) -> FeatureRDD:
        """Cache the blocks, as `cache` does: the memory store moves blocks that do not fit to disk."""
        if storageLevel == StorageLevel.NONE:
            raise UnsupportedError("persist with the storage level NONE", hint="call unpersist")
        self._level = storageLevel
        return self.cache()

    def unpersist(self, blocking: bool = False) -> FeatureRDD:  # noqa: ARG002 - pyspark's
        """Free the cached blocks; the next action computes them again."""
        self._source.release()
        self.is_cached, self._level = False, None
        return self

    def _is_pipelinable(self) -> bool:
        """True: functions are fused with the reading of cached blocks too."""
        return not (self.is_checkpointed or self.has_resource_profile)

    def _persisted(self, jrdd: Any) -> Any:
        return jrdd


def _num_rows(pair: Pair) -> int:
    return len(pair[0])


Pair = tuple[npt.NDArray[Any], npt.NDArray[Any] | None]
"""Features of shape (rows, features) and the label of shape (rows,), or None without a label."""


@dataclass(frozen=True, slots=True)
class CachedStage:
    """Stand-in for the last stage of a query: the frames of its tasks, and the blocks that they read."""

    frames: Any
    blocks: tuple[BlockHandle, ...]


@dataclass(frozen=True, slots=True)
class BoundPairs:
    """State of a source: `sequence` identifies it, `elements` is the function of its tasks."""

    sequence: int
    stage: Any
    elements: CachedPairs | QueryPairs


class FeatureSource:
    """Source of (X, y) pairs, in tasks and for actions.

    1. In a task it is the function from a partition's number and its frames to (X, y) pairs.
    2. For actions it is a QuerySource: `session`, `sequence`, `bound`, `blocks`, `query`.
    """

    key_hash = None

    def __init__(self, rows: TableQuery, names: tuple[str, ...], label: str | None, dtype: str, na: str) -> None:
        """Create the source of columns of `rows`, already checked."""
        self._rows = rows
        self._choice = (names, label, dtype, na)
        self._stage = QuerySource(rows.changed(lambda plan: self.features(plan).plan))
        self._lock = threading.RLock()
        self._keeps = False
        self._kept: StoredBlocks | None = None
        self._own_sequence = 0
        self._bound: BoundPairs | None = None

    @property
    def session(self) -> EngineSession:
        return self._rows.session

    @property
    def query(self) -> FeatureSource:
        """Query whose `renew` is called if blocks could not be recomputed one by one."""
        return self

    def features(self, plan: LogicalPlan) -> FeaturePlan:
        return feature_plan(plan, *self._choice)

    @property
    def keeps(self) -> bool:
        return self._keeps

    def keep(self) -> None:
        with self._lock:
            if not self._keeps:
                self._keeps = True
                self._own_sequence += 1

    def release(self) -> None:
        with self._lock:
            if self._keeps:
                self._keeps, self._kept, self._bound = False, None, None
                self._own_sequence += 1

    @property
    def blocks(self) -> tuple[BlockHandle, ...]:
        """Blocks that the tasks read."""
        kept = self._kept
        return kept.handles if kept is not None else self._stage.blocks

    def stored(self) -> StoredBlocks:
        """Return the cached blocks, else new ones that are freed with their user."""
        with self._lock, self.session.working():
            if self._kept is not None:
                return self._kept
            features = self.features(self._rows.ready_plan())
            made = StoredBlocks(self.session, features, self._rows.snapshot)
            if self._keeps:
                self._kept = made
            return made

    @property
    def sequence(self) -> int:
        return self.bound().sequence

    def bound(self) -> BoundPairs:
        with self._lock, self.session.working():
            made = self._bound
            if self._keeps:
                blocks = self.stored()
                # Mend the blocks now: an action whose tasks found the loss would have to run again.
                blocks.mend()
                if made is None or made.sequence != self._own_sequence or made.stage.blocks != blocks.handles:
                    self._own_sequence += 1
                    self._bound = self._of_blocks(blocks)
            else:
                stage = self._stage.bound()
                if made is None or made.stage is not stage.stage:
                    self._own_sequence += 1
                    self._bound = self._of_stage(stage.stage)
            assert self._bound is not None
            return self._bound

    def _of_blocks(self, blocks: StoredBlocks) -> BoundPairs:
        engine = self.session.engine
        jobs = engine.jobs
        parts = tuple(deal_blocks(tuple(enumerate(blocks.handles)), engine.parallelism))
        hosts = tuple(part[0][1].host for part in parts)
        frames = jobs.placed_slots(hosts) if any(hosts) else jobs.slots(len(parts))
        pairs = CachedPairs(parts, blocks.read, engine.stop_dir)
        return BoundPairs(self._own_sequence, CachedStage(frames, blocks.handles), pairs)

    def _of_stage(self, stage: Any) -> BoundPairs:
        features = self.features(self._rows.ready_plan())
        layout = feature_layout(self.session, features, self._rows.snapshot)
        elements = QueryPairs(self._stage, features.schema, layout, features.block_rows)
        return BoundPairs(self._own_sequence, stage, elements)

    def renew(self) -> None:
        """Recompute all cached blocks, or move the query to the current versions of the tables."""
        with self._lock:
            if self._kept is not None:
                self._kept.remake()
            else:
                self._stage.query.renew()

    def __call__(self, partition: int, frames: Iterable[bytes]) -> Iterator[Pair]:
        del partition, frames
        raise InternalError("features can only be read in tasks")

    def __reduce__(self) -> tuple[Any, ...]:
        elements = self.bound().elements
        return type(elements), tuple(getattr(elements, name) for name in elements.__dataclass_fields__)


@dataclass(frozen=True)
class CachedPairs:
    """Function of a task: the arrays of its mapped blocks."""

    parts: tuple[tuple[tuple[int, BlockHandle], ...], ...]
    read: BlockReader
    stop_dir: str
    """Folder in which a file ends the tasks of a job; see `stop_file`."""

    def __call__(self, partition: int, frames: Iterable[bytes]) -> Iterator[Pair]:
        for _ in frames:
            """Read the input to its end: else Spark would not reuse the worker."""
        with ending_with_job(self.stop_dir):
            for number, handle in self.parts[partition]:
                block: Block = open_block(handle)
                found = self.read(number, block)
                yield found.X, found.y


@dataclass(frozen=True)
class QueryPairs:
    """Function of a task: its rows as blocks of arrays, which are freed with their reader."""

    batches: Any
    """Function from the partition's number and its frames to Arrow batches."""
    schema: Schema
    layout: MatrixLayout
    block_rows: int

    def __call__(self, partition: int, frames: Iterable[bytes]) -> Iterator[Pair]:
        batches: Iterator[pa.RecordBatch] = self.batches(partition, frames)
        for table in block_tables(batches, self.schema, self.block_rows, PAYLOAD_BYTES):
            matrix, labels = matrix_of(table, self.layout)
            if len(matrix):
                yield matrix, labels
