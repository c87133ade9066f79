"""Rows that come at a steady rate, for tests and demonstrations."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sharkpy.base.settings import TIME_ZONE
from sharkpy.base.time_zone import arrow_zone, zone_name
from sharkpy.catalog.continuous_query import Position
from sharkpy.catalog.model import StorageFormat, StreamSource
from sharkpy.catalog.stream_kinds import MAX_ROWS, RATE, ROWS_PER_SECOND, START_MS
from sharkpy.sources.rate_rows import NAME, ZONE, row_splits

if TYPE_CHECKING:
    from sharkpy.base.settings import Conf
    from sharkpy.catalog.model import Table
    from sharkpy.execution.tables.snapshot import QuerySnapshot

_SPLIT_ROWS = 1 << 20


class RateReader:
    """Reader of rows by number: row n comes n / `rowsPerSecond` seconds after the stream's start."""

    keeps_items = False

    def __init__(self, stream: Table) -> None:
        options = () if stream.stream is None else stream.stream.options
        self._stream = stream
        self._rate = RATE.value(options, ROWS_PER_SECOND)
        self._start_ms = RATE.value(options, START_MS)
        self._max_rows = RATE.value(options, MAX_ROWS)
        self._end = 0

    @property
    def end(self) -> Position:
        return (self._end,)

    def look(self, age: float = 0.0) -> Position:  # noqa: ARG002 - a look costs nothing
        passed_ms = time.time_ns() // 1_000_000 - self._start_ms
        # The clock may go back.
        self._end = max(self._end, passed_ms * self._rate // 1000)
        return self.end

    def first(self) -> Position:
        return (0,)

    def since(self, moment_ms: int) -> Position | None:
        passed_ms = max(0, moment_ms - self._start_ms)
        return (min(self._end, -(-passed_ms * self._rate // 1000)),)

    def num_gone(self) -> int:
        return 0

    def release(self, end: Position) -> None:
        """Do nothing: rows can be made again."""

    def close(self) -> None:
        """Do nothing: there is nothing open."""

    def unsettled_seconds(self) -> float:
        return 0.0

    def cut(self, start: Position, end: Position) -> Position:
        return (min(end[0], start[0] + self._max_rows),)

    def give(self, snapshot: QuerySnapshot, start: Position, end: Position) -> None:
        snapshot.give_splits(self._stream, row_splits(start[0], end[0], self._stream.storage.properties, _SPLIT_ROWS))


def rate_format(source: StreamSource, conf: Conf) -> StorageFormat:
    """Return the format of the rows of a stream FROM RATE, with times in the session's time zone."""
    options = dict(source.options)
    rate = str(RATE.value(source.options, ROWS_PER_SECOND))
    zone = arrow_zone(zone_name(conf.value(TIME_ZONE)))
    return StorageFormat(NAME, ((ROWS_PER_SECOND, rate), (START_MS, options[START_MS]), (ZONE, zone)))
