"""Windows and sessions that a watermark or a number of rows closes.

Their rows are emitted when they are closed, and are final.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable

from sharkpy.base.records import dataclass
from sharkpy.catalog.continuous_query import EmitMode
from sharkpy.plan.expr import AggregateCall, Call, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Aggregate, Filter, LogicalPlan, Project, Union, Values
from sharkpy.sql.incremental.state import EpochState, NewColumn, StoredState
from sharkpy.sql.incremental.stream_join import with_new_ids
from sharkpy.sql.incremental.time_windows import arrived_in_time, end_of
from sharkpy.sql.incremental.watermarks import Watermarks, with_least_watermark
from sharkpy.udf.time_window_functions import TIME_OF_ROW
from sharkpy.values.types import BIGINT, BOOLEAN, TIMESTAMP

_BEGIN = Literal(datetime.datetime(1, 1, 1), TIMESTAMP)
"""The earliest time. No window ends before it."""


@dataclass(frozen=True, slots=True)
class ClosingWatermark:
    """A watermark that closes windows."""

    marks: Watermarks | CountedRows
    mark: ColumnRef
    """Column with the watermark before an epoch, appended to the epoch's rows."""
    first_end: Expr
    """End of the first window that a row is in."""
    last_end: Expr
    """End of the last window that a row is in. A watermark that has reached it has closed all of them."""
    sink_mode: EmitMode | None = None
    """Output mode of an insert or sink, whose windows are forgotten when they are closed; None for a table."""

    @property
    def label(self) -> str:
        """Text that says when windows are emitted, or until when they are kept."""
        return f"{'kept until' if self.sink_mode is EmitMode.UPDATE else 'given when'} {self.marks.label}"

    def with_watermark(self, rows: LogicalPlan, kept: StoredState, mark: ColumnRef) -> LogicalPlan:
        """Append the current watermark to rows, as column `mark`."""
        return self.marks.with_watermark(rows, kept, mark)

    @property
    def seen(self) -> Expr:
        """The watermark at a row's arrival, if it was at or past `first_end`; else NULL."""
        is_behind = _is_at_most(self.first_end, self.mark)
        return Call("case_when", (is_behind, self.mark, Literal(None, TIMESTAMP)), TIMESTAMP)

    @property
    def num_late(self) -> AggregateCall:
        """Number of rows whose windows were all closed at their arrival."""
        return AggregateCall("count", (), BIGINT, filter=self.is_late)

    @property
    def is_late(self) -> Expr:
        return _is_at_most(self.last_end, self.mark)

    @property
    def leaves_out(self) -> bool:
        """True if rows can be too late. Windows of rows have no late rows, since rows are numbered on arrival."""
        return isinstance(self.marks, Watermarks)

    def closed(
        self, rows: LogicalPlan, window: Expr, seen: ColumnRef, kept: StoredState, new_column: NewColumn
    ) -> LogicalPlan:
        """Rows of closed windows, without rows that arrived after their window was closed.

        `seen` is the column of `ClosingWatermark.seen`.
        """
        mark = new_column("watermark", TIMESTAMP)
        is_given = Call("and", (_is_at_most(end_of(window), mark), arrived_in_time(window, seen)), BOOLEAN)
        return Filter(self.with_watermark(rows, kept, mark), is_given)

    def span_of(self, epoch: EpochState, new_column: NewColumn) -> LogicalPlan:
        """The span of an epoch: a row with the watermarks before and after it."""
        after, before, until = (new_column(name, TIMESTAMP) for name in ("after", "before", "until"))
        rows = self.with_watermark(Values((), ((),)), epoch.before, before)
        rows = self.with_watermark(rows, epoch.after, until)
        return Project(rows, (after.holding(Call("coalesce", (before, _BEGIN), TIMESTAMP)), until))

    def unclosed(
        self, rows: LogicalPlan, kept: StoredState, new_column: NewColumn, is_open: Callable[[ColumnRef], Expr]
    ) -> LogicalPlan:
        """Rows of the state that the watermark has not closed; all rows if there is no watermark yet.

        `is_open` makes the condition of an open row from the column of the watermark.
        """
        mark = new_column("watermark", TIMESTAMP)
        is_kept = Call("or", (is_null(mark), is_open(mark)), BOOLEAN)
        return Project(Filter(self.with_watermark(rows, kept, mark), is_kept), rows.output)

    def with_late(self, kept: LogicalPlan, rows: LogicalPlan, seen: int, new_column: NewColumn) -> LogicalPlan:
        """The `kept` rows of the state, and one more row with the number of late rows, in its last column.

        The number is the sum over `rows`. The added row is in no window. Its column at place `seen` has a watermark,
        unlike rows without a time.
        """
        counted, total = with_new_ids(rows, new_column), new_column("late", BIGINT)
        call = AggregateCall("sum", (counted.output[-1],), BIGINT)
        has_some = Call("gt", (total, Literal(0, BIGINT)), BOOLEAN)
        late = Filter(Aggregate(counted, (), (total.holding(call),)), has_some)
        values: list[Expr] = [Literal(None, column.dtype) for column in kept.output]
        values[seen], values[-1] = _BEGIN, total
        own, both = ([new_column(one.name, one.dtype) for one in kept.output] for _ in range(2))
        one = Project(late, tuple(name.holding(value) for name, value in zip(own, values, strict=True)))
        return Union((kept, one), tuple(both))


def is_null(value: Expr) -> Expr:
    return Call("is_null", (value,), BOOLEAN)


def _is_at_most(time: Expr, mark: Expr) -> Expr:
    return Call("le", (time, mark), BOOLEAN)


@dataclass(frozen=True, slots=True)
class CountedRows:
    """The number of rows that have arrived, as the watermark of row numbers: later rows have larger numbers."""

    place: int
    """Place of the part with that number."""
    new_column: NewColumn

    @property
    def places(self) -> tuple[int, ...]:
        return (self.place,)

    @property
    def label(self) -> str:
        """Text that says when windows are closed."""
        return "all their rows have come"

    def with_watermark(self, rows: LogicalPlan, kept: StoredState, mark: ColumnRef) -> LogicalPlan:
        """Append the current watermark to rows, as column `mark`."""
        counted = kept(self.place)
        time = Call(TIME_OF_ROW, counted.output[:1], TIMESTAMP)
        return with_least_watermark(
            rows, [Project(counted, (self.new_column("watermark", TIMESTAMP).holding(time),))], mark
        )
