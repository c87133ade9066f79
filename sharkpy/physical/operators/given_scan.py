"""Rows passed in by a Python program."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.physical.distribution import Distribution, Single, Unspecified
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.arrow_data import GivenRows
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.node import bracketed


@dataclass(frozen=True, slots=True)
class GivenScan(PhysicalPlan):
    """Rows of a Python program: an RDD's are in its tasks, which read and write them. Local ones are in one task."""

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
        return f"Given {bracketed(self.columns)} from {self.rows.label}"
