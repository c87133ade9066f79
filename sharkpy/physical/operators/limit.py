"""First rows of each task."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.physical.distribution import Distribution
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.expr import ColumnRef


@dataclass(frozen=True, slots=True)
class LimitOperator(PhysicalPlan):
    """Rows [offset, offset + count) of each task; if count is None, all after the offset."""

    child: PhysicalPlan
    count: int | None
    offset: int = 0

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.child.output

    @property
    def distribution(self) -> Distribution:
        return self.child.distribution

    @property
    def label(self) -> str:
        return f"Limit {self.count}" + (f" offset {self.offset}" if self.offset else "")
