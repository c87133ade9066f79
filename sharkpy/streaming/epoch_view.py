"""What one step of a continuous query works on: the query, its tables and streams, and how far these go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sharkpy.base.errors import TableNotFoundError

if TYPE_CHECKING:
    from sharkpy.catalog.continuous_query import ContinuousQuery
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.position import Position
    from sharkpy.catalog.store import Catalog
    from sharkpy.streaming.sources.source_reader import SourceReader


@dataclass(frozen=True, slots=True)
class EpochView:
    """A continuous query, its tables as the catalog had them behind the look at its streams, and what that has found.

    1. What came after somebody has altered a stream, or a table, is read by its new form.
    2. Of what others change later, the transaction that ends an epoch notices whatever it must not count with: another
       epoch, a ROLLBACK, another definition, a table that is gone.
    """

    query: ContinuousQuery
    tables: Mapping[str, Table]
    """Those that the definition names, and the insert or sink with a state, by id, as far as they are there."""
    readers: Mapping[str, SourceReader]
    """By the ids of streams; they stay the same, whoever alters a stream meanwhile."""
    ends: dict[str, Position]
    """Position behind the last item of each stream, by its id."""

    @property
    def table(self) -> Table | None:
        """The query's; None where it was dropped."""
        return self.tables.get(self.query.table_id)

    @property
    def owner(self) -> Table | None:
        """The insert or sink of which the query's table is the state; else that table; None where it was dropped."""
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
    """Look at the streams of a query, but those whose `ends` are given; looks of others count that are not older than
    `age` seconds. TableNotFoundError where a stream was dropped.
    """
    given, tables = ends or {}, _tables_of(query, catalog)
    while True:
        readers = {stream: reader(stream_of(tables, stream)) for stream in query.streams}
        looks = {stream: one.look(age) for stream, one in readers.items() if stream not in given}
        now = _tables_of(query, catalog) if looks else tables
        if all(now.get(stream) is tables[stream] for stream in looks):
            return EpochView(query, now, readers, {**given, **looks})
        # Another reader has to look at a stream that was altered.
        tables = now


def _tables_of(query: ContinuousQuery, catalog: Catalog) -> Mapping[str, Table]:
    tables = catalog.current_tables(query.named_tables)
    state = tables.get(query.table_id)
    return tables if state is None or not state.gives else tables | catalog.current_tables([state.state_of])


def stream_of(tables: Mapping[str, Table], stream: str) -> Table:
    """A stream by its id; TableNotFoundError where it was dropped."""
    found = tables.get(stream)
    if found is None:
        raise TableNotFoundError("a stream of the continuous query was dropped")
    return found
