"""Rows of several inputs."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.physical.distribution import Distribution
from sharkpy.physical.plan import PhysicalPlan, union_distribution
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.node import bracketed


@dataclass(frozen=True, slots=True)
class UnionAll(PhysicalPlan):
    """Rows of all `inputs`; column i of each input becomes `columns[i]`."""

    inputs: tuple[PhysicalPlan, ...]
    columns: tuple[ColumnRef, ...]

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.columns

    @property
    def distribution(self) -> Distribution:
        return union_distribution(tuple(child.distribution for child in self.inputs))

    @property
    def label(self) -> str:
        return f"UnionAll {bracketed(self.columns)}"
