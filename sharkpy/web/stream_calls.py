"""Calls about streams: their graph, and one of them with its last epochs."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING

from sharkpy.base.errors import SharkError, SourceError
from sharkpy.base.records import dataclass
from sharkpy.base.secrets import redacted
from sharkpy.catalog.names import qualified
from sharkpy.execution.commands.show_create_table import creating_lines
from sharkpy.execution.commands.table_facts import StreamProgress, stream_progress
from sharkpy.execution.tables.data_files import table_files
from sharkpy.web.errors import RefusedError
from sharkpy.web.streams import (
    StreamNode,
    StreamsAnswer,
    positions,
    query_node,
    stream_graph,
    stream_lag,
    stream_node,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sharkpy.catalog.continuous_query import ContinuousQuery
    from sharkpy.catalog.model import Table
    from sharkpy.session.shark_context import SharkContext
    from sharkpy.streaming.epoch_log import LoggedEpoch
    from sharkpy.web.requests import ApiRequest

_MOST_EPOCHS = 120
_MOST_PARTITIONS = 100
_LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Epoch:
    """Epoch that has ended. Unknown figures are null.

    `waiting`: items that were found and not read when it began. `seconds` are the sum of the phases: resolving names
    and items, computing and writing rows, syncing and publishing them.
    """

    number: int
    began: datetime
    seconds: float | None
    plan_seconds: float | None
    run_seconds: float | None
    commit_seconds: float | None
    rows: int
    bad_rows: int | None
    waiting: int | None


@dataclass(frozen=True, slots=True)
class PartitionRead:
    """Progress in one partition of a stream: the number of the next item to read, and of the next one to come.

    `latest` is the latest event time among the last records that were read, `lag_seconds` its distance to the latest
    one of the stream. Both are null if unknown, or if the stream has one partition. A partition never holds a watermark
    back: if it `is_before_watermark`, its next rows may be late.
    """

    offset: int
    end: int
    latest: str | None = None
    lag_seconds: float | None = None
    is_before_watermark: bool = False


@dataclass(frozen=True, slots=True)
class StreamRead:
    """Stream that a continuous query reads. A stream without partitions has one.

    `slowest_partition` has the earliest `latest` of all partitions.
    """

    name: str
    lag: int
    num_partitions: int
    partitions: list[PartitionRead]
    """The first partitions."""
    slowest_partition: int | None = None


@dataclass(frozen=True, slots=True)
class Watermark:
    """Event time up to which a stream is complete, by the state; null if no time has come.

    It is `latest`, the latest event time of all rows of the stream, minus the delay of the stream's definition.
    `lag_seconds` is its distance to the furthest watermark of the query. A stream that `is_idle` (IDLE AFTER) does
    not hold back the others.
    """

    stream: str
    time: str | None
    latest: str | None
    lag_seconds: float | None
    is_idle: bool


@dataclass(frozen=True, slots=True)
class RetainedEpoch:
    """Epoch to which ROLLBACK can go."""

    number: int
    written: datetime


@dataclass(frozen=True, slots=True)
class StreamAnswer:
    """Stream or continuous query with its definition; of a query also its state and last epochs, oldest first.

    `watermark` is the least watermark of the streams that are not idle, and `held_back_by` the stream that has it, if
    there are several. A table without state has no state figures.
    """

    node: StreamNode
    definition: str
    reads: list[StreamRead] = field(default_factory=list)
    watermarks: list[Watermark] = field(default_factory=list)
    watermark: str | None = None
    held_back_by: str | None = None
    late_rows: int | None = None
    state_rows: int | None = None
    state_bytes: int | None = None
    epochs: list[Epoch] = field(default_factory=list)
    retained: list[RetainedEpoch] = field(default_factory=list)


def streams(request: ApiRequest) -> StreamsAnswer:
    return stream_graph(request.parts.engine_session)


def stream(request: ApiRequest) -> StreamAnswer:
    """Return one stream, continuous table, insert or sink. Raise RefusedError 404 if nothing has the name."""
    session = request.parts.engine_session
    catalog = session.catalog
    table = None
    if not catalog.is_shared:
        with suppress(SharkError):
            table = catalog.find_table(*qualified(request.name, "default"))
    if table is None or not table.streaming_kind or table.is_state:
        raise RefusedError(HTTPStatus.NOT_FOUND, f'there is no stream "{request.name[:100]}"', "42704")
    definition = redacted("\n".join(creating_lines(table, session)))
    if table.stream is not None:
        return StreamAnswer(stream_node(table, catalog), definition)
    query = catalog.streams.get(table.continuous)
    state = request.web.states.look(table, query, session)
    progress = state.progress
    epochs = session.streams.log(query.query_id).recent_epochs(query.epoch, _MOST_EPOCHS)
    return StreamAnswer(
        query_node(table, query, session.streams, catalog),
        definition,
        reads=_reads(query, state, session),
        watermarks=[] if progress is None else list(_watermarks(progress, query, session)),
        watermark=None if progress is None else _text(progress.watermark),
        held_back_by=None if progress is None else progress.held_back_by,
        late_rows=None if progress is None else progress.late_rows,
        state_rows=state.rows,
        state_bytes=state.size_bytes,
        epochs=[_epoch(one) for one in reversed(epochs)],
        retained=[
            RetainedEpoch(one.number, datetime.fromtimestamp(one.written_ms / 1000, UTC))
            for one in catalog.streams.epochs.kept(query.query_id)
            if one.number <= query.epoch
        ],
    )


def _reads(query: ContinuousQuery, state: StateFigures, session: SharkContext) -> list[StreamRead]:
    found, tables = list[StreamRead](), session.catalog.current_tables(query.streams)
    watermark = None if state.progress is None else state.progress.watermark
    for one in query.streams:
        times = state.partition_times.get(one, {})
        furthest = max(times.values(), default=None)
        partitions = [
            PartitionRead(
                *pair,
                latest=_text(latest := times.get(number)),
                lag_seconds=_seconds_between(latest, furthest),
                is_before_watermark=latest is not None and watermark is not None and latest < watermark,
            )
            for number, pair in enumerate(positions(one, query, session.streams))
        ]
        name = tables[one].qualified_name if one in tables else one
        lag = stream_lag(query, one, session.streams)
        slowest = min(times, key=lambda number: times[number], default=None)
        found.append(StreamRead(name, lag, len(partitions), partitions[:_MOST_PARTITIONS], slowest))
    return found


def _watermarks(progress: StreamProgress, query: ContinuousQuery, session: SharkContext) -> Iterator[Watermark]:
    tables = session.catalog.current_tables(query.streams).values()
    delays = {one.qualified_name: one.watermark.delay for one in tables if one.watermark is not None}
    furthest = max((one for one in progress.watermarks.values() if one is not None), default=None)
    for stream, mark in progress.watermarks.items():
        delay = None if mark is None or stream not in delays else timedelta(microseconds=delays[stream])
        latest = None if mark is None or delay is None else mark + delay
        yield Watermark(stream, _text(mark), _text(latest), _seconds_between(mark, furthest), stream in progress.idle)


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else str(moment)


def _seconds_between(moment: datetime | None, later: datetime | None) -> float | None:
    return None if moment is None or later is None else (later - moment).total_seconds()


def _epoch(one: LoggedEpoch) -> Epoch:
    plan, run, commit, waiting = (None, None, None, None) if one.work is None else one.work
    began = datetime.fromisoformat(one.began)
    return Epoch(one.number, began, one.seconds, plan, run, commit, one.rows or 0, one.bad_rows, waiting)


@dataclass(frozen=True, slots=True)
class StateFigures:
    """State of a continuous query after an epoch. All are None if it has no state."""

    epoch: int = -1
    looked: float = 0.0
    progress: StreamProgress | None = None
    rows: int | None = None
    size_bytes: int | None = None
    partition_times: Mapping[str, Mapping[int, datetime]] = field(default_factory=dict)
    """Latest event times of partitions, by the ids of streams."""


class StateLooks:
    """Looks at the states of continuous queries: at each at most once in a second, and once in an epoch.

    A look reads the state, and the last records of partitions. Only one thread looks. Other threads get the earlier
    figures.
    """

    def __init__(self) -> None:
        self._known: dict[str, StateFigures] = {}
        self._lock = threading.Lock()

    def look(self, table: Table, query: ContinuousQuery, session: SharkContext) -> StateFigures:
        known = self._known.get(query.query_id, StateFigures())
        is_new = known.epoch != query.epoch and time.monotonic() - known.looked >= _LOOK_SECONDS
        if table.has_state and is_new and self._lock.acquire(blocking=False):
            try:
                known = self._known[query.query_id] = _state_figures(table, query, session)
            finally:
                self._lock.release()
        return known


def _state_figures(table: Table, query: ContinuousQuery, session: SharkContext) -> StateFigures:
    state = session.catalog.state_table(table)
    rows = size_bytes = None
    if state is not None:
        version = session.table_cache.loaded_version(state)
        rows = None if version is None else version.num_rows
        with suppress(SourceError):
            size_bytes = sum(file.size_bytes for file in table_files(state, session.catalog))
    progress = None
    with suppress(SharkError):
        progress = stream_progress(table, session)
    times = {}
    for one in session.catalog.current_tables(query.streams).values():
        with suppress(SharkError):
            times[one.table_id] = session.streams.partition_times(query, one)
    return StateFigures(query.epoch, time.monotonic(), progress, rows, size_bytes, times)
