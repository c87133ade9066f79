"""What the optimizer asks about tables. Every figure is an estimate: no rule may rely on one for its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sharkpy.catalog.model import Table
from sharkpy.expr import PythonValue


@dataclass(frozen=True, slots=True)
class ColumnEstimate:
    """Distinct values, smallest and largest value (as Python values of the logical type), share of NULLs."""

    ndv: float | None = None
    min: PythonValue = None
    max: PythonValue = None
    null_fraction: float = 0.0


class StatisticsProvider(Protocol):
    """Both calls must be cheap: they are made while a statement is planned."""

    def num_rows(self, table: Table, /) -> int | None:
        """Rows of `table`, None where nobody knows."""

    def column(self, table: Table, name: str, /) -> ColumnEstimate | None:
        """Figures of a column, None where nobody knows."""


class NoStatistics:
    """A provider that knows nothing."""

    def num_rows(self, _table: Table, /) -> int | None:
        return None

    def column(self, _table: Table, _name: str, /) -> ColumnEstimate | None:
        return None
