"""Rows that a Python program hands over."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.physical.distribution import Distribution, Single, Unspecified
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.given_rows import GivenRows
from sharkpy.plan.node import listed


@dataclass(frozen=True, slots=True)
class GivenScan(PhysicalPlan):
    """An RDD's rows are in its tasks, which read and write them; those of this process are in one task here."""

    columns: tuple[ColumnRef, ...]
    rows: GivenRows

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.columns

    @property
    def distribution(self) -> Distribution:
        return Single() if self.rows.is_here else Unspecified()

    @property
    def label(self) -> str:
        return f"Given {listed(self.columns)} from {self.rows.label}"
