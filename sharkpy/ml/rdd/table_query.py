"""Query of a TableRDD: its plan, its snapshot of the tables, and its cached rows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from sharkpy.base.cleanup import finalize_in_thread
from sharkpy.ml.rdd.kept_rows import keep_rows
from sharkpy.plan.logical import LogicalPlan

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
            self._kept, self._free = keep_rows(self.session, plan, self.snapshot)
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
