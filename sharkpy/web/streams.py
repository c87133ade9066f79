"""Streams, continuous queries and the tables between them, as nodes and edges of a graph."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.records import dataclass
from sharkpy.base.secrets import redacted
from sharkpy.catalog.continuous_query import QueryState, items_between
from sharkpy.catalog.kafka_options import TOPIC
from sharkpy.execution.commands.table_facts import current_source
from sharkpy.streaming.status import ContinuousStatus, place_of, status_of

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.continuous_query import ContinuousQuery
    from sharkpy.catalog.model import StreamSource, Table
    from sharkpy.session.shark_context import SharkContext
    from sharkpy.streaming.scheduler import StreamScheduler


class NodeKind(enum.StrEnum):
    STREAM = "stream"
    CONTINUOUS_TABLE = "continuous_table"
    INSERT = "insert"
    SINK = "sink"
    TABLE = "table"
    """An ordinary table that an insert writes, that gets bad or late rows, or that a stream follows."""


class NodeState(enum.StrEnum):
    RUNNING = "running"
    RETRYING = "retrying"
    """An epoch has failed for a reason that may pass. The engine runs it again by itself."""
    WAITING = "waiting"
    """A sink without the program that takes its rows."""
    PAUSED = "paused"
    STOPPED = "stopped"
    """An error has ended it."""
    FINISHED = "finished"
    """Its trigger has ended."""


class EdgeKind(enum.StrEnum):
    READS = "reads"
    WRITES = "writes"
    BAD_ROWS = "bad_rows"
    LATE_ROWS = "late_rows"
    FOLLOWS = "follows"
    """The rows of a table become the items of a stream."""


@dataclass(frozen=True, slots=True)
class StreamNode:
    """Stream, continuous query or table. Figures that it does not have, or that are unknown, are null.

    `lag`: items that were found and not read yet. `rows_per_second`: rows written in each second, lately.
    `epoch_seconds`: mean of the last epochs. `rows`, `bad_rows`: totals of all epochs.
    """

    name: str
    kind: NodeKind
    source: str | None = None
    """Kind of a stream's source or of a sink, such as KAFKA."""
    place: str | None = None
    comment: str | None = None
    state: NodeState | None = None
    error: str | None = None
    trigger: str | None = None
    user: str | None = None
    epoch: int | None = None
    lag: int | None = None
    rows: int | None = None
    bad_rows: int | None = None
    failures: int | None = None
    rows_per_second: float | None = None
    epoch_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class StreamEdge:
    """Way of rows from `source` to `target`, which are names of nodes."""

    source: str
    target: str
    kind: EdgeKind
    lag: int | None = None
    rows_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class StreamsAnswer:
    nodes: list[StreamNode]
    edges: list[StreamEdge]


def stream_graph(session: SharkContext) -> StreamsAnswer:
    """Return the graph of a warehouse. With a Hive metastore there are no streams."""
    catalog = session.catalog
    if catalog.is_shared:
        return StreamsAnswer([], [])
    tables = {one.table_id: one for database in catalog.database_names() for one in catalog.tables(database)}
    graph = _Graph(catalog, session.streams, tables)
    graph.add()
    order = sorted(graph.nodes.values(), key=lambda one: one.name)
    return StreamsAnswer(order, [one for one in graph.edges if one.source in graph.nodes and one.target in graph.nodes])


class _Graph:
    def __init__(self, catalog: Catalog, scheduler: StreamScheduler, tables: dict[str, Table]) -> None:
        self._catalog = catalog
        self._scheduler = scheduler
        self._tables = tables
        self.nodes: dict[str, StreamNode] = {}
        self.edges: list[StreamEdge] = []

    def add(self) -> None:
        for table in self._tables.values():
            if table.stream is not None:
                self._add_stream(table)
        for query in self._catalog.streams.queries():
            if (named := self._catalog.named(query)) is not None:
                self._add_query(named, query)

    def _add_stream(self, table: Table) -> None:
        self.nodes[table.qualified_name] = stream_node(table, self._catalog)
        if (followed := self._catalog.source_of(table)) is not None:
            self._add_table(followed)
            self.edges.append(StreamEdge(followed.qualified_name, table.qualified_name, EdgeKind.FOLLOWS))

    def _add_query(self, table: Table, query: ContinuousQuery) -> None:
        node = query_node(table, query, self._scheduler, self._catalog)
        self.nodes[node.name] = node
        for stream in query.streams:
            if (read := self._tables.get(stream)) is not None:
                lag = stream_lag(query, stream, self._scheduler)
                self.edges.append(StreamEdge(read.qualified_name, node.name, EdgeKind.READS, lag))
        rate = node.rows_per_second if len(query.targets) == 1 else None
        self._add_targets(node, query.targets, EdgeKind.WRITES, rate)
        self._add_targets(node, [query.bad_rows], EdgeKind.BAD_ROWS)
        self._add_targets(node, [query.late_rows], EdgeKind.LATE_ROWS)

    def _add_targets(self, node: StreamNode, ids: Iterable[str], kind: EdgeKind, rate: float | None = None) -> None:
        for table_id in ids:
            if (target := self._tables.get(table_id)) is not None:
                self._add_table(target)
                self.edges.append(StreamEdge(node.name, target.qualified_name, kind, rows_per_second=rate))

    def _add_table(self, table: Table) -> None:
        if not table.streaming_kind:
            self.nodes.setdefault(table.qualified_name, StreamNode(table.qualified_name, NodeKind.TABLE))


def stream_node(table: Table, catalog: Catalog) -> StreamNode:
    assert table.stream is not None  # the caller has looked
    source = current_source(table, table.stream, catalog)
    return StreamNode(
        table.qualified_name,
        NodeKind.STREAM,
        source=source.kind,
        place=_shown_place(source, place_of(table, source)),
        comment=table.comment,
    )


def query_node(table: Table, query: ContinuousQuery, scheduler: StreamScheduler, catalog: Catalog) -> StreamNode:
    status, figures = status_of(query, scheduler, catalog), scheduler.figures(query.query_id)
    recent = [] if figures is None else figures.recent
    return StreamNode(
        table.qualified_name,
        _kind_of(table),
        source=_sink_kind(table),
        place=_sink_place(table),
        comment=table.comment,
        state=_state_of(status),
        error=None if status.fault is None else redacted(status.fault),
        trigger=status.trigger,
        user=query.user or None,
        epoch=status.epoch,
        lag=status.lag,
        rows=status.total_rows,
        bad_rows=status.total_bad_rows,
        failures=status.failures,
        rows_per_second=status.recent_rows_per_second,
        epoch_seconds=sum(seconds for _, _, seconds in recent) / len(recent) if recent else None,
    )


def stream_lag(query: ContinuousQuery, stream: str, scheduler: StreamScheduler) -> int:
    """Return the number of items of one stream, by id, that a query has not read yet."""
    return items_between(query.offset(stream), scheduler.readers.seen(stream))


def _kind_of(table: Table) -> NodeKind:
    if table.is_continuous_insert:
        return NodeKind.INSERT
    return NodeKind.SINK if table.is_continuous_sink else NodeKind.CONTINUOUS_TABLE


def _state_of(status: ContinuousStatus) -> NodeState:
    if status.state == QueryState.RUNNING.value:
        return NodeState.RUNNING if status.fault is None else NodeState.RETRYING
    known = {one.value: one for one in QueryState}
    return NodeState[known[status.state].name] if status.state in known else NodeState.WAITING


def _sink_kind(table: Table) -> str | None:
    if not table.is_continuous_sink:
        return None
    return "FOLDER" if table.sink is None else table.sink.kind


def _sink_place(table: Table) -> str | None:
    if not table.is_continuous_sink:
        return None
    place = table.location
    return _shown_place(table.sink, place) if table.sink is not None else place and uri.redacted(place)


def _shown_place(source: StreamSource, place: str | None) -> str | None:
    """Return the place of a source or sink for display, or the topic in Kafka."""
    shown = place or dict(source.options).get(TOPIC)
    return None if shown is None else uri.redacted(shown)


def positions(stream: str, query: ContinuousQuery, scheduler: StreamScheduler) -> Iterator[tuple[int, int]]:
    """Yield, for each partition of a stream, up to where a query has read it, and its end."""
    offset, end = query.offset(stream), scheduler.readers.seen(stream)
    for number in range(max(len(offset), len(end))):
        read = offset[number] if number < len(offset) else 0
        yield read, max(read, end[number] if number < len(end) else 0)
