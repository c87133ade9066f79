"""Last stage of a query as the source of RDDs: prepared when Spark first needs it, and shared by all of them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sharkpy.base.cleanup import finalize_in_thread
from sharkpy.base.errors import InternalError
from sharkpy.base.records import dataclass
from sharkpy.execution.queries.plan_query import plan_query
from sharkpy.execution.queries.run_plan import new_runner
from sharkpy.execution.restrictions import SCRIPT
from sharkpy.execution.stages.prepared_stage import PreparedStage
from sharkpy.ml.rdd.key_hash import KeyHash
from sharkpy.ml.rdd.table_query import TableQuery, plan_in_buckets
from sharkpy.optimizer.decisions import Place
from sharkpy.physical.operators import BlockScan
from sharkpy.physical.placement import PlacedPlan
from sharkpy.physical.plan_step import runs_scripts
from sharkpy.plan.logical import LogicalPlan

if TYPE_CHECKING:
    from sharkpy.columnar.handle import BlockHandle
    from sharkpy.execution.engine_session import EngineSession


@dataclass(frozen=True, slots=True)
class PlannedStages:
    """Physical plan for a state of its query, to be run under the settings of `session`."""

    sequence: int
    physical: PlacedPlan
    session: EngineSession
    key_hash: KeyHash | None
    """Function from a key to its task if the buckets of tables keep rows with equal keys together; else None."""


@dataclass(frozen=True, slots=True)
class BoundStage:
    """Prepared stage for a state of its query."""

    sequence: int
    stage: PreparedStage


class QuerySource:
    """Source of the rows of a query; in a task, a function from a partition's number and its frames to batches.

    1. `bound` runs the query's map stages, at most once for each state of the query. Their output lives as long as the
       source.
    2. Pickled for a task, it is only the stage's own code.
    3. With `keys`, positions of the query's columns, rows with equal keys stay in one task if the buckets of tables put
       them there: `key_hash` finds the task. No row is moved for it.
    """

    def __init__(self, query: TableQuery, keys: tuple[int, ...] = ()) -> None:
        self.query = query
        self.keys = keys
        self._lock = threading.RLock()
        self._planned: PlannedStages | None = None
        self._bound: BoundStage | None = None

    @property
    def session(self) -> EngineSession:
        return self.query.session

    def __call__(self, partition: int, frames: Iterable[bytes]) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        raise InternalError("the rows of a query can only be read in tasks")

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self.bound().stage.task, "batches")

    @property
    def key_hash(self) -> KeyHash | None:
        return self.planned().key_hash if self.keys else None

    @property
    def sequence(self) -> int:
        """Number of the query's state. It grows when another stage has to be prepared."""
        return self.bound().sequence

    @property
    def blocks(self) -> tuple[BlockHandle, ...]:
        """Blocks that the tasks of the query read, map stages included."""
        scans = (node for node in self.planned().physical.root.walk() if isinstance(node, BlockScan))
        return tuple(block for scan in scans for block in scan.blocks.blocks)

    def planned(self) -> PlannedStages:
        with self._lock, self.session.working():
            plan = self.query.ready_plan()
            if self._planned is None or self._planned.sequence != self.query.sequence:
                self._planned = self._plan(plan)
            return self._planned

    def bound(self) -> BoundStage:
        with self._lock, self.session.working():
            planned = self.planned()
            if self._bound is None or self._bound.sequence != planned.sequence:
                self._bound = self._bind(planned)
            return self._bound

    def _plan(self, plan: LogicalPlan) -> PlannedStages:
        session, sequence, snapshot = self.session, self.query.sequence, self.query.snapshot
        columns = [plan.output[place] for place in self.keys]
        if columns and (found := plan_in_buckets(session, plan, columns, snapshot)) is not None:
            return PlannedStages(sequence, found[1], found[0], found[2])
        return PlannedStages(sequence, plan_query(session, plan, snapshot, Place.RDD), session, None)

    def _bind(self, planned: PlannedStages) -> BoundStage:
        if runs_scripts(planned.physical.root):
            self.session.restrictions.check_code(SCRIPT)
        runner = new_runner(planned.session, planned.physical, self.query.plan.label)
        buckets = planned.key_hash.num_buckets if planned.key_hash is not None else None
        try:
            stage = runner.prepared(buckets)
        except BaseException:
            runner.stages.close()
            raise
        finalize_in_thread(self, runner.stages.close)
        return BoundStage(planned.sequence, stage)
