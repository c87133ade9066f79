"""Windows and sessions that a watermark, or a number of rows, closes: then their rows are given, and do not change any
more.
"""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.plan.expr import AggregateCall, Call, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Filter, LogicalPlan
from sharkpy.sql.incremental.closed_spans import came_in_time, end_of
from sharkpy.sql.incremental.counted_rows import CountedRows
from sharkpy.sql.incremental.state import Kept, NewColumn
from sharkpy.sql.incremental.watermarks import Watermarks
from sharkpy.values.types import BIGINT, BOOLEAN, TIMESTAMP


@dataclass(frozen=True, slots=True)
class Closing:
    """A watermark that closes windows."""

    marks: Watermarks | CountedRows
    mark: ColumnRef
    """The watermark before an epoch, beside the rows of it."""
    first_end: Expr
    """End of the first window that a row is in."""
    last_end: Expr
    """End of the last one: a watermark that has come so far has closed all of them."""

    def beside(self, rows: LogicalPlan, kept: Kept, mark: ColumnRef) -> LogicalPlan:
        """Rows with the watermark, as it is kept, as their last column `mark`."""
        return self.marks.beside(rows, kept, mark)

    @property
    def seen(self) -> Expr:
        """The watermark that a row has come behind, if it is not in all of its windows any more; NULL else."""
        is_behind = _is_at_most(self.first_end, self.mark)
        return Call("case_when", (is_behind, self.mark, Literal(None, TIMESTAMP)), TIMESTAMP)

    @property
    def num_late(self) -> AggregateCall:
        """Number of rows that are in no window any more."""
        return AggregateCall("count", (), BIGINT, filter=self.is_late)

    @property
    def is_late(self) -> Expr:
        return _is_at_most(self.last_end, self.mark)

    @property
    def leaves_out(self) -> bool:
        """False where no row comes too late: rows have their numbers as they come."""
        return isinstance(self.marks, Watermarks)

    def closed(
        self, rows: LogicalPlan, window: Expr, seen: ColumnRef, kept: Kept, new_column: NewColumn
    ) -> LogicalPlan:
        """Rows of windows that are closed, but for those that came when their window was closed already; `seen` is the
        watermark that a row has come behind.
        """
        mark = new_column("watermark", TIMESTAMP)
        is_given = Call("and", (_is_at_most(end_of(window), mark), came_in_time(window, seen)), BOOLEAN)
        return Filter(self.beside(rows, kept, mark), is_given)


def _is_at_most(time: Expr, mark: Expr) -> Expr:
    return Call("le", (time, mark), BOOLEAN)
