"""View of a continuous query for one step: its tables, its streams, and how far the streams go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sharkpy.base.errors import TableNotFoundError

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.continuous_query import ContinuousQuery, Position
    from sharkpy.catalog.model import Table
    from sharkpy.streaming.sources.source_reader import SourceReader


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


def take_view(
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
