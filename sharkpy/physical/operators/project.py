"""Computation of expressions row by row."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.physical.distribution import Distribution, Hashed
from sharkpy.physical.plan import PhysicalPlan, retained
from sharkpy.plan.expr import Alias, ColumnRef
from sharkpy.plan.node import bracketed


@dataclass(frozen=True, slots=True)
class Project(PhysicalPlan):
    child: PhysicalPlan
    items: tuple[Alias | ColumnRef, ...]

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return tuple(item.ref if isinstance(item, Alias) else item for item in self.items)

    @property
    def distribution(self) -> Distribution:
        below = self.child.distribution
        if not isinstance(below, Hashed):
            return below
        return retained(
            Hashed(tuple(self._renamed().get(key, key) for key in below.keys), below.num_buckets), self.output
        )

    def _renamed(self) -> dict[int, int]:
        """Columns of the child that only get a new id."""
        kept = {item.column_id for item in self.items if isinstance(item, ColumnRef)}
        aliases = [item for item in self.items if isinstance(item, Alias)]
        return {
            alias.expr.column_id: alias.column_id
            for alias in reversed(aliases)
            if isinstance(alias.expr, ColumnRef) and alias.expr.column_id not in kept
        }

    @property
    def label(self) -> str:
        return f"Project {bracketed(self.items)}"
