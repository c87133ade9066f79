"""Computation of window functions."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.physical.distribution import Distribution
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.expr import Alias, ColumnRef
from sharkpy.plan.node import bracketed


@dataclass(frozen=True, slots=True)
class WindowOperator(PhysicalPlan):
    """Child's columns and one per window. All rows of a window partition are in one task."""

    child: PhysicalPlan
    windows: tuple[Alias, ...]

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.child.output + tuple(item.ref for item in self.windows)

    @property
    def distribution(self) -> Distribution:
        return self.child.distribution

    @property
    def label(self) -> str:
        return f"Window {bracketed(self.windows)}"
