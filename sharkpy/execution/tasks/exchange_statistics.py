"""Statistics about the rows that map tasks move (after Shark's PDE).

1. A task makes one of each collector, lets it observe each window of rows, and encodes its findings.
2. A task's collectors share TASK_BYTES. A collector coarsens its findings to fit its share, or returns nothing.
3. The driver merges one part per map task: retries and copies return the same part.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from sharkpy.base.errors import InternalError
from sharkpy.base.records import dataclass
from sharkpy.physical.plan import SpreadKey

Numbers = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Window:
    """Window of a task's rows: `counts[b]` of them go to bucket b.

    `spread` has the number of spread buckets of each key dealt so far, by the key's hash.
    """

    counts: Numbers
    spread: Mapping[int, int]


_EXACT, _ROUGH = 0, 1
_HEAD = struct.Struct("<BIHq")


class RowsPerBucket:
    """Rows per bucket: exact if they fit, else to an eighth of a doubling, else of neighbouring buckets together."""

    def __init__(self) -> None:
        self._counts: Numbers = np.zeros(0, np.int64)

    def observe(self, window: Window) -> None:
        self._counts = window.counts if not len(self._counts) else self._counts + window.counts

    def encode(self, limit: int) -> bytes:
        """Encode the kind, buckets, buckets that share a figure, rows in all, and the figures."""
        counts = self._counts
        total = int(counts.sum())
        exact = zlib.compress(np.diff(counts, prepend=0).astype("<i8").tobytes(), 1)
        if _HEAD.size + len(exact) <= limit:
            return _HEAD.pack(_EXACT, len(counts), 1, total) + exact
        width = -(-len(counts) // max(1, limit - _HEAD.size))
        sums = np.add.reduceat(counts, np.arange(0, len(counts), width))
        rough = np.ceil(np.log2(sums + 1.0) * 4).astype(np.uint8)
        return _HEAD.pack(_ROUGH, len(counts), width, total) + bytes(rough)

    @staticmethod
    def merge(parts: Sequence[bytes]) -> tuple[int, ...]:
        total = sum(map(_decode, parts), np.zeros(1))
        return tuple(int(rows) for rows in np.rint(total))


def _decode(part: bytes) -> Numbers:
    kind, size, width, rows = _HEAD.unpack_from(part)
    body = part[_HEAD.size :]
    if kind == _EXACT:
        return np.cumsum(np.frombuffer(zlib.decompress(body), "<i8")).astype(np.float64)
    shares = np.exp2(np.frombuffer(body, np.uint8) / 4.0) - 1
    spread: Numbers = np.repeat(shares / width, width)[:size]
    # The task's total is known, so the rounding error is scaled away.
    scaled: Numbers = spread * (rows / max(spread.sum(), 1.0))
    return scaled


MOST_KEYS = 32
"""Limit on the keys that one task may deal over spread buckets."""
_ENTRY = np.dtype([("key_hash", "<u8"), ("pieces", "<u2")])
ENCODED_BYTES = MOST_KEYS * _ENTRY.itemsize


class SpreadKeys:
    """Keys that a task dealt over spread buckets; all of them, because the reading stage relies on them."""

    def __init__(self) -> None:
        self._pieces: dict[int, int] = {}

    def observe(self, window: Window) -> None:
        self._pieces.update(window.spread)

    def encode(self, limit: int) -> bytes:  # noqa: ARG002 - it cannot shrink, and fits its row's bytes
        return np.array(sorted(self._pieces.items()), _ENTRY).tobytes()

    @staticmethod
    def merge(parts: Sequence[bytes]) -> tuple[SpreadKey, ...]:
        pieces: dict[int, int] = {}
        for part in parts:
            for entry in np.frombuffer(part, _ENTRY):
                key = int(entry["key_hash"])
                pieces[key] = max(pieces.get(key, 0), int(entry["pieces"]))
        return tuple(SpreadKey(key, count) for key, count in sorted(pieces.items()))


TASK_BYTES = 2048
"""Limit on the bytes that one task may report."""
_SIZE = struct.Struct("<H")


class Collector(Protocol):
    """Collector of one statistic in a task."""

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
