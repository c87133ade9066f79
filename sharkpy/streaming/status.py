"""Status of streams and continuous tables: for programs, for SHOW STREAMS, SHOW CONTINUOUS TABLES and SHOW EPOCHS, and
as tables of `sys`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from sharkpy.base.records import dataclass
from sharkpy.base.wildcards import names_matching
from sharkpy.catalog.continuous_query import ContinuousQuery, Position, QueryState, position_to_numbers
from sharkpy.catalog.model import StreamSource, Table
from sharkpy.catalog.stream_kinds import KINDS, sink_kind
from sharkpy.catalog.system_tables import SYSTEM_DATABASE, SystemTable
from sharkpy.execution.commands.command_result import CommandResult, table_of
from sharkpy.execution.commands.table_facts import current_source
from sharkpy.plan.commands import ShowContinuousTables, ShowEpochs, ShowStreams
from sharkpy.streaming.commands.control_continuous import query_of
from sharkpy.streaming.scheduler import StreamSession
from sharkpy.values.types import BIGINT, DOUBLE, STRING, Field, Schema

if TYPE_CHECKING:
    import pyarrow as pa

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
    recent_rows_per_second: float | None = None
    """Rows of the last epochs per second that has passed, at most of the last ten seconds."""


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
    fault = query.fault or figures.fault or None
    return ContinuousStatus(*known, *done, fault, figures.bad_rows, *totals, figures.recent_rows_per_second)


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


Row: TypeAlias = tuple[str | float | None, ...]

_STREAMS = Schema(tuple(Field(name, STRING) for name in ("database", "name", "source", "place", "comment")))
_QUERIES = Schema(
    (
        *(Field(name, STRING) for name in ("database", "name", "state", "trigger")),
        *(Field(name, BIGINT) for name in ("epoch", "lag", "rows")),
        Field("rows_per_second", DOUBLE),
        Field("bad_rows", BIGINT),
        Field("fault", STRING),
    )
)
_VIEWS = Schema(tuple(Field(name, STRING) for name in ("mv_name", "rewrite_enabled", "mode")))
"""Hive's columns of SHOW MATERIALIZED VIEWS."""
_EPOCHS = Schema(
    (
        Field("epoch", BIGINT),
        Field("state", STRING),
        Field("began", STRING),
        Field("rows", BIGINT),
        Field("seconds", DOUBLE),
        Field("offsets", STRING),
        Field("bad_rows", BIGINT),
    )
)
_ALL_EPOCHS = Schema((Field("database", STRING), Field("name", STRING), *_EPOCHS))


def show_streams(command: ShowStreams, session: StreamSession) -> CommandResult:
    tables = _tables(command.database, command.pattern, session)
    return CommandResult(_STREAMS, table_of(_STREAMS, _Shown.by(session).streams(tables)))


def show_continuous_tables(command: ShowContinuousTables, session: StreamSession) -> CommandResult:
    """Show the state of each continuous table, insert and sink.

    `lag` is a number of items of the streams. The rate is for epochs of this process.
    """
    tables = _tables(command.database, command.pattern, session)
    if command.as_views:
        names = [table.name for table in tables if table.continuous and not table.has_no_rows]
        return CommandResult(_VIEWS, table_of(_VIEWS, ((name, "No", "Incremental") for name in names)))
    return CommandResult(_QUERIES, table_of(_QUERIES, _Shown.by(session).queries(tables)))


def show_epochs(command: ShowEpochs, session: StreamSession) -> CommandResult:
    rows = _Shown.by(session).epochs(query_of(command.table, session), command.limit)
    return CommandResult(_EPOCHS, table_of(_EPOCHS, rows))


def system_tables(session: StreamSession) -> Mapping[str, SystemTable]:
    """Return tables of `sys` by qualified name. They do not reference the session, since plans may outlive it."""
    shown = _Shown.by(session)
    made: dict[str, tuple[Schema, Callable[[], Iterable[Row]]]] = {
        "continuous_tables": (_QUERIES, lambda: shown.queries(shown.tables())),
        "epochs": (_ALL_EPOCHS, shown.all_epochs),
        "streams": (_STREAMS, lambda: shown.streams(shown.tables())),
    }
    return {
        f"{SYSTEM_DATABASE}.{name}": SystemTable(SYSTEM_DATABASE, name, schema, partial(_made, schema, rows))
        for name, (schema, rows) in made.items()
    }


def _made(schema: Schema, rows: Callable[[], Iterable[Row]]) -> list[pa.Table]:
    return [table_of(schema, rows())]


@dataclass(frozen=True, slots=True)
class _Shown:
    """Rows about streams and continuous queries."""

    catalog: Catalog
    scheduler: StreamScheduler

    @classmethod
    def by(cls, session: StreamSession) -> _Shown:
        return cls(session.catalog, session.streams)

    def tables(self) -> Iterator[Table]:
        """Return the tables of all databases."""
        return (table for database in self.catalog.database_names() for table in self.catalog.tables(database))

    def streams(self, tables: Iterable[Table]) -> Iterator[Row]:
        for table in tables:
            if table.stream is not None:
                place = place_of(table, current_source(table, table.stream, self.catalog))
                yield table.database, table.name, table.stream.kind, place, table.comment

    def queries(self, tables: Iterable[Table]) -> Iterator[Row]:
        for table, query in self._with_queries(tables):
            status = status_of(query, self.scheduler, self.catalog)
            rate = None if status.rows_per_second is None else round(status.rows_per_second, 1)
            how_far = (status.epoch, status.lag, status.total_rows, rate, status.total_bad_rows)
            yield table.database, table.name, status.state, status.trigger, *how_far, status.fault

    def epochs(self, query: ContinuousQuery, limit: int | None = None) -> Iterator[Row]:
        """Yield the epochs of a query, newest first."""
        for one in self.scheduler.log(query.query_id).epochs(query.epoch, limit):
            state = "WRITTEN" if one.number <= query.epoch else "BEGUN"
            reads = {
                self._name(stream): [position_to_numbers(start), position_to_numbers(end)]
                for stream, start, end in one.ranges
            }
            yield one.number, state, one.began, one.rows, one.seconds, json.dumps(reads), one.bad_rows

    def all_epochs(self) -> Iterator[Row]:
        for table, query in self._with_queries(self.tables()):
            yield from ((table.database, table.name, *row) for row in self.epochs(query))

    def _with_queries(self, tables: Iterable[Table]) -> Iterator[tuple[Table, ContinuousQuery]]:
        for table in tables:
            query = self.catalog.streams.find(table.continuous) if table.continuous else None
            if query is not None:
                yield table, query

    def _name(self, stream: str) -> str:
        found = self.catalog.current_table(stream)
        return stream if found is None else found.qualified_name


def _tables(database: str, pattern: str | None, session: StreamSession) -> list[Table]:
    tables = {table.name: table for table in session.catalog.tables(database)}
    return [tables[name] for name in names_matching(set(tables), pattern)]


def place_of(table: Table, source: StreamSource) -> str | None:
    """Return the place of a source for display, if it has one. Internal folders are not shown."""
    return source.place or table.location if KINDS[source.kind].place else None
