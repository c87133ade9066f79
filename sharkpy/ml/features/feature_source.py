"""Source of a FeatureRDD: the batches of its query's last stage, or the cached blocks of the memory store."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
import pyarrow as pa

from sharkpy.base.errors import InternalError
from sharkpy.columnar.block_cache import open_block
from sharkpy.columnar.handle import BlockHandle
from sharkpy.execution.stages.function_jobs import deal_blocks
from sharkpy.execution.tasks.matrix_blocks import matrix_of
from sharkpy.execution.tasks.sinks import PAYLOAD_BYTES, block_tables
from sharkpy.execution.workers.task_failure import ending_with_job
from sharkpy.ml.features.block_reader import BlockReader
from sharkpy.ml.features.feature_plan import FeaturePlan, feature_plan
from sharkpy.ml.features.stored_blocks import StoredBlocks, feature_layout
from sharkpy.ml.rdd.query_source import QuerySource
from sharkpy.physical.stage_program import MatrixLayout
from sharkpy.plan.logical import LogicalPlan
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.columnar.block import Block
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.ml.rdd.table_query import TableQuery

Pair = tuple[npt.NDArray[Any], npt.NDArray[Any] | None]
"""Features of shape (rows, features) and the label of shape (rows,), or None without a label."""


@dataclass(frozen=True, slots=True)
class KeptStage:
    """Stand-in for the last stage of a query: the frames of its tasks, and the blocks that they read."""

    frames: Any
    blocks: tuple[BlockHandle, ...]


@dataclass(frozen=True, slots=True)
class BoundPairs:
    """State of a source: `sequence` identifies it, `elements` is the function of its tasks."""

    sequence: int
    stage: Any
    elements: KeptPairs | QueryPairs


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
        pairs = KeptPairs(parts, blocks.read, engine.stop_dir)
        return BoundPairs(self._own_sequence, KeptStage(frames, blocks.handles), pairs)

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
        raise InternalError("features are read in tasks alone")

    def __reduce__(self) -> tuple[Any, ...]:
        elements = self.bound().elements
        return type(elements), tuple(getattr(elements, name) for name in elements.__dataclass_fields__)


@dataclass(frozen=True)
class KeptPairs:
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
