"""Figures of tables and columns for the optimizer. All are estimates: no rule may depend on them for its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sharkpy.catalog.model import Table
from sharkpy.plan.expr import PythonValue

RangeShare = Callable[[Sequence[tuple[str, PythonValue]]], float | None]
"""Share of a column's values that match all limits, each "lt", "le", "gt" or "ge" with a value; None if unknown."""
PrefixShare = Callable[[str], float | None]
"""Share of a column's strings with a prefix."""


@dataclass(frozen=True, slots=True)
class ColumnEstimate:
    """Distinct values, smallest and largest value (as Python values of the logical type), share of NULLs.

    `range_share` and `prefix_share`, if present, use the distribution of the values.
    """

    ndv: float | None = None
    min: PythonValue = None
    max: PythonValue = None
    null_fraction: float = 0.0
    range_share: RangeShare | None = field(default=None, compare=False, repr=False)
    prefix_share: PrefixShare | None = field(default=None, compare=False, repr=False)


class StatisticsProvider(Protocol):
    """Source of figures. Both calls must be cheap, since they are made during planning."""

    def num_rows(self, table: Table, /) -> int | None:
        """Return the rows of `table`, or None if unknown."""

    def column(self, table: Table, name: str, /) -> ColumnEstimate | None:
        """Return the figures of a column, or None if unknown."""


class NoStatistics:
    """A provider without figures."""

    def num_rows(self, _table: Table, /) -> int | None:
        return None

    def column(self, _table: Table, _name: str, /) -> ColumnEstimate | None:
        return None
