"""Query of a TableRDD: its plan, its snapshot of the tables, its cached rows, and its buckets.

Cached rows are blocks of the memory store, under a table that is in no catalog. Rows with equal keys stay together if
the buckets of tables put them there.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import cloudpickle
import pyarrow as pa

from sharkpy.base import settings
from sharkpy.base.cleanup import finalize_in_thread
from sharkpy.base.errors import ParameterError
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.model import BucketSpec, Table, TableKind
from sharkpy.execution.commands.storage import stored_query, stored_schema
from sharkpy.execution.queries.plan_query import plan_query
from sharkpy.execution.queries.write_query import bucketed_query, write_blocks
from sharkpy.execution.tasks.buckets import bucketing
from sharkpy.ml.rdd.checked_batches import CheckedBatches
from sharkpy.ml.rdd.key_hash import KeyHash
from sharkpy.ml.tables.declared_columns import declared_columns
from sharkpy.optimizer.decisions import Place
from sharkpy.physical.operators import Exchange, HashJoin, Project
from sharkpy.physical.operators.scans import bucketed_scan
from sharkpy.physical.placement import PlacedPlan
from sharkpy.physical.plan import BroadcastPartitioning, Hashed, PhysicalPlan
from sharkpy.physical.plan_context import FreshIds
from sharkpy.physical.stage_program import BlockSink
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import Distribute, JoinKind, LogicalPlan, Scan, Step
from sharkpy.plan.row_steps import BatchStep
from sharkpy.values.types import Field, Schema, to_arrow

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.execution.tables.snapshot import QuerySnapshot

Change = Callable[[LogicalPlan], LogicalPlan]


class TableQuery:
    """Query of a TableRDD.

    1. `plan` is the query, or the scan of its cached rows once they are computed.
    2. The snapshot of the tables is taken when the query is first needed. Each run gives the same rows, except for
       functions with new values each time (`rand()`).
    3. `sequence` grows with each change of the plan: prepared stages are then outdated.
    """

    def __init__(self, session: EngineSession, plan: LogicalPlan, parent: TableQuery | None = None) -> None:
        """Create the query of a plan; `parent` is the query that `plan` was made of (see `changed`)."""
        self.session = session
        self.lock = threading.RLock()
        self._plan = plan
        self._parent = parent
        self._change: Change = _same
        self._below = plan if parent is None else parent.plan
        self._own_sequence = 0
        self._snapshot: QuerySnapshot | None = None
        self._keeps = False
        self._kept: LogicalPlan | None = None
        self._free: Callable[[], object] = _nothing
        self._forget_end: Callable[[], object] = _nothing

    def changed(self, change: Change) -> TableQuery:
        """Return the query that `change` makes of this one's plan, over the same snapshot."""
        below = self.plan
        query = TableQuery(self.session, change(below), self)
        query._below = below
        query._change = change
        return query

    @property
    def plan(self) -> LogicalPlan:
        """Return the current plan, without computing anything."""
        if self._kept is not None:
            return self._kept
        return self._plan if self._parent is None else self._over(self._parent.plan)

    def _over(self, below: LogicalPlan) -> LogicalPlan:
        """Query over the parent's current plan."""
        with self.lock:
            if below is not self._below:
                self._below, self._plan = below, self._change(below)
            return self._plan

    def ready_plan(self) -> LogicalPlan:
        """Compute the rows that are to be cached, then return the plan."""
        with self.lock:
            if self._kept is not None:
                return self._kept
            plan = self._plan if self._parent is None else self._over(self._parent.ready_plan())
            if not self._keeps:
                return plan
            self._kept, self._free = cache_rows(self.session, plan, self.snapshot)
            self._forget_end = finalize_in_thread(self, self._free)
            self._own_sequence += 1
            return self._kept

    @property
    def sequence(self) -> int:
        return self._own_sequence + (self._parent.sequence if self._parent is not None else 0)

    @property
    def snapshot(self) -> QuerySnapshot:
        if self._parent is not None:
            return self._parent.snapshot
        with self.lock:
            if self._snapshot is None:
                self._snapshot = self.session.snapshot()
            return self._snapshot

    @property
    def keeps(self) -> bool:
        """True if rows are cached, or are to be."""
        return self._keeps

    def keep(self) -> None:
        self._keeps = True

    def release(self) -> None:
        """Free the cached rows."""
        with self.lock:
            self._keeps = False
            if self._kept is not None:
                self._kept = None
                self._own_sequence += 1
                self._forget_end()
                self._free()

    def renew(self) -> None:
        """Read the current versions of the tables from now on, after lost blocks had to be replaced."""
        if self._parent is not None:
            self._parent.renew()
            return
        with self.lock:
            if self._snapshot is not None:
                self._snapshot.release()
            self._snapshot = None
            self._own_sequence += 1


def _nothing() -> None:
    """Do nothing: no rows are cached."""


def _same(plan: LogicalPlan) -> LogicalPlan:
    return plan


_table_numbers = itertools.count(1)


def cache_rows(
    session: EngineSession, plan: LogicalPlan, snapshot: QuerySnapshot
) -> tuple[LogicalPlan, Callable[[], None]]:
    """Run `plan` into blocks. Return the scan of the blocks, with the same columns, and the function that frees them.

    Lost blocks are recomputed by the tasks that made them. If the query keeps its rows in the buckets of a table, the
    blocks have the same buckets. Raise UnsupportedError for types that cannot be stored.
    """
    # Names of a query's columns may be equal.
    named = Schema(tuple(Field(f"c{place}", column.dtype) for place, column in enumerate(plan.output)))
    schema = stored_schema(named)
    buckets = _buckets(session, plan, snapshot)
    table = Table(new_table_id(), "rdd", f"rows_{next(_table_numbers)}", TableKind.TEMPORARY, schema, buckets=buckets)
    query = bucketed_query(stored_query(plan, schema), schema, buckets)
    sink = BlockSink(schema, session.conf.value(settings.BLOCK_ROWS), None, bucketing(buckets, schema))
    blocks = write_blocks(session, query, sink, snapshot)
    session.table_cache.put(table, blocks)
    columns = tuple(
        ColumnRef(column.column_id, column.name, field.dtype) for column, field in zip(plan.output, schema, strict=True)
    )
    return Scan(table, columns, schema.names), partial(session.table_cache.forget, table)


def _buckets(session: EngineSession, plan: LogicalPlan, snapshot: QuerySnapshot) -> BucketSpec | None:
    """Return the buckets of a source table, if the query keeps its rows in them and has the bucket columns."""
    places = {column.column_id: place for place, column in reversed([*enumerate(plan.output)])}
    for scan in plan.walk():
        if not isinstance(scan, Scan) or scan.table.buckets is None:
            continue
        ids = dict(zip(scan.names, (column.column_id for column in scan.columns), strict=True))
        found = [places.get(ids.get(name, -1)) for name in scan.table.buckets.columns]
        known = [place for place in found if place is not None]
        if len(known) < len(found):
            continue
        planned = plan_in_buckets(session, plan, [plan.output[place] for place in known], snapshot)
        if planned is not None and planned[2].num_buckets == scan.table.buckets.num_buckets:
            return BucketSpec(tuple(f"c{place}" for place in known), planned[2].num_buckets)
    return None


def plan_in_buckets(
    session: EngineSession, plan: LogicalPlan, keys: Sequence[ColumnRef], snapshot: QuerySnapshot
) -> tuple[EngineSession, PlacedPlan, KeyHash] | None:
    """Return a plan with rows of equal `keys`, columns of `plan`, in one bucket, with the session for its settings; see
    `in_buckets`.
    """
    # A scan by a single task, which would avoid exchanges, has no buckets.
    apart = session.with_settings({settings.SINGLE_TASK_BYTES.key: "0"})
    physical = plan_query(apart, Distribute(plan, tuple(keys)), snapshot, Place.RDD)
    found = in_buckets(physical.root, keys)
    return None if found is None else (apart, physical.with_root(found[0]), found[1])


def in_buckets(physical: PhysicalPlan, keys: Sequence[ColumnRef]) -> tuple[PhysicalPlan, KeyHash] | None:
    """Return a plan of the same rows with all rows of equal `keys` in one bucket, and the function of the buckets.

    `physical` is planned to bring such rows together. Return None if it moves rows for that.
    """
    # An exchange of rows that are already in buckets by an equal column is not needed.
    plan = physical.child if isinstance(physical, Exchange) else physical
    moves = (node for node in plan.walk() if isinstance(node, Exchange))
    if any(not isinstance(move.partitioning, BroadcastPartitioning) for move in moves):
        return None
    below = plan
    while isinstance(below, Project) and not isinstance(below.distribution, Hashed):
        below = below.child
    distribution, scan = below.distribution, bucketed_scan(below)
    if not isinstance(distribution, Hashed) or scan is None or plan.output != physical.output:
        return None
    equal = _equal_columns(plan)
    names = [equal.get(key.column_id, frozenset((key.column_id,))) for key in keys]
    places = [next((place for place, ids in enumerate(names) if one in ids), None) for one in distribution.keys]
    if None in places or scan.buckets is None:
        return None
    types = tuple(key.dtype for key in scan.buckets.keys)
    known = tuple(place for place in places if place is not None)
    return plan, KeyHash(types, known if len(keys) > 1 else None, distribution.num_buckets)


def _equal_columns(plan: PhysicalPlan) -> dict[int, frozenset[int]]:
    """Return the columns that inner joins have made equal to a column, by its id."""
    equal: dict[int, frozenset[int]] = {}
    for node in plan.walk():
        if isinstance(node, HashJoin) and node.kind is JoinKind.INNER:
            for left, right in zip(node.left_keys, node.right_keys, strict=True):
                if isinstance(left, ColumnRef) and isinstance(right, ColumnRef):
                    ids = [left.column_id, right.column_id]
                    united = frozenset(ids).union(*(equal.get(one, frozenset()) for one in ids))
                    equal.update(dict.fromkeys(united, united))
    return equal


def mapped_plan(f: Callable[[pa.RecordBatch], Any], schema: object) -> Change:
    """Return the change from a plan to the plan of f's rows. Raise ParameterError if `schema` names no types, or f
    cannot be sent.
    """
    declared = declared_columns(schema)
    if declared is None or declared.schema is None:
        raise ParameterError("map_batches takes a schema with types", hint='such as "id bigint, score double"')
    made, name = declared.schema, getattr(f, "__qualname__", type(f).__name__)
    return partial(_over, f, name, made)


def _over(f: Callable[[pa.RecordBatch], Any], name: str, made: Schema, plan: LogicalPlan) -> LogicalPlan:
    given = pa.schema([(column.name, to_arrow(column.dtype)) for column in plan.output])
    try:
        pickled = cloudpickle.dumps(CheckedBatches(f, name, given, made))
    except Exception as error:  # noqa: BLE001 - whatever the function refers to
        raise ParameterError(f'the function "{name}" cannot be sent to tasks: {error}') from None
    ids = FreshIds(plan)
    columns = tuple(ids.column(field.name, field.dtype) for field in made)
    return Step(plan, BatchStep(name.replace("<locals>.", ""), pickled), plan.output, columns)
