"""Ranges of offsets, and the splits of an epoch that consist of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from sharkpy.base.errors import InternalError
from sharkpy.catalog.continuous_query import Position
from sharkpy.sources.source import Properties
from sharkpy.sources.split import Split

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
