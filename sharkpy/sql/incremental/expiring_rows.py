"""Rows of one side of a stream join, kept as long as later rows of the other side may match them."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.plan.expr import Call, Expr, disjunction
from sharkpy.plan.logical import Filter, Join, JoinKind, LogicalPlan, Project
from sharkpy.plan.session_windows import time_after
from sharkpy.sql.incremental.kept_rows import KeptRows
from sharkpy.sql.incremental.state import Kept
from sharkpy.values.types import BOOLEAN, Schema


@dataclass(frozen=True, slots=True)
class ExpiringRows:
    """State of the rows of one side of a join.

    Rows of the other side match rows whose time is at most `reach` microseconds before theirs. So a stored row expires
    when the other side's watermark, as of before the epoch, is more than `reach` past its time. It is then not joined
    any more, whether a fold has removed it or not. A new row may match stored rows if the other side is ahead. So it
    expires only when its own side's watermark is that far ahead, too.
    """

    rows: KeptRows
    time: int
    """Place of the time among the columns."""
    reach: int
    other: int
    """Place of the part with the watermark of the other side."""
    own: int | None
    """Place of the part with the watermark of this side; None if all new rows are joined."""

    @property
    def schema(self) -> Schema:
        return self.rows.schema

    def delta(self, kept: Kept) -> LogicalPlan:
        return self.rows.delta(kept)

    def read(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        return self.rows.read(self.live(rows, kept), kept)

    def fold(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        """Fold the rows that have not expired.

        `kept` has the watermark of the folded rows, which is at most the watermark of all rows.
        """
        return self.rows.fold(self.live(rows, kept), kept)

    @property
    def label(self) -> str:
        return "rows of a side of a join, while the watermark of the other one says that some may match them"

    @property
    def growth(self) -> str | None:
        return None

    def live(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        """Rows of the state that rows in time may still match."""
        return reaching(rows, self.time, self.reach, kept(self.other))

    def live_new(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        """Rows of an epoch that rows in time, stored or new, may match."""
        if self.own is None:
            return rows
        return reaching(rows, self.time, self.reach, *map(kept, dict.fromkeys((self.other, self.own))))


def reaching(rows: LogicalPlan, time: int, reach: int, *watermarks: LogicalPlan) -> LogicalPlan:
    """Rows whose time is at most `reach` microseconds before one of the watermarks.

    `time` is the place of the column. A watermark that is NULL keeps all rows.
    """
    columns, until = rows.output, time_after(rows.output[time], reach)
    terms = list[Expr]()
    for watermark in watermarks:
        mark = watermark.output[0]
        rows = Join(rows, watermark, JoinKind.CROSS)
        terms += (Call("is_null", (mark,), BOOLEAN), Call("ge", (until, mark), BOOLEAN))
    is_live = disjunction(terms)
    assert is_live is not None  # there is a watermark
    return Project(Filter(rows, is_live), columns)
