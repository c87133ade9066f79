"""Bounds of a scan's columns, known before its blocks are read. Programs for the scan rely only on them.

A DECIMAL is counted in units of its last digit, a DATE in days; ranges are then ranges of the scaled integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sharkpy.base.records import dataclass

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


_WIDTHS = (("TINYINT", 7), ("SMALLINT", 15), ("INTEGER", 31), ("BIGINT", 63))
_LEAST_BITS = _WIDTHS[0][1]


@dataclass(frozen=True, slots=True)
class ColumnRange:
    """Range [low, high] of a column's values that are not NULL."""

    low: int
    high: int

    def __add__(self, other: ColumnRange) -> ColumnRange:
        return ColumnRange(self.low + other.low, self.high + other.high)

    def __sub__(self, other: ColumnRange) -> ColumnRange:
        return ColumnRange(self.low - other.high, self.high - other.low)

    def __mul__(self, other: ColumnRange) -> ColumnRange:
        products = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return ColumnRange(min(products), max(products))

    def __neg__(self) -> ColumnRange:
        return ColumnRange(-self.high, -self.low)

    def scaled(self, digits: int) -> ColumnRange:
        """Return the range of the same values in units smaller by 10 ** digits."""
        return ColumnRange(self.low * 10**digits, self.high * 10**digits)

    def joined(self, other: ColumnRange) -> ColumnRange:
        return ColumnRange(min(self.low, other.low), max(self.high, other.high))

    def holds(self, other: ColumnRange) -> bool:
        return self.low <= other.low and other.high <= self.high

    def widened(self) -> ColumnRange:
        """Return the range with zero, extended to powers of two, and at least to the range of TINYINT."""
        low = -_power_above(~self.low) if self.low < 0 else 0
        return ColumnRange(low, _power_above(self.high) - 1 if self.high > 0 else 0)

    @property
    def magnitude(self) -> int:
        return max(abs(self.low), abs(self.high))

    @property
    def sql_type(self) -> str | None:
        """Narrowest signed DuckDB integer type that holds the range; None if BIGINT does not."""
        for name, bits in _WIDTHS:
            if -(1 << bits) <= self.low and self.high < (1 << bits):
                return name
        return None


def _power_above(number: int) -> int:
    return 1 << max(number.bit_length(), _LEAST_BITS)
