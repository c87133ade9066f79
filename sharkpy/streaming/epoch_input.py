"""Input of an epoch: the query's tables and streams, how far the streams go, and the cached bound form of the query."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING

from sharkpy.base.errors import TableNotFoundError
from sharkpy.base.records import dataclass
from sharkpy.execution.queries.plan_cache import CatalogLookups
from sharkpy.plan.commands import Insert, MultiInsert, StateInserts
from sharkpy.sql.binder import bind_epoch
from sharkpy.sql.context import StatementClock
from sharkpy.streaming.state_folding import BoundFoldCache

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.continuous_query import ContinuousQuery, Position
    from sharkpy.catalog.model import Table
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.sql.statements.bind_epoch import EpochTables
    from sharkpy.streaming.sources.interfaces import SourceReader


@dataclass(frozen=True, slots=True)
class EpochView:
    """A continuous query, the ends that a look at its streams found, and its tables just after that look.

    1. Items that arrive after a stream or table was altered are read by its new definition.
    2. The transaction that ends an epoch detects later changes that rule the epoch out: another epoch, a ROLLBACK,
       another definition, or a dropped table.
    """

    query: ContinuousQuery
    tables: Mapping[str, Table]
    """Existing tables by id: the tables that the definition names, and an insert or sink that has a state."""
    readers: Mapping[str, SourceReader]
    """Readers by the ids of streams. They stay the same even if a stream is altered meanwhile."""
    ends: dict[str, Position]
    """Position after the last item of each stream, by the stream's id."""

    @property
    def table(self) -> Table | None:
        """The query's table, or None if it was dropped."""
        return self.tables.get(self.query.table_id)

    @property
    def owner(self) -> Table | None:
        """The insert or sink that the query's table is the state of, else the table itself; None if it was dropped."""
        table = self.table
        return self.tables.get(table.state_of) if table is not None and table.gives else table

    @property
    def by_name(self) -> Mapping[tuple[str, str], Table]:
        """The tables by database and name."""
        return {(one.database, one.name): one for one in self.tables.values()}

    @property
    def stream_names(self) -> list[str]:
        return [stream_of(self.tables, stream).qualified_name for stream in self.query.streams]


def look_at_streams(
    query: ContinuousQuery,
    catalog: Catalog,
    reader: Callable[[Table], SourceReader],
    age: float = 0.0,
    ends: Mapping[str, Position] | None = None,
) -> EpochView:
    """Look at the streams of a query, except streams whose `ends` are given.

    An earlier look counts if it is not older than `age` seconds. Raise TableNotFoundError if a stream was dropped.
    """
    given, tables = ends or {}, _tables_of(query, catalog)
    while True:
        readers = {stream: reader(stream_of(tables, stream)) for stream in query.streams}
        looks = {stream: one.look(age) for stream, one in readers.items() if stream not in given}
        now = _tables_of(query, catalog) if looks else tables
        if all(now.get(stream) is tables[stream] for stream in looks):
            return EpochView(query, now, readers, {**given, **looks})
        # A stream that was altered in the meantime has another reader, which has to look.
        tables = now


def _tables_of(query: ContinuousQuery, catalog: Catalog) -> Mapping[str, Table]:
    tables = catalog.current_tables(query.named_tables)
    state = tables.get(query.table_id)
    return tables if state is None or not state.gives else tables | catalog.current_tables([state.state_of])


def stream_of(tables: Mapping[str, Table], stream: str) -> Table:
    """Return a stream by its id. Raise TableNotFoundError if it was dropped."""
    found = tables.get(stream)
    if found is None:
        raise TableNotFoundError("a stream of the continuous query was dropped")
    return found


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


class BoundQueryCache:
    """Cache of a query's bound epochs and folds, each valid until something that it depends on changes.

    The optimised plans of an epoch or fold are cached as long as its bound form. One thread at a time uses the cache.
    """

    def __init__(self) -> None:
        self.folds = BoundFoldCache()
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
