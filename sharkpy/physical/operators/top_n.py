"""First rows of each task by an order."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.physical.distribution import Distribution
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.expr import ColumnRef, SortKey
from sharkpy.plan.node import bracketed


@dataclass(frozen=True, slots=True)
class TopN(PhysicalPlan):
    """Rows [offset, offset + count) of each task by `keys`, in that order."""

    child: PhysicalPlan
    keys: tuple[SortKey, ...]
    count: int
    offset: int = 0

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.child.output

    @property
    def distribution(self) -> Distribution:
        return self.child.distribution

    @property
    def label(self) -> str:
        offset = f" offset {self.offset}" if self.offset else ""
        return f"TopN {self.count}{offset} {bracketed(self.keys)}"
