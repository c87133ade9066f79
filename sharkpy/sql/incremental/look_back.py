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

APPENDED = (
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
    running: tuple[Running, ...]
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
    running = tuple(found for item in window.windows if (found := running_of(item, first)) is not None)
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
    return refused(f"{shown_name(call.function)}, a window function {which} over a stream", _BOUNDED)
