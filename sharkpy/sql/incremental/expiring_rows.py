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
    microseconds before theirs. So rows are joined no more from which the other side's watermark, as it was before an
    epoch, is further away: neither those that are kept, whether folds have removed them or not, nor those that come.
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
        return self.rows.read(self.live(rows, kept), kept)

    def fold(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        """`kept` has the watermark of the folded rows, which is not beyond that of all."""
        return self.rows.fold(self.live(rows, kept), kept)

    @property
    def label(self) -> str:
        return "rows of a side of a join, while the watermark of the other one says that some may match them"

    @property
    def growth(self) -> str | None:
        return None

    def live(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        """Rows of the side, or of the state, that rows in time may still match."""
        return reaching(rows, self.time, self.reach, kept(self.other))


def reaching(rows: LogicalPlan, time: int, reach: int, watermark: LogicalPlan) -> LogicalPlan:
    """Rows from whose time, the column at a place, a watermark is not further away than `reach` microseconds."""
    mark = watermark.output[0]
    is_near = Call("ge", (behind(rows.output[time], reach), mark), BOOLEAN)
    is_live = Call("or", (Call("is_null", (mark,), BOOLEAN), is_near), BOOLEAN)
    return Project(Filter(Join(rows, watermark, JoinKind.CROSS), is_live), rows.output)
