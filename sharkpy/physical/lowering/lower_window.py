"""Lowering of window functions to DuckDB's OVER clauses."""

from __future__ import annotations

from dataclasses import replace

from sharkpy.base.errors import UnsupportedError
from sharkpy.physical.lowering.lower_expr import lower_logical, order_by
from sharkpy.physical.lowering.select import Select
from sharkpy.physical.lowering.value import Scope, Value
from sharkpy.physical.operators import WindowOperator
from sharkpy.plan.expr import Cast, FrameBound, FrameInterval, SortKey, WindowCall, WindowFrame
from sharkpy.udf import registry
from sharkpy.udf.lower import lower_complete, lower_window
from sharkpy.values.types import DATE, INTEGER_TYPES, DataType, DecimalType

_ROOMY = DecimalType(20, 0)


def lower_window_operator(plan: WindowOperator, select: Select) -> Select:
    scope = dict(select.scope)
    for item in plan.windows:
        if not isinstance(item.expr, WindowCall):
            raise UnsupportedError(f"{item} is not a window function")
        scope[item.column_id] = _window(item.expr, select.scope)
    return replace(select, scope=scope, is_windowed=True)


def _window(call: WindowCall, scope: Scope) -> Value:
    args = [lower_logical(arg, scope) for arg in call.args]
    types = [arg.dtype for arg in call.args]
    window = registry.window(call.function)
    if window is not None:
        over = _over(call, scope, with_frame=window.takes_frame)
        nulls = " IGNORE NULLS" if call.ignore_nulls else ""
        return Value(lower_window(window, args, types, call.dtype, over=over, nulls=nulls), call.dtype)
    aggregate = registry.aggregate_of(call.function, types)
    if aggregate is None:
        raise UnsupportedError(f"window function {call.function} cannot be computed")
    over = _over(call, scope, with_frame=True)
    return Value(lower_complete(aggregate, args, types, call.dtype, distinct=call.distinct, over=over), call.dtype)


def _over(call: WindowCall, scope: Scope, *, with_frame: bool) -> str:
    parts = []
    if call.partition_by:
        parts.append("PARTITION BY " + ", ".join(lower_logical(expr, scope) for expr in call.partition_by))
    if call.order_by:
        has_distance = with_frame and call.frame is not None and call.frame.has_distance
        keys = _with_room(call.order_by) if has_distance else call.order_by
        parts.append("ORDER BY " + order_by(keys, scope, is_added_to=has_distance))
    if call.frame is not None and with_frame:
        parts.append(_frame(call.frame, call.order_by[0].dtype if call.order_by else None))
    return f" OVER ({' '.join(parts)})"


def _with_room(keys: tuple[SortKey, ...]) -> tuple[SortKey, ...]:
    """Widen the keys so that the frame's distances can be added. An integer near its type's limit has no room."""
    return tuple(replace(key, expr=Cast(key.expr, _ROOMY)) if key.dtype in INTEGER_TYPES else key for key in keys)


def _frame(frame: WindowFrame, key: DataType | None) -> str:
    in_days = frame.unit == "RANGE" and key == DATE
    start, end = _bound(frame.start, "PRECEDING", in_days), _bound(frame.end, "FOLLOWING", in_days)
    return f"{frame.unit} BETWEEN {start} AND {end}"


def _bound(offset: FrameBound, unbounded: str, in_days: bool) -> str:
    if offset is None:
        return f"UNBOUNDED {unbounded}"
    if offset == 0:
        return "CURRENT ROW"
    size = f"INTERVAL {abs(offset)} DAY" if in_days and not isinstance(offset, FrameInterval) else str(abs(offset))
    return f"{size} {'PRECEDING' if offset < 0 else 'FOLLOWING'}"
