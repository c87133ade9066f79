"""Window functions over streams, in the order of a time with a WATERMARK.

An epoch emits the rows that the watermark passes. Their functions use these rows, and the rows that they look back or
ahead to.
"""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base.errors import SharkError
from sharkpy.base.records import dataclass
from sharkpy.plan.expr import (
    Alias,
    Call,
    ColumnRef,
    Expr,
    FrameBound,
    FrameInterval,
    Literal,
    SortKey,
    WindowCall,
    WindowFrame,
    disjunction,
)
from sharkpy.plan.logical import Filter, LogicalPlan, Project, Union, Window
from sharkpy.plan.session_windows import time_after
from sharkpy.sql.incremental.row_state import key_text
from sharkpy.sql.incremental.row_wise import RECOMPUTE, unsupported
from sharkpy.sql.incremental.running_totals import RunningFunction, running_function, with_running
from sharkpy.sql.incremental.state import NewColumn, StoredState, to_state_columns
from sharkpy.sql.incremental.stream_join import with_new_ids
from sharkpy.sql.incremental.watermarks import NEVER, Watermarks, has_watermark
from sharkpy.udf import registry
from sharkpy.udf.user.function import shown_name
from sharkpy.values.types import BOOLEAN, INT, INTERVAL_DAY_TIME, TIMESTAMP, Schema

_PEERS = WindowFrame("RANGE", 0, 0)
_NEW, _WAITING, _LAST = range(3)
"""Source of the rows that an epoch uses: its own rows, or one of two parts of the state."""


@dataclass(frozen=True, slots=True)
class StreamWindow:
    """A Window over the rows of epochs, and the parts of the state in which its rows wait.

    A row waits until the watermark has passed its time by the time that functions look ahead. If functions look ahead
    by rows, the watermark also has to pass that number of following rows. Then all rows that its functions need are
    present, because rows older than the watermark are late and left out. Rows without a time are left out, too. Rows
    with the same time are emitted together.
    """

    node: Window
    back: LookBack
    marks: Watermarks
    waiting: int
    """Place of the part with rows that wait, or that are within the time that functions look back."""
    last: int | None
    """Place of the part with the last rows of each partition; None if no function looks back or ahead by rows."""
    totals: int | None
    """Place of the part with the totals of functions over all rows before; None if there are none."""
    first: ColumnRef
    """Number of a row among the rows with its time, for functions that count times."""
    new_column: NewColumn

    @property
    def partition(self) -> str:
        """Partition keys of functions that look back by rows or over all rows, as text."""
        return ", ".join(map(key_text, self.back.partition_by))

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        return self.node.child.output

    def new_rows(self) -> LogicalPlan:
        """Rows of an epoch, with new column ids."""
        return with_new_ids(self.node.child, self.new_column)

    def with_mark(self, rows: LogicalPlan, kept: StoredState) -> tuple[LogicalPlan, ColumnRef]:
        """Append the stored watermark to rows. Return the rows and the new column."""
        mark = self._new_mark()
        return self.marks.with_watermark(rows, kept, mark), mark

    def time_of(self, columns: Sequence[ColumnRef]) -> ColumnRef:
        return columns[self.back.time]

    def reached(self, time: Expr) -> Expr:
        """Latest watermark at which waiting rows still look back to a row with this time."""
        return time_after(time, self.back.microseconds + self.back.ahead)

    def passed(self, kept: StoredState) -> LogicalPlan:
        """The rows of the Window that an epoch's watermark passes."""
        rows, before, after = self._looked_at(kept, with_last=True)
        if self.totals is None:
            return self._passing(Window(rows, self.node.windows), before, after, self.node.output)
        running, partition_by = self.back.running, self.back.partition_by
        at_all = {one.item.column_id for one in running}
        bounded = [item for item in self.node.windows if item.column_id not in at_all]
        time, place = self.time_of(rows.output), self.new_column("place", INT)
        # Rows with the same time are in the same order for all functions.
        numbers = WindowCall("row_number", (), partition_by, (SortKey(time),), None, INT)
        columns = (*self.columns, *(item.ref for item in bounded), place)
        passed = self._passing(Window(rows, (*bounded, place.holding(numbers))), before, after, columns)
        passed = self._numbered(passed)
        totals = kept(self.totals)
        passed, values = with_running(passed, (time, place), totals, running, partition_by, self.new_column)
        items = (
            Alias(values[item.column_id], item.column_id, item.name) if item.column_id in values else item.ref
            for item in self.node.windows
        )
        return Project(passed, (*self.columns, *items))

    def passing(self, kept: StoredState) -> LogicalPlan:
        """Rows that an epoch's watermark passes, without the functions; see `passed`.

        If functions count times, the rows have the column `first`.
        """
        rows, before, after = self._looked_at(kept, with_last=self.back.rows_ahead > 0)
        return self._numbered(self._passing(rows, before, after, self.columns))

    def left_behind(self, kept: StoredState) -> LogicalPlan:
        """Rows whose time an epoch's watermark passes, also if they wait for rows that follow them."""
        rows, before, after = self._looked_at(kept, with_last=False)
        return _between(rows, self._until(rows), before, after, self.columns)

    def as_state(self, rows: LogicalPlan, schema: Schema) -> LogicalPlan:
        """Project rows to the columns of a part of the state, with new ids."""
        return with_new_ids(to_state_columns(rows, rows.output, schema, self.new_column), self.new_column)

    def _passing(
        self, rows: LogicalPlan, before: ColumnRef, after: ColumnRef, columns: Sequence[ColumnRef]
    ) -> LogicalPlan:
        """The rows that the watermark passes, with `columns`."""
        if not self.back.rows_ahead:
            return _between(rows, self._until(rows), before, after, columns)
        time, partition_by = self.time_of(rows.output), self.back.partition_by
        following, last = (self.new_column("following", TIMESTAMP) for _ in range(2))
        ahead = (time, Literal(self.back.rows_ahead, INT))
        rows = Window(rows, (following.holding(_over("lead", ahead, partition_by, time)),))
        # Among rows with the same time, the last one waits for the latest row.
        is_last = Call("coalesce", (following, NEVER), TIMESTAMP)
        rows = Window(rows, (last.holding(_over("max", (is_last,), partition_by, time, _PEERS)),))
        return _between(rows, last, before, after, columns)

    def _until(self, rows: LogicalPlan) -> Expr:
        """Time that the watermark has to pass before all rows within the time to look ahead have arrived."""
        time = self.time_of(rows.output)
        return time_after(time, self.back.ahead) if self.back.ahead else time

    def _numbered(self, rows: LogicalPlan) -> LogicalPlan:
        """Rows with the column `first`, if functions count times.

        The rows include either all rows of a time or none.
        """
        if not any(one.counts_times for one in self.back.running):
            return rows
        time = self.time_of(rows.output)
        call = WindowCall("row_number", (), (*self.back.partition_by, time), (SortKey(time),), None, INT)
        return Window(rows, (self.first.holding(call),))

    def _looked_at(self, kept: StoredState, *, with_last: bool) -> tuple[LogicalPlan, ColumnRef, ColumnRef]:
        """Rows that wait, are new, or are looked back to, under the ids of the Window's child.

        Also return the appended columns with the watermarks before and after the epoch.
        """
        given = {_NEW: self.new_rows(), _WAITING: kept.rows(self.waiting)}
        if with_last and self.last is not None:
            given[_LAST] = kept(self.last)
        source = self.new_column("source", INT)
        inputs = [
            Project(rows, (*rows.output, self.new_column("source", INT).holding(Literal(place, INT))))
            for place, rows in given.items()
        ]
        rows: LogicalPlan = Union(tuple(inputs), (*self.columns, source))
        before, after = self._new_mark(), self._new_mark()
        rows = self.marks.with_next_watermark(self.marks.with_watermark(rows, kept, before), kept, after)
        time = self.time_of(rows.output)
        reached = self.reached(time)
        wanted = {
            _NEW: is_from(time, before),
            _WAITING: is_from(reached, before),
            # Later rows are among the rows that wait.
            _LAST: Call("lt", (reached, before), BOOLEAN),
        }
        terms = [
            Call("and", (Call("eq", (source, Literal(place, INT)), BOOLEAN), wanted[place]), BOOLEAN) for place in given
        ]
        is_wanted = disjunction(terms)
        assert is_wanted is not None  # there are new rows
        return Project(Filter(rows, is_wanted), (*self.columns, before, after)), before, after

    def _new_mark(self) -> ColumnRef:
        return self.new_column("watermark", TIMESTAMP)


def _over(
    function: str,
    args: tuple[Expr, ...],
    partition_by: tuple[Expr, ...],
    time: ColumnRef,
    frame: WindowFrame | None = None,
) -> WindowCall:
    return WindowCall(function, args, partition_by, (SortKey(time),), frame, TIMESTAMP)


def _between(
    rows: LogicalPlan, time: Expr, before: ColumnRef, after: ColumnRef, columns: Sequence[ColumnRef]
) -> LogicalPlan:
    """Rows whose time is from the watermark `before`, if there is one, to before the watermark `after`."""
    is_passed = Call("and", (is_from(time, before), Call("lt", (time, after), BOOLEAN)), BOOLEAN)
    return Project(Filter(rows, is_passed), tuple(columns))


def is_from(time: Expr, mark: ColumnRef) -> Expr:
    """Condition that a time is not before a watermark, if there is one yet."""
    is_first = Call("and", (Call("is_null", (mark,), BOOLEAN), Call("is_not_null", (time,), BOOLEAN)), BOOLEAN)
    return Call("or", (Call("ge", (time, mark), BOOLEAN), is_first), BOOLEAN)


APPEND_HINT = (
    "EMIT APPEND gives window functions with a bounded range back and ahead, in the order of a time with a WATERMARK"
)
_BOUNDED = (
    "lag, lead, frames as ROWS between two numbers, or RANGE between two intervals, and row_number, rank, dense_rank, "
    f"count, sum, avg, min, max and first_value over all rows before can go on; {RECOMPUTE}"
)


@dataclass(frozen=True, slots=True)
class LookBack:
    """How far the functions of a Window look back and ahead."""

    time: int
    """Place of the time column by which they are ordered."""
    rows: int
    """Number of rows before a row, in its partition."""
    microseconds: int
    """Time before a row."""
    ahead: int
    """Time after a row, in microseconds. The row is emitted when the watermark has passed that time."""
    rows_ahead: int
    """Number of rows after a row, in its partition. The row is emitted when the watermark has passed them."""
    running: tuple[RunningFunction, ...]
    """Functions over all rows before a row."""
    partition_by: tuple[Expr, ...]
    """Partition of functions that look back by rows or over all rows.

    If a function looks ahead by rows, this is the partition of all functions.
    """

    @property
    def by_rows(self) -> int:
        """Number of rows to keep after the watermark has passed them, for functions that look back or ahead by rows."""
        return self.rows + self.rows_ahead


def look_back(window: Window, first: ColumnRef) -> LookBack:
    """Compute how far the functions of a Window look.

    `first`: see `running_of`. Raise UnsupportedError, which names the function, for a function in another order, or
    over all rows after its own. The same holds for a function over all rows before it that cannot be resumed.
    """
    calls = [item.expr for item in window.windows if isinstance(item.expr, WindowCall)]
    times = [_time(call, window) for call in calls]
    if len(set(times)) > 1:
        raise _refused(calls[-1], "in the order of another time")
    running = tuple(found for item in window.windows if (found := running_function(item, first)) is not None)
    at_all = [one.item.expr for one in running]
    reaches = {call: (0, 0, 0, 0) if call in at_all else _reach(call) for call in calls}
    most_rows, longest, ahead, rows_ahead = (max(some) for some in zip(*reaches.values(), strict=True))
    if rows_ahead and (longest or ahead):
        # A row that waits for later rows would need the rows around its time for as long.
        by_time = next(call for call, (_, before, behind, _) in reaches.items() if before or behind)
        raise _refused(by_time, "by time together with one that looks ahead by rows,")
    keeping = [call for call in calls if call in at_all or reaches[call][0] or rows_ahead]
    partitions = dict.fromkeys(call.partition_by for call in keeping)
    if len(partitions) > 1:
        raise _refused(calls[-1], "with another PARTITION BY")
    return LookBack(times[0], most_rows, longest, ahead, rows_ahead, running, next(iter(partitions), ()))


def _time(call: WindowCall, window: Window) -> int:
    """Place of the time column by which a function is ordered."""
    match call.order_by:
        case (SortKey(ColumnRef() as key, ascending=True),) if has_watermark(key, window.child):
            ids = [column.column_id for column in window.child.output]
            return ids.index(key.column_id)
    raise _refused(call, "that is not in the ascending order of a time with a WATERMARK")


def _reach(call: WindowCall) -> tuple[int, int, int, int]:
    """How far a function looks: rows back, microseconds back, microseconds ahead, rows ahead."""
    if (offset := _offset(call)) is not None:
        return (offset, 0, 0, 0) if call.function == "lag" else (0, 0, 0, offset)
    row = registry.window(call.function)
    if call.frame is None or (row is not None and not row.takes_frame):
        raise _refused(call, "that looks at all rows before its own, or at others,")
    match call.frame:
        case WindowFrame("ROWS", int() as start, int() as end) if start <= end:
            return max(0, -start), 0, 0, max(0, end)
        case WindowFrame("RANGE", start, end):
            first, last = _microseconds(start), _microseconds(end)
            if first is not None and last is not None:
                return 0, max(0, -first), max(0, last), 0
    raise _refused(call, f"over {call.frame}")


def _offset(call: WindowCall) -> int | None:
    """Number of rows that `lag` or `lead` looks away; None for other calls."""
    if call.function not in ("lag", "lead") or call.ignore_nulls:
        return None
    match call.args[1:2]:
        case ():
            return 1
        case (Literal(int() as offset),) if offset >= 0:
            return offset
    return None


def _microseconds(bound: FrameBound) -> int | None:
    """Distance of a RANGE frame's bound from its row, negative before the row; None if it is not a fixed time."""
    match bound:
        case 0:
            return 0
        case FrameInterval(amount, dtype) if dtype == INTERVAL_DAY_TIME:
            return amount
    return None


def _refused(call: WindowCall, which: str) -> SharkError:
    return unsupported(f"{shown_name(call.function)}, a window function {which} over a stream", _BOUNDED)
