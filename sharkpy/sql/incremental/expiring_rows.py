"""Rows of a side of a join of streams that are kept as long as rows of the other side may come that match them."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.plan.expr import Call
from sharkpy.plan.logical import Filter, Join, JoinKind, LogicalPlan, Project
from sharkpy.plan.sessions import behind
from sharkpy.sql.incremental.kept_rows import KeptRows
from sharkpy.sql.incremental.state import Kept
from sharkpy.values.types import BOOLEAN, Schema


@dataclass(frozen=True, slots=True)
class ExpiringRows:
    """State of the rows of a side of a join. Rows of the other side match those whose time is up to `reach`
    microseconds before theirs. So an epoch does not see rows any more from which the other side's watermark, as it was
    before the epoch, is further away; whether folds have removed them makes no difference.
    """

    rows: KeptRows
    time: int
    """Place of the time among the columns."""
    reach: int
    other: int
    """Part of the state with the watermark of the other side."""

    @property
    def schema(self) -> Schema:
        return self.rows.schema

    def delta(self, kept: Kept) -> LogicalPlan:
        return self.rows.delta(kept)

    def read(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        return self.rows.read(self._live(rows, kept), kept)

    def fold(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        """`kept` has the watermark of the folded rows, which is not beyond that of all."""
        return self.rows.fold(self._live(rows, kept), kept)

    @property
    def label(self) -> str:
        return "rows of a side of a join, while the watermark of the other one says that some may match them"

    @property
    def growth(self) -> str | None:
        return None

    def _live(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        """Rows of the state that others may still match."""
        watermark = kept(self.other)
        mark = watermark.output[0]
        may_match = Call("ge", (behind(rows.output[self.time], self.reach), mark), BOOLEAN)
        is_live = Call("or", (Call("is_null", (mark,), BOOLEAN), may_match), BOOLEAN)
        return Project(Filter(Join(rows, watermark, JoinKind.CROSS), is_live), rows.output)
