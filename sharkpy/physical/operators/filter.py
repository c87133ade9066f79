"""Filter of the rows for which a predicate is TRUE."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.physical.distribution import Distribution
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.expr import ColumnRef, Expr


@dataclass(frozen=True, slots=True)
class Filter(PhysicalPlan):
    child: PhysicalPlan
    predicate: Expr

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.child.output

    @property
    def distribution(self) -> Distribution:
        return self.child.distribution

    @property
    def label(self) -> str:
        return f"Filter {self.predicate}"
