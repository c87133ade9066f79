"""LATERAL VIEW: each row joined with the rows that a table function makes from it."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.physical.distribution import Distribution
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.expr import Call, ColumnRef
from sharkpy.plan.node import bracketed


@dataclass(frozen=True, slots=True)
class Generate(PhysicalPlan):
    """Rows with their generated rows; `outer` keeps a row without generated rows, with NULLs."""

    child: PhysicalPlan
    generator: Call
    columns: tuple[ColumnRef, ...]
    outer: bool

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.child.output + self.columns

    @property
    def distribution(self) -> Distribution:
        return self.child.distribution

    @property
    def label(self) -> str:
        return f"Generate {'outer ' if self.outer else ''}{self.generator} as {bracketed(self.columns)}"
