"""Rows of a side of a join of streams that are kept as long as rows of the other side may come that match them."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.plan.expr import Call, Expr, disjunction
from sharkpy.plan.logical import Filter, Join, JoinKind, LogicalPlan, Project
from sharkpy.plan.sessions import behind
from sharkpy.sql.incremental.kept_rows import KeptRows
from sharkpy.sql.incremental.state import Kept
from sharkpy.values.types import BOOLEAN, Schema


@dataclass(frozen=True, slots=True)
class ExpiringRows:
    """State of the rows of a side of a join. Rows of the other side match those whose time is up to `reach`
    microseconds before theirs. So rows that are kept are joined no more when the other side's watermark, as it was
    before an epoch, is further away, whether folds have removed them or not. Rows that come may match ones that are
    kept, if the other side is ahead of them: they are joined no more when their own watermark is so far away, too.
    """

    rows: KeptRows
    time: int
    """Place of the time among the columns."""
    reach: int
    other: int
    """Part of the state with the watermark of the other side."""
    own: int | None
    """That of this side; None where all rows that come are joined."""

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
        """Rows of the state that rows in time may still match."""
        return reaching(rows, self.time, self.reach, kept(self.other))

    def live_new(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        """Rows of an epoch that rows in time, which are kept or come, may match."""
        if self.own is None:
            return rows
        return reaching(rows, self.time, self.reach, *map(kept, dict.fromkeys((self.other, self.own))))


def reaching(rows: LogicalPlan, time: int, reach: int, *watermarks: LogicalPlan) -> LogicalPlan:
    """Rows from whose time, the column at a place, one of some watermarks is not further away than `reach`
    microseconds.
    """
    columns, until = rows.output, behind(rows.output[time], reach)
    terms = list[Expr]()
    for watermark in watermarks:
        mark = watermark.output[0]
        rows = Join(rows, watermark, JoinKind.CROSS)
        terms += (Call("is_null", (mark,), BOOLEAN), Call("ge", (until, mark), BOOLEAN))
    is_live = disjunction(terms)
    assert is_live is not None  # there is a watermark
    return Project(Filter(rows, is_live), columns)
