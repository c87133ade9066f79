"""Status of continuous tables and streams, for users and programs that watch them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sharkpy.catalog.continuous_query import ContinuousQuery, Position, QueryState
from sharkpy.catalog.stream_kinds import sink_kind

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.streaming.scheduler import StreamScheduler


@dataclass(frozen=True, slots=True)
class ContinuousStatus:
    """Status of a continuous table at one moment.

    `rows`, `bad_rows` (records that did not parse), `epochs`, `failures` and `seconds` (spent on epochs) are totals of
    this process, and None if it has run no epoch of the table. `total_rows` and `total_bad_rows` are totals of all
    epochs since the table was made or refreshed. `lag` is a number of items of the streams: files, pushes, rows of a
    rate.
    """

    name: str
    state: str
    trigger: str
    epoch: int
    lag: int
    offsets: dict[str, Position]
    """Positions in the streams, by their names."""
    rows: int | None = None
    epochs: int | None = None
    failures: int | None = None
    seconds: float | None = None
    rows_per_second: float | None = None
    """Rows of the last epochs per second spent on them."""
    fault: str | None = None
    """Error that stopped the query, or after which it waits to retry."""
    bad_rows: int | None = None
    total_rows: int = 0
    total_bad_rows: int = 0


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """Status of a stream at one moment.

    `end` is the position after the last item that was seen. `readers` are the continuous tables that read the stream.
    """

    name: str
    source: str
    end: Position
    readers: tuple[ContinuousStatus, ...] = ()
    looks: int | None = None
    """Looks of this process at a folder in a bucket or in HDFS. None for other streams.

    `requests` are the requests of their listings.
    """
    requests: int | None = None


def continuous_statuses(streams: StreamScheduler, catalog: Catalog) -> Iterator[ContinuousStatus]:
    """Yield the statuses of all continuous tables of the warehouse, by name."""
    named = ((_name_of(query, catalog), query) for query in catalog.streams.queries())
    for _, query in sorted(named, key=lambda pair: pair[0]):
        yield status_of(query, streams, catalog)


def status_of(query: ContinuousQuery, streams: StreamScheduler, catalog: Catalog) -> ContinuousStatus:
    figures = streams.figures(query.query_id)
    offsets = {_name(stream, catalog): query.offset(stream) for stream in query.streams}
    name = _name_of(query, catalog)
    known = (name, _state(query, streams, catalog), str(query.trigger), query.epoch, streams.lag(query), offsets)
    told = None if figures is None else figures.totals_at(query.epoch)
    totals = told or streams.log(query.query_id).totals(query.epoch)
    if figures is None:
        return ContinuousStatus(
            *known, fault=query.fault or None, total_rows=totals.rows, total_bad_rows=totals.bad_rows
        )
    done = (figures.rows, figures.epochs, figures.failures, figures.seconds, figures.rows_per_second)
    return ContinuousStatus(*known, *done, query.fault or figures.fault or None, figures.bad_rows, *totals)


def _state(query: ContinuousQuery, streams: StreamScheduler, catalog: Catalog) -> str:
    """Return the state of a query for display. A sink without its program waits, though it is not paused."""
    table = catalog.named(query)
    is_sink = table is not None and table.is_continuous_sink
    if query.state is QueryState.RUNNING and table is not None and is_sink and streams.programs.is_missing(table):
        return f"WAITING FOR {sink_kind(table).taker.upper()}"
    return query.state.value


def _name_of(query: ContinuousQuery, catalog: Catalog) -> str:
    found = catalog.named(query)
    return query.table_id if found is None else found.qualified_name


def _name(table_id: str, catalog: Catalog) -> str:
    found = catalog.current_table(table_id)
    return table_id if found is None else found.qualified_name
