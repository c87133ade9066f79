"""Cache of rows of small files that are read repeatedly, such as a table joined in each epoch."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

import pyarrow as pa

from sharkpy.sources.open_files import check_unchanged
from sharkpy.sources.source import ReadMetrics, Split
from sharkpy.values.types import Schema

MOST_BYTES = 16 << 20
KEPT_SECONDS = 10.0
"""Seconds since the last use after which the next access removes the rows."""
_CLOCK_NS = 100_000_000
"""Two changes of a file within this time may have the same timestamp."""
_Key = tuple[Split, Schema, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class SplitRows:
    """Some columns of a split's rows, the figures of reading them, and their bytes."""

    batches: tuple[pa.RecordBatch, ...]
    metrics: ReadMetrics
    size_bytes: int


class KeptSplits:
    """Cache of rows by split, which has its file's path, size and time. Thread-safe.

    1. Rows are returned only for an unchanged file. If the file is gone or has changed, SourceError is raised, as by a
       reader.
    2. Files written very recently are not cached: another write may leave size and time unchanged.
    """

    def __init__(self, most_bytes: int = MOST_BYTES, seconds: float = KEPT_SECONDS) -> None:
        """Cache at most `most_bytes`, and each split's rows until `seconds` after their last use."""
        self._most_bytes = most_bytes
        self._seconds = seconds
        self._lock = threading.Lock()
        self._known: OrderedDict[_Key, tuple[SplitRows, float]] = OrderedDict()
        """Rows with the time of their last use, least recently used first."""
        self._size = 0

    @property
    def size_bytes(self) -> int:
        return self._size

    def find(self, split: Split, schema: Schema, names: tuple[str, ...]) -> SplitRows | None:
        key = split, schema, names
        with self._lock:
            self._forget_old()
            if key not in self._known:
                return None
            rows, _ = self._known.pop(key)
            self._known[key] = rows, time.monotonic()
        check_unchanged(split)
        return rows

    def keep(self, split: Split, schema: Schema, names: tuple[str, ...], rows: SplitRows) -> None:
        """Cache the rows of a split of a file, unless they are large or the file is very recent."""
        is_file = split.modified_ns > 0
        if not is_file or time.time_ns() - split.modified_ns < _CLOCK_NS or rows.size_bytes > self._most_bytes // 2:
            return
        key = split, schema, names
        with self._lock:
            self._forget_old()
            if key not in self._known:
                self._known[key] = rows, time.monotonic()
                self._size += rows.size_bytes
            while self._size > self._most_bytes:
                self._forget_first()

    def clear(self) -> None:
        with self._lock:
            self._known.clear()
            self._size = 0

    def _forget_old(self) -> None:
        while self._known and time.monotonic() - next(iter(self._known.values()))[1] > self._seconds:
            self._forget_first()

    def _forget_first(self) -> None:
        _, (rows, _) = self._known.popitem(last=False)
        self._size -= rows.size_bytes


kept_splits = KeptSplits()
"""Cache of this process."""
