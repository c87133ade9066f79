"""Window functions over all rows before a row, for streams, computed from functions that can be resumed."""

from __future__ import annotations

from sharkpy.plan.expr import Alias, Call, Cast, ColumnRef, Expr, Literal, SortKey, WindowCall, WindowFrame
from sharkpy.plan.logical import LogicalPlan, Project, Window
from sharkpy.sql.incremental.state import NewColumn
from sharkpy.sql.incremental.watermarks import has_watermark
from sharkpy.values.types import BIGINT, DOUBLE, INT, MAX_PRECISION, DataType, DecimalType

_TOTAL_DIGITS, _NUMBER_DIGITS = 10, 19
"""Digits that the total of DECIMALs has more than its values, and digits of a number of rows."""
_UP_TO, _PEERS = WindowFrame("RANGE", None, 0), WindowFrame("RANGE", 0, 0)


def with_parts(query: LogicalPlan, new_column: NewColumn) -> LogicalPlan:
    """Rewrite `rank`, and `avg` over all rows before, as expressions over counts and sums.

    This applies to functions in the order of a time with a WATERMARK.
    """
    return query.transform_up(lambda node: _divided(node, new_column) if isinstance(node, Window) else node)


def _divided(window: Window, new_column: NewColumn) -> LogicalPlan:
    items, values = list[Alias](), dict[int, Expr]()
    for item in window.windows:
        call = item.expr
        found = _parts(call, window, new_column) if isinstance(call, WindowCall) else None
        if found is None:
            items.append(item)
        else:
            parts, values[item.column_id] = found
            items += parts
    if not values:
        return window
    own = (
        Alias(values[item.column_id], item.column_id, item.name) if item.column_id in values else item.ref
        for item in window.windows
    )
    return Project(Window(window.child, tuple(items)), (*window.child.output, *own))


def _parts(call: WindowCall, window: Window, new_column: NewColumn) -> tuple[list[Alias], Expr] | None:
    """The functions from which a function is computed, and the expression; None if it stays unchanged."""
    match call.order_by:
        case (SortKey(ColumnRef() as time, ascending=True),) if has_watermark(time, window.child):
            pass
        case _:
            return None
    is_running = call.frame is None or (call.frame.start is None and call.frame.end == 0)
    match call.function, call.args:
        case "rank", ():
            up_to, peers = (_counted(call, (), frame, new_column) for frame in (_UP_TO, _PEERS))
            before = Call("subtract", (up_to.ref, peers.ref), BIGINT)
            return [up_to, peers], Cast(Call("add", (before, Literal(1, BIGINT)), BIGINT), INT)
        case "avg", (arg,) if is_running and not (call.distinct or call.ignore_nulls):
            return _average(call, arg, new_column)
    return None


def _average(call: WindowCall, arg: Expr, new_column: NewColumn) -> tuple[list[Alias], Expr] | None:
    """A total divided by a number of values; None if the total of DECIMALs may be too long to resume from it."""
    of_total: DataType = DOUBLE
    of_number: DataType = DOUBLE
    match arg.dtype:
        case DecimalType(precision, scale) if precision + _TOTAL_DIGITS < MAX_PRECISION:
            of_total, of_number = DecimalType(precision + _TOTAL_DIGITS, scale), DecimalType(_NUMBER_DIGITS, 0)
        case _ if call.dtype != DOUBLE:
            return None
    value = Cast(arg, DOUBLE) if of_total == DOUBLE != arg.dtype else arg
    total = WindowCall("sum", (value,), call.partition_by, call.order_by, call.frame, of_total)
    both = new_column("total", of_total).holding(total), _counted(call, (arg,), call.frame, new_column)
    return list(both), Call("divide", (both[0].ref, Cast(both[1].ref, of_number)), call.dtype)


def _counted(call: WindowCall, args: tuple[Expr, ...], frame: WindowFrame | None, new_column: NewColumn) -> Alias:
    """The count over a frame of the same window."""
    counted = WindowCall("count", args, call.partition_by, call.order_by, frame, BIGINT)
    return new_column("number", BIGINT).holding(counted)
