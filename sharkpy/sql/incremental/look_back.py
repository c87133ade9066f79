"""How far window functions look from a row, in the order of a time with a WATERMARK."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.base.errors import SharkError
from sharkpy.plan.expr import ColumnRef, Expr, FrameBound, FrameInterval, Literal, SortKey, WindowCall, WindowFrame
from sharkpy.plan.logical import Window
from sharkpy.sql.incremental.row_wise import RECOMPUTE, refused
from sharkpy.sql.incremental.running_totals import Running, running_of
from sharkpy.sql.incremental.watermarks import has_watermark
from sharkpy.udf import registry
from sharkpy.udf.user.function import shown_name
from sharkpy.values.types import INTERVAL_DAY_TIME

APPENDED = "EMIT APPEND gives those that look so far back, and ahead, in the order of a time with a WATERMARK"
_BOUNDED = (
    "lag, lead, frames as ROWS between two numbers, or RANGE between two intervals, and row_number, rank, dense_rank, "
    f"count, sum, avg, min, max and first_value over all rows before can go on; {RECOMPUTE}"
)


@dataclass(frozen=True, slots=True)
class LookBack:
    """How far the functions of a Window look back, and ahead."""

    time: int
    """Place of the time that they are in the order of, among the columns of their rows."""
    rows: int
    """Rows before a row, in its partition."""
    microseconds: int
    """Time before a row."""
    ahead: int
    """Time behind a row, in microseconds: when it has come, the row is given."""
    rows_ahead: int
    """Rows behind a row, in its partition: when they have come, the row is given."""
    running: tuple[Running, ...]
    """Functions that look at all rows before."""
    partition_by: tuple[Expr, ...]
    """Of the functions that look back by rows, or at all; of all, where one looks ahead by rows."""

    @property
    def by_rows(self) -> int:
        """Rows that a row looks back, and ahead: so many are needed when the watermark has passed them."""
        return self.rows + self.rows_ahead


def look_back(window: Window, first: ColumnRef) -> LookBack:
    """How far the functions look. UnsupportedError, naming the function, for one in another order, and for one that
    looks at all rows behind its own, or at all rows before it and cannot be gone on from. `first`: see `running_of`.
    """
    calls = [item.expr for item in window.windows if isinstance(item.expr, WindowCall)]
    times = [_time(call, window) for call in calls]
    if len(set(times)) > 1:
        raise _refused(calls[-1], "in the order of another time")
    running = tuple(found for item in window.windows if (found := running_of(item, first)) is not None)
    at_all = [one.item.expr for one in running]
    reaches = {call: (0, 0, 0, 0) if call in at_all else _reach(call) for call in calls}
    most_rows, longest, ahead, rows_ahead = (max(some) for some in zip(*reaches.values(), strict=True))
    if rows_ahead and (longest or ahead):
        # Rows that wait for others would need those around their time for as long.
        by_time = next(call for call, (_, before, behind, _) in reaches.items() if before or behind)
        raise _refused(by_time, "by time beside one that looks ahead by rows,")
    keeping = [call for call in calls if call in at_all or reaches[call][0] or rows_ahead]
    partitions = dict.fromkeys(call.partition_by for call in keeping)
    if len(partitions) > 1:
        raise _refused(calls[-1], "with another PARTITION BY")
    return LookBack(times[0], most_rows, longest, ahead, rows_ahead, running, next(iter(partitions), ()))


def _time(call: WindowCall, window: Window) -> int:
    """Place of the time that the rows of a function are in the order of."""
    match call.order_by:
        case (SortKey(ColumnRef() as key, ascending=True),) if has_watermark(key, window.child):
            ids = [column.column_id for column in window.child.output]
            return ids.index(key.column_id)
    raise _refused(call, "that is not in the ascending order of a time with a WATERMARK")


def _reach(call: WindowCall) -> tuple[int, int, int, int]:
    """How many rows, and microseconds, a function looks back, and how many microseconds, and rows, ahead."""
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
    """By how many rows `lag` or `lead` looks away; None for others."""
    if call.function not in ("lag", "lead") or call.ignore_nulls:
        return None
    match call.args[1:2]:
        case ():
            return 1
        case (Literal(int() as offset),) if offset >= 0:
            return offset
    return None


def _microseconds(bound: FrameBound) -> int | None:
    """How far a bound of a RANGE frame is behind its row, less than 0 for one before it; None where it has no end, or
    is not so far.
    """
    match bound:
        case 0:
            return 0
        case FrameInterval(amount, dtype) if dtype == INTERVAL_DAY_TIME:
            return amount
    return None


def _refused(call: WindowCall, which: str) -> SharkError:
    return refused(f"{shown_name(call.function)}, a window function {which} over a stream", _BOUNDED)
