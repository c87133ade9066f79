"""Bytes of a file that are present, as ranges."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from sharkpy.sources.storage.ranges import Range


class Spans:
    """Ranges of present bytes, sorted and not touching."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    @property
    def size_bytes(self) -> int:
        return sum(self._ends) - sum(self._starts)

    def add(self, start: int, end: int) -> None:
        """Note that bytes are present; an empty range has none."""
        if start >= end:
            return
        first, last = bisect_left(self._ends, start), bisect_right(self._starts, end)
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
        self._starts[first:last], self._ends[first:last] = [start], [end]

    def missing(self, ranges: Iterable[Range]) -> list[Range]:
        """Parts of some ranges that are not present."""
        return [part for start, end in ranges for part in self._missing(start, end)]

    def _missing(self, start: int, end: int) -> list[Range]:
        found, place = list[Range](), start
        index = bisect_right(self._ends, start)
        while place < end:
            begin = self._starts[index] if index < len(self._starts) else end
            if place < begin:
                found.append((place, min(begin, end)))
            if begin >= end:
                break
            place, index = self._ends[index], index + 1
        return found
