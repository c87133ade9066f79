"""Folding of a continuous query's state: rows that many epochs added become few rows with the same meaning.

Folds run in the background while epochs go on, since epochs only add to a state.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sharkpy.base.errors import SharkError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import COMPACTION
from sharkpy.catalog.model import Table
from sharkpy.execution.queries.plan_cache import CatalogLookups
from sharkpy.execution.queries.write_query import write_files
from sharkpy.physical.stage_program import FileSink
from sharkpy.sql.binder import bind_state_folds
from sharkpy.sql.context import StatementClock

if TYPE_CHECKING:
    from collections.abc import Hashable

    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.continuous_query import ContinuousQuery
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.execution.tables.file_folding import FoldedRun
    from sharkpy.plan.logical import LogicalPlan
    from sharkpy.streaming.scheduled_queries import OwnSession


_MOST_BYTES = 1 << 62


@dataclass(frozen=True, slots=True)
class _BoundFold:
    """Bound fold of a state. It is valid for any files of `part`."""

    key: Hashable
    """The query's text, and the current database and settings under which it was bound."""
    state: Table
    part: Table
    plans: tuple[LogicalPlan, ...]
    """One plan for each file."""
    lookups: CatalogLookups

    def holds(self, key: Hashable, state: Table, catalog: Catalog) -> bool:
        return self.key == key and self.state is state and self.lookups.is_current(catalog)


class BoundFoldCache:
    """Cache of the bound folds of a query's state, each valid until something that it depends on changes.

    The optimised plans of a fold are cached as long as its bound form.
    """

    def __init__(self) -> None:
        self._known: dict[bool, _BoundFold] = {}
        """Bound folds by `is_first`: True if no rows precede the folded rows."""

    def of(self, query: ContinuousQuery, state: Table, session: EngineSession, *, is_first: bool) -> _BoundFold:
        key, known = (query.text, query.database, session.conf.changes()), self._known.get(is_first)
        if known is not None and known.holds(key, state, session.catalog):
            return known
        part, lookups, clock = state.from_files("#fold"), CatalogLookups(session.catalog), StatementClock()
        plans = bind_state_folds(query.text, part, lookups, session.conf, query.database, clock, is_first=is_first)
        bound = _BoundFold(key, state, part, plans, lookups)
        self._known.pop(is_first, None)
        if not clock.was_read:
            self._known[is_first] = bound
        return bound


def fold_state(query: ContinuousQuery, session: EngineSession, bound: BoundFoldCache) -> bool:
    """Fold the newest small generations of a query's state into one, if this is worthwhile. Return True if it was done.

    Repeat this with the generations before them. One rename replaces the old files by the new ones, one for each part
    of the state, so that each reader sees either. The epochs that are kept for rollback are not folded.
    """
    state = session.catalog.current_table(query.table_id)
    if state is None or state.location is None or not session.conf.value(COMPACTION):
        return False
    write = partial(_write, query, state, session, bound)
    is_folded = False
    with session.as_statement():
        # Files of few rows mostly have about the same size, so a folded file never looks small next to new ones: the
        # size is not limited.
        while session.table_cache.folding.fold_with(write, state, "", _MOST_BYTES):
            is_folded = True
    return is_folded


def _write(
    query: ContinuousQuery, state: Table, session: EngineSession, bound: BoundFoldCache, run: FoldedRun, staging: str
) -> bool:
    """Write the fold of some files of the state. Return True."""
    fold, snapshot = bound.of(query, state, session, is_first=run.is_first), session.snapshot()
    try:
        snapshot.give(fold.part, run.files)
        sink = FileSink(state.schema, state.storage.name, state.storage.properties, staging)
        for number, plan in enumerate(fold.plans):
            write_files(session, plan, replace(sink, stem=f"{sink.stem}-{number:02}"), snapshot)
    finally:
        snapshot.release()
    return True


_log = logging.getLogger(__name__)


class StateFolds:
    """Folds of the states of continuous queries, at once or one after the other in a thread.

    Epochs go on meanwhile, since they only add to a state.
    """

    def __init__(self, new_session: Callable[[ContinuousQuery], OwnSession]) -> None:
        """`new_session` opens a session with the settings of a query."""
        self._new_session = new_session
        self._lock = threading.Lock()
        self._begun = set[str]()
        """Ids of the queries whose states are being folded or will be."""
        self._session: OwnSession | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._is_closed = False

    def now(self, query: ContinuousQuery, session: EngineSession, bound: BoundFoldCache) -> None:
        """Fold the state of a query. `bound` has its bound folds."""
        # A state of many rows is slower to read, which is all: a failed fold is retried later.
        with contextlib.suppress(SharkError, OSError):
            fold_state(query, session, bound)

    def begin(self, query: ContinuousQuery, bound: BoundFoldCache) -> None:
        """Fold the state of a query soon, in the thread. Do nothing if a fold of it has been requested already."""
        with self._lock:
            if self._is_closed or query.query_id in self._begun:
                return
            self._begun.add(query.query_id)
            if self._pool is None:
                self._pool = ThreadPoolExecutor(1, "fold")
            try:
                self._pool.submit(self._fold, query, bound)
            except RuntimeError:
                # The interpreter is shutting down.
                self._begun.discard(query.query_id)

    def close(self) -> None:
        """Cancel a running fold, and end the thread."""
        with self._lock:
            self._is_closed = True
            session, pool = self._session, self._pool
        if session is not None:
            session.stop()
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)

    def _fold(self, query: ContinuousQuery, bound: BoundFoldCache) -> None:
        try:
            session = self._new_session(query)
            try:
                with self._lock:
                    self._session = None if self._is_closed else session
                if self._session is not None:
                    self.now(query, session, bound)
            finally:
                with self._lock:
                    self._session = None
                session.stop()
        except SharkError as error:
            _log.info("the state of a continuous query is not folded: %s", error)
        except Exception:  # noqa: BLE001  a failed fold stops nothing
            _log.exception("the state of a continuous query cannot be folded")
        finally:
            with self._lock:
                self._begun.discard(query.query_id)
