"""Sort of the rows of each task."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.physical.distribution import Distribution
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.expr import ColumnRef, SortKey
from sharkpy.plan.node import bracketed


@dataclass(frozen=True, slots=True)
class SortOperator(PhysicalPlan):
    child: PhysicalPlan
    keys: tuple[SortKey, ...]

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.child.output

    @property
    def distribution(self) -> Distribution:
        return self.child.distribution

    @property
    def label(self) -> str:
        return f"Sort {bracketed(self.keys)}"
