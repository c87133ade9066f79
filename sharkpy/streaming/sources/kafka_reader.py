"""Records of a Kafka topic, as a stream with the partitions of the topic."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING

from sharkpy.base.errors import SourceError
from sharkpy.catalog.continuous_query import Position, furthest_position, is_position_within
from sharkpy.catalog.kafka_options import FAIL_ON_LOSS, TOPIC, start_offsets
from sharkpy.catalog.stream_kinds import KAFKA, MAX_ROWS
from sharkpy.sources.kafka.client import Topic
from sharkpy.sources.kafka.fetch import OffsetRange, is_strict, lost_records, range_splits, ranges_between, warn_of_loss
from sharkpy.sources.kafka.records import VALUE_FORMAT

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.model import Table
    from sharkpy.execution.tables.snapshot import QuerySnapshot

_METADATA_SECONDS = 1.0
"""Interval at which new partitions, and the loss of the topic, are detected."""


class KafkaReader:
    """Reader of a topic. A position has the offset of each partition; new partitions begin with their first record.

    1. Records of a transaction are read after its commit, unless the client's isolation level says otherwise.
    2. Records that retention has deleted before they were read raise SourceError. With `failOnDataLoss` = 'false' they
       are left out with a warning. The stream's property takes precedence over its option.
    3. A topic that ends before records that were read is another topic: SourceError.
    """

    keeps_items = False

    def __init__(self, stream: Table, catalog: Catalog) -> None:
        options = () if stream.stream is None else stream.stream.options
        self._stream = stream
        self._catalog = catalog
        given = dict(stream.properties).get(FAIL_ON_LOSS)
        self._options = options if given is None else (*options, (FAIL_ON_LOSS, given))
        self._start: Mapping[int, int] = start_offsets(options) or {}
        self._most = KAFKA.value(options, MAX_ROWS)
        self._topic: Topic | None = None
        self._lock = threading.Lock()
        self._end: Position = ()
        self._first: Position = ()
        self._looked = self._listed = -math.inf

    @property
    def end(self) -> Position:
        return self._end

    def look(self, age: float = 0.0) -> Position:
        with self._lock:
            now = time.monotonic()
            if now - self._looked >= age:
                self._look(now)
                self._looked = now
            return self._end

    def first(self) -> Position:
        """Return the position of the stream's first records, or of the first ones that still exist."""
        return tuple(max(first, self._start.get(number, 0)) for number, first in enumerate(self._first))

    def since(self, moment_ms: int) -> Position | None:
        with self._lock:
            partitions = range(len(self._first))
            found = self._asked().since(partitions, moment_ms)
            return tuple(max(found[number], self._start.get(number, 0)) for number in partitions)

    def num_gone(self) -> int:
        return sum(max(0, first - self._start.get(number, 0)) for number, first in enumerate(self._first))

    def release(self, end: Position) -> None:
        """Do nothing: the engine does not own the records."""

    def close(self) -> None:
        with self._lock:
            self._topic = None

    def unsettled_seconds(self) -> float:
        return 0.0

    def cut(self, start: Position, end: Position) -> Position:
        """Divide the records that an epoch may have among the partitions, in proportion to their backlog."""
        waiting = [last - first for first, last in zip_longest(start, end, fillvalue=0)]
        if sum(waiting) <= self._most:
            return end
        shares = [-(-count * self._most // sum(waiting)) for count in waiting]
        return tuple(first + share for first, share in zip_longest(start, shares, fillvalue=0))

    def give(self, snapshot: QuerySnapshot, start: Position, end: Position) -> None:
        ranges = self._still_there(ranges_between(start, end))
        properties = (*self._options, *self._stream.storage.properties, (VALUE_FORMAT, self._stream.storage.name))
        name = dict(self._options)[TOPIC]
        snapshot.give_splits(self._stream, range_splits(ranges, name, properties))

    def _still_there(self, ranges: list[OffsetRange]) -> list[OffsetRange]:
        """Return the ranges without lost records, if these may be left out. Otherwise raise SourceError."""
        with self._lock:
            firsts = self._asked().firsts([one.partition for one in ranges])
        found = []
        for one in ranges:
            first = min(max(firsts[one.partition], one.start), one.end)
            if first > one.start:
                if is_strict(self._options):
                    raise lost_records(dict(self._options)[TOPIC], one.partition, one.start, first)
                warn_of_loss(dict(self._options)[TOPIC], one.partition, first - one.start)
            if first < one.end:
                found.append(OffsetRange(one.partition, first, one.end))
        return found

    def _look(self, now: float) -> None:
        topic = self._asked()
        if now - self._listed >= _METADATA_SECONDS:
            partitions = range(topic.num_partitions())
            firsts = topic.firsts(partitions)
            self._first = tuple(firsts[partition] for partition in partitions)
            self._listed = now
        partitions = range(len(self._first))
        ends = topic.ends(partitions)
        end = tuple(ends[partition] for partition in partitions)
        self._check_same(end)
        self._end = end

    def _check_same(self, end: Position) -> None:
        """Raise SourceError if the topic ends before records that were read."""
        read = self._end or self._read()
        if not is_position_within(read, end):
            name = dict(self._options)[TOPIC]
            message = f'the topic "{name}" ends before records that were read: it may have been made anew'
            raise SourceError(message, hint="then make the stream and its continuous tables again")

    def _read(self) -> Position:
        """Return the furthest position up to which a continuous query has read the stream."""
        found: Position = ()
        for query in self._catalog.streams.queries():
            found = furthest_position(found, query.offset(self._stream.table_id))
        return found

    def _asked(self) -> Topic:
        if self._topic is None:
            self._topic = Topic(self._options)
        return self._topic
