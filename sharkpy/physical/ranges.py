"""Intervals of integers proved by statistics, and their arithmetic.

A DECIMAL is counted in units of its last digit, a DATE in days; `low` and `high` are then the scaled integers.
"""

from __future__ import annotations

from dataclasses import dataclass

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
