"""Collectors of statistics about the rows that map tasks move (after Shark's PDE).

1. A task makes one of each, lets it observe each window of rows, and encodes its findings.
2. A task's collectors share TASK_BYTES. A collector coarsens its findings to fit its share, or returns nothing.
3. The driver merges one part per map task: retries and copies return the same part.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sharkpy.base.errors import InternalError
from sharkpy.execution.tasks.exchange_statistics import ENCODED_BYTES, RowsPerBucket, SpreadKeys, Window

TASK_BYTES = 2048
"""Limit on the bytes that one task may report."""
_SIZE = struct.Struct("<H")


class Collector(Protocol):
    def observe(self, window: Window) -> None: ...
    def encode(self, limit: int) -> bytes: ...


@dataclass(frozen=True, slots=True)
class CollectorRow:
    """Row of a collector: `name` is the field of ExchangeStatistics that `merge` fills.

    `max_bytes` limits a task's part.
    """

    name: str
    make: Callable[[], Collector]
    merge: Callable[[Sequence[bytes]], Any]
    max_bytes: int


COLLECTORS: tuple[CollectorRow, ...] = (
    # First, because it cannot shrink: without it rows would not be found.
    CollectorRow("spread_keys", SpreadKeys, SpreadKeys.merge, ENCODED_BYTES),
    # Last, because it takes the remaining bytes.
    CollectorRow("rows_per_bucket", RowsPerBucket, RowsPerBucket.merge, TASK_BYTES),
)


class TaskCollectors:
    """Collectors of one task."""

    def __init__(self) -> None:
        self._collectors = [row.make() for row in COLLECTORS]

    def observe(self, window: Window) -> None:
        for collector in self._collectors:
            collector.observe(window)

    def encode(self, limit: int = TASK_BYTES) -> bytes:
        """Return the parts in the order of the table, each after its length."""
        left = limit - _SIZE.size * len(COLLECTORS)
        parts: list[bytes] = []
        for row, collector in zip(COLLECTORS, self._collectors, strict=True):
            allowed = min(row.max_bytes, left)
            part = collector.encode(allowed)
            if len(part) > allowed:
                raise InternalError(f"collector {row.name} took {len(part)} bytes of {allowed}")
            left -= len(part)
            parts.append(_SIZE.pack(len(part)) + part)
        return b"".join(parts)


def merge_collected(encoded: Sequence[bytes]) -> dict[str, Any]:
    """Merge the statistics of all tasks, by name. Those without any part are left out."""
    columns: list[list[bytes]] = [[] for _ in COLLECTORS]
    for task in encoded:
        start = 0
        for column in columns:
            (size,) = _SIZE.unpack_from(task, start)
            start += _SIZE.size
            if size:
                column.append(task[start : start + size])
            start += size
    return {row.name: row.merge(column) for row, column in zip(COLLECTORS, columns, strict=True) if column}
