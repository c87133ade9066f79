"""Literal rows."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.physical.distribution import Distribution, Single
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.expr import ColumnRef, Expr
from sharkpy.plan.node import bracketed


@dataclass(frozen=True, slots=True)
class ValuesScan(PhysicalPlan):
    """Rows computed in one task. `reason` says where they come from if not from the query's text."""

    columns: tuple[ColumnRef, ...]
    rows: tuple[tuple[Expr, ...], ...]
    reason: str = ""

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.columns

    @property
    def distribution(self) -> Distribution:
        return Single()

    @property
    def label(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        return f"Values {bracketed(self.columns)} {len(self.rows)} rows{reason}"
