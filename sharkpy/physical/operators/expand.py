"""Repetition of each row, once per grouping set."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.physical.distribution import Distribution
from sharkpy.physical.plan import PhysicalPlan, retained
from sharkpy.plan.expr import ColumnRef, Expr
from sharkpy.plan.node import bracketed


@dataclass(frozen=True, slots=True)
class Expand(PhysicalPlan):
    """Repetition of the child's rows; `projections[i][j]` computes output column j in set i."""

    child: PhysicalPlan
    columns: tuple[ColumnRef, ...]
    projections: tuple[tuple[Expr, ...], ...]

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.columns

    @property
    def distribution(self) -> Distribution:
        return retained(self.child.distribution, ())

    @property
    def label(self) -> str:
        return f"Expand {bracketed(self.columns)} {len(self.projections)} sets"
