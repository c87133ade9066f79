"""Folding of a continuous query's state: rows that many epochs added become few rows with the same meaning."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

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


class BoundFolds:
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


def fold_state(query: ContinuousQuery, session: EngineSession, bound: BoundFolds) -> bool:
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
    query: ContinuousQuery, state: Table, session: EngineSession, bound: BoundFolds, run: FoldedRun, staging: str
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
