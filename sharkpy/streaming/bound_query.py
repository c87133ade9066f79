"""Bound form of a continuous query, cached from epoch to epoch and from one RESUME to the next."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sharkpy.execution.queries.plan_cache import CatalogLookups
from sharkpy.plan.commands import Insert, MultiInsert, StateInserts
from sharkpy.sql.binder import bind_epoch
from sharkpy.sql.context import StatementClock
from sharkpy.streaming.state_fold import BoundFolds

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.continuous_query import ContinuousQuery
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.sql.statements.bind_epoch import EpochTables
    from sharkpy.streaming.epoch_view import EpochView


@dataclass(frozen=True, slots=True)
class _BoundEpoch:
    key: Hashable
    """The query's text, and the current database and settings under which it was bound."""
    tables: EpochTables
    command: Insert | MultiInsert | StateInserts
    lookups: CatalogLookups

    def holds(self, key: Hashable, tables: EpochTables, view: EpochView, catalog: Catalog) -> bool:
        known = self.tables
        is_same = known.written is tables.written and known.owner is tables.owner
        is_same = is_same and known.late_rows is tables.late_rows and self.key == key
        return is_same and self.lookups.is_current(catalog, view.by_name)


class BoundQuery:
    """Cache of a query's bound epochs and folds, each valid until something that it depends on changes.

    The optimised plans of an epoch or fold are cached as long as its bound form. One thread at a time uses the cache.
    """

    def __init__(self) -> None:
        self.folds = BoundFolds()
        self._epoch: _BoundEpoch | None = None

    def epoch(
        self, query: ContinuousQuery, tables: EpochTables, view: EpochView, session: EngineSession
    ) -> Insert | MultiInsert | StateInserts:
        """Return the query, bound as INSERTs into its targets."""
        key, known = (query.text, query.database, session.conf.changes()), self._epoch
        if known is not None and known.holds(key, tables, view, session.catalog):
            return known.command
        lookups, clock = CatalogLookups(session.catalog), StatementClock()
        command = bind_epoch(query.text, tables, lookups, session.conf, query.database, clock)
        self._epoch = None if clock.was_read else _BoundEpoch(key, tables, command, lookups)
        return command
