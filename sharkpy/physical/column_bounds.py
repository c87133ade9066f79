"""Bounds of a scan's columns, known before its blocks are read. Programs for the scan rely only on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sharkpy.physical.ranges import ColumnRange

MOST_STRINGS = 100
"""Largest number of values for which a string column has few."""
_Strings = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """Bounds of a scan's rows and stored columns.

    Lowering sees these and no block, so a program is valid for all blocks within the bounds.
    """

    ranges: tuple[tuple[str, ColumnRange], ...] = ()
    """Ranges of columns whose values are stored as integers, by name."""
    distinct: _Strings = ()
    """All values, sorted, of string columns with few, by name."""
    most_rows: int | None = None
    """Largest number of rows; None if unknown."""

    def with_rows(self, num_rows: int) -> ColumnBounds:
        """Return the bounds of at most `num_rows` of the rows."""
        most = num_rows if self.most_rows is None else min(self.most_rows, num_rows)
        return self if most == self.most_rows else replace(self, most_rows=most)

    def holds(self, other: ColumnBounds) -> bool:
        """True if all rows within `other` are within these bounds."""
        if self.most_rows is not None and (other.most_rows is None or other.most_rows > self.most_rows):
            return False
        ranges, strings = dict(other.ranges), dict(other.distinct)
        has_ranges = all(name in ranges and mine.holds(ranges[name]) for name, mine in self.ranges)
        return has_ranges and all(name in strings and set(strings[name]) <= set(mine) for name, mine in self.distinct)

    def joined(self, other: ColumnBounds) -> ColumnBounds:
        """Return the bounds of rows that are within these or within `other`."""
        ranges, strings = dict(other.ranges), dict(other.distinct)
        rows = None if self.most_rows is None or other.most_rows is None else max(self.most_rows, other.most_rows)
        return ColumnBounds(
            tuple((name, mine.joined(ranges[name])) for name, mine in self.ranges if name in ranges),
            tuple(_joined_strings(self.distinct, strings)),
            rows,
        )

    def widened(self) -> ColumnBounds:
        """Return bounds for up to about twice as many rows and twice as large numbers."""
        most = None if self.most_rows is None else 1 << self.most_rows.bit_length()
        return replace(self, ranges=tuple((name, one.widened()) for name, one in self.ranges), most_rows=most)


def _joined_strings(mine: _Strings, others: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield all values of the columns that still have few."""
    for name, values in mine:
        joined = sorted({*values, *others[name]}) if name in others else ()
        if joined and len(joined) <= MOST_STRINGS:
            yield name, tuple(joined)
