"""Records in ranges of offsets: the splits of an epoch consist of ranges, and a consumer fetches their records."""

from __future__ import annotations

import logging
import time
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import field
from itertools import repeat, zip_longest
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import InternalError, SharkError, SourceError
from sharkpy.base.records import dataclass
from sharkpy.catalog.continuous_query import Position
from sharkpy.catalog.kafka_options import FAIL_ON_LOSS, Options
from sharkpy.sources.kafka.client import Connection, broker_error, require_library
from sharkpy.sources.source import Properties, Split

if TYPE_CHECKING:
    from confluent_kafka import Message, TopicPartition

NAME = "kafka"
RANGES = "kafka.ranges"
SHARED, MOST = 1 << 16, 1 << 20
"""Most offsets of a split with several ranges, and of any split. Each cut costs time: records that the consumer has
read ahead are read again.
"""
_RECORD_BYTES = 128
"""Estimated bytes of a record: brokers do not report them."""


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets of a partition from `start` up to, but not including, `end`. Some offsets may have no record."""

    partition: int
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.partition}:{self.start}-{self.end}"

    @property
    def length(self) -> int:
        return self.end - self.start

    @classmethod
    def parse(cls, text: str) -> OffsetRange:
        partition, _, bounds = text.partition(":")
        start, _, end = bounds.partition("-")
        return cls(int(partition), int(start), int(end))


def ranges_between(start: Position, end: Position) -> list[OffsetRange]:
    """Non-empty ranges of the partitions between two positions."""
    pairs = enumerate(zip_longest(start, end, fillvalue=0))
    return [OffsetRange(partition, first, last) for partition, (first, last) in pairs if first < last]


def range_splits(
    ranges: list[OffsetRange], topic: str, properties: Properties, shared: int = SHARED, most: int = MOST
) -> list[Split]:
    """Splits of at most `most` offsets. Ranges of several partitions share a split of up to `shared` offsets, since
    starting to read takes as long as some thousand records.
    """
    splits, waiting, size = list[Split](), list[OffsetRange](), 0
    for one in _pieces(ranges, most):
        if waiting and (size + one.length > shared or waiting[-1].partition == one.partition):
            splits.append(_split(waiting, topic, properties))
            waiting, size = [], 0
        waiting.append(one)
        size += one.length
    return [*splits, _split(waiting, topic, properties)] if waiting else splits


def ranges_of(split: Split) -> list[OffsetRange]:
    """Ranges of a split of `range_splits`."""
    texts = dict(split.properties).get(RANGES)
    if texts is None:
        raise InternalError(f"{split.path} has no ranges of offsets")
    return [OffsetRange.parse(text) for text in texts.split(",")]


def _pieces(ranges: list[OffsetRange], most: int) -> Iterator[OffsetRange]:
    for one in ranges:
        for start in range(one.start, one.end, most):
            yield OffsetRange(one.partition, start, min(start + most, one.end))


def _split(ranges: list[OffsetRange], topic: str, properties: Properties) -> Split:
    texts = ",".join(map(str, ranges))
    length = sum(one.length for one in ranges)
    path = f"{NAME}:{topic}/{texts}"
    return Split(path, NAME, (*properties, (RANGES, texts)), ranges[0].start, length, length * _RECORD_BYTES, 0)


_MOST_RECORDS = 16384
_MOST_BYTES = 16 << 20
_WAIT_SECONDS = 0.01
"""Longest time in which the consumer gathers records. It returns earlier only with the full number of records."""
_ANSWER_SECONDS = 10.0
STALL_SECONDS = 20.0
"""Time without any record after which the brokers are considered gone."""
_log = logging.getLogger(__name__)


def lost_records(topic: str, partition: int, start: int, end: int) -> SourceError:
    """Error for offsets that no longer exist."""
    message = f'records {start} to {end - 1} of partition {partition} of the topic "{topic}" are gone'
    return SourceError(message, hint=f"'{FAIL_ON_LOSS}' = 'false' goes on with the remaining records")


@dataclass(slots=True)
class Fetch:
    """Reader of ranges of a topic, at most one for each partition.

    1. Offsets may have gaps: compacted records, records of aborted transactions, and transaction markers. A range ends
       when a record at or after its end arrives, or the partition ends there.
    2. ExecutionError 08006 if nothing arrives for a while; SourceError if records are gone. With `failOnDataLoss`
       'false' lost records are skipped with a warning.
    """

    connection: Connection
    topic: str
    options: Options
    _left: dict[int, OffsetRange] = field(default_factory=dict)
    """Remaining ranges by partition, from the next wanted offset on."""

    def records(self, ranges: list[OffsetRange]) -> Iterator[list[Message]]:
        """Records of the ranges in batches that fit in memory, in the order of their offsets within each partition."""
        self._left = {one.partition: one for one in ranges}
        self._assign()
        waiting, size, progressed = list["Message"](), 0, time.monotonic()
        while self._left:
            check_cancelled()
            wanted = sum(one.length for one in self._left.values())
            messages = self.connection.consumer.consume(min(wanted, _MOST_RECORDS), _WAIT_SECONDS)
            if messages and (taken := self._taken(messages)):
                # If a partition ends too early, only end-of-partition events arrive.
                progressed = time.monotonic()
                size += sum(map(len, taken))
                waiting = waiting + taken if waiting else taken
            elif time.monotonic() - progressed > STALL_SECONDS:
                raise broker_error(self.connection.fault, self.options, self.topic)
            if len(waiting) >= _MOST_RECORDS or size >= _MOST_BYTES:
                yield waiting
                waiting, size = [], 0
        if waiting:
            yield waiting

    def _taken(self, messages: list[Message]) -> list[Message]:
        """Note the progress of the partitions; return the wanted records."""
        from confluent_kafka import Message

        # `map` calls the methods: a Python loop would take as long as everything else.
        errors, events = list(map(Message.error, messages)), list[Message]()
        if not all(map(is_, errors, repeat(None))):
            events = [one for one, error in zip(messages, errors, strict=True) if error is not None]
            messages = [one for one, error in zip(messages, errors, strict=True) if error is None]
        if messages:
            messages = self._of_one(messages) if len(self._left) == 1 else self._of_several(messages)
        # The end-of-partition event comes after the partition's records.
        for event in events:
            self._event(event)
        return messages

    def _of_one(self, messages: list[Message]) -> list[Message]:
        """Records of the only remaining range. Records of other ranges after their ends may still arrive."""
        (one,) = self._left.values()
        last = messages[-1]
        if any(place.partition() != one.partition for place in (messages[0], last)) or _offset(messages[0]) < one.start:
            return self._of_several(messages)
        self._reach(one, _offset(last) + 1)
        return messages if _offset(last) < one.end else messages[: bisect_left(messages, one.end, key=_offset)]

    def _of_several(self, messages: list[Message]) -> list[Message]:
        from confluent_kafka import Message

        offsets = np.fromiter(map(Message.offset, messages), np.int64, len(messages))
        partitions = np.fromiter(map(Message.partition, messages), np.int32, len(messages))
        wanted = np.zeros(len(messages), bool)
        for one in list(self._left.values()):
            of_partition = partitions == one.partition
            found = offsets[of_partition]
            if len(found):
                wanted |= of_partition & (offsets >= one.start) & (offsets < one.end)
                self._reach(one, int(found[-1]) + 1)
        return messages if wanted.all() else [messages[place] for place in np.flatnonzero(wanted)]

    def _event(self, message: Message) -> None:
        """Note the end of a partition; raise all other errors."""
        from confluent_kafka import KafkaError

        error, partition, offset = message.error(), message.partition(), message.offset()
        code = None if error is None else error.code()
        one = None if partition is None else self._left.get(partition)
        if code == KafkaError._PARTITION_EOF:
            if one is not None and offset is not None:
                self._reach(one, offset)
        elif code in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            if one is not None:
                self._leave_out(one)
        else:
            raise self._failure(error)

    def _reach(self, one: OffsetRange, offset: int) -> None:
        """Note that a partition has reached `offset`."""
        if offset < one.end:
            self._left[one.partition] = OffsetRange(one.partition, max(offset, one.start), one.end)
            return
        del self._left[one.partition]
        if self._left:
            self.connection.consumer.incremental_unassign([self._place(one)])

    def _leave_out(self, one: OffsetRange) -> None:
        """Continue after records that are gone; SourceError unless they may be skipped."""
        from confluent_kafka import KafkaException

        try:
            bounds = self.connection.consumer.get_watermark_offsets(self._place(one), timeout=_ANSWER_SECONDS)
        except KafkaException as error:
            raise self._failure(error.args[0]) from None
        if bounds is None:
            raise self._failure(None)
        first, end = bounds
        if end < one.end:
            raise SourceError(f'partition {one.partition} of the topic "{self.topic}" ends at {end}, before {one.end}')
        first = min(max(first, one.start), one.end)
        if is_strict(self.options):
            raise lost_records(self.topic, one.partition, one.start, first)
        warn_of_loss(self.topic, one.partition, first - one.start)
        self._left[one.partition] = OffsetRange(one.partition, first, one.end)
        if first == one.end:
            del self._left[one.partition]
        self._assign()

    def _assign(self) -> None:
        self.connection.consumer.assign([self._place(one) for one in self._left.values()])

    def _place(self, one: OffsetRange) -> TopicPartition:
        place: TopicPartition = require_library().TopicPartition(self.topic, one.partition, one.start)
        return place

    def _failure(self, error: Any) -> SharkError:
        return broker_error(error, self.options, self.topic)


def is_strict(options: Options) -> bool:
    """True if lost records are an error."""
    return dict(options).get(FAIL_ON_LOSS, "true").lower() != "false"


def warn_of_loss(topic: str, partition: int, count: int) -> None:
    _log.warning("%d records of partition %d of the topic %s are gone and were not read", count, partition, topic)


def _offset(message: Message) -> int:
    """Offset of a record."""
    offset = message.offset()
    assert offset is not None  # only messages that are not records have none
    return offset
