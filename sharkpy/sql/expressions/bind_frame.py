"""The frame of a window: ROWS, RANGE or GROUPS between two bounds."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.base.errors import TypeMismatchError
from sharkpy.plan.expr import FrameBound, FrameInterval, Literal, SortKey, WindowFrame
from sharkpy.values.types import DATE, INTERVAL_DAY_TIME, TIMESTAMP, is_interval, is_numeric

if TYPE_CHECKING:
    from sharkpy.sql.expressions.expr_binder import ExprBinder

_SECOND = 1_000_000
_MOST_SECONDS = (1 << 63) // _SECOND


def bind_frame(binder: ExprBinder, spec: exp.Expr, order_by: tuple[SortKey, ...]) -> WindowFrame:
    binder.context.only(spec, "kind", "start", "start_side", "end", "end_side")
    start = _bound(binder, spec.args["start"], spec.args.get("start_side"), spec)
    end: FrameBound = 0
    if spec.args.get("end"):
        end = _bound(binder, spec.args["end"], spec.args.get("end_side"), spec)
    frame = WindowFrame(spec.args["kind"].upper(), start, end)
    sides = (str(spec.args.get("start_side")).upper(), str(spec.args.get("end_side")).upper())
    ends_first = (start is None and sides[0] == "FOLLOWING") or (end is None and sides[1] == "PRECEDING")
    if ends_first or _is_later(start, end):
        raise binder.context.error("the window frame ends before it starts", spec, sqlstate="42P20")
    if frame.unit != "ROWS" and not order_by and (start or end):
        raise binder.context.error(f"a {frame.unit} frame needs ORDER BY", spec, sqlstate="42P20")
    return _in_units_of_key(binder, frame, order_by, spec) if frame.has_distance else _counted(binder, frame, spec)


def _is_later(start: FrameBound, end: FrameBound) -> bool:
    match start, end:
        case FrameInterval(one, unit), FrameInterval(other, other_unit):
            return unit == other_unit and one > other
        case FrameInterval(one), int() | float() | Decimal():
            return one > end
        case int() | float() | Decimal(), FrameInterval(other):
            return start > other
        case int() | float() | Decimal(), int() | float() | Decimal():
            return start > end
    return False


def _counted(binder: ExprBinder, frame: WindowFrame, spec: exp.Expr) -> WindowFrame:
    """Bind the bounds of ROWS and GROUPS, which are whole numbers."""
    if all(bound is None or isinstance(bound, int) for bound in (frame.start, frame.end)):
        return frame
    raise binder.context.error(f"a bound of a {frame.unit} frame must be a whole number", spec, sqlstate="42P20")


def _in_units_of_key(
    binder: ExprBinder, frame: WindowFrame, order_by: tuple[SortKey, ...], spec: exp.Expr
) -> WindowFrame:
    """Bind the bounds of RANGE over one key: numbers for numbers, days for DATE, seconds for TIMESTAMP."""
    if len(order_by) != 1:
        raise binder.context.error("a RANGE frame with an offset takes one ORDER BY key", spec, sqlstate="42P20")
    key = order_by[0].dtype
    bounds = []
    for bound in (frame.start, frame.end):
        if key == TIMESTAMP and isinstance(bound, (int, float, Decimal)) and bound != 0:
            bound = FrameInterval(_microseconds(binder, bound, spec), INTERVAL_DAY_TIME)
        is_time = isinstance(bound, FrameInterval)
        fits = (
            bound is None or bound == 0 or (is_numeric(key) or key == DATE if not is_time else key in (DATE, TIMESTAMP))
        )
        if not fits:
            message = f"a RANGE frame over {key} takes no offset of {'an interval' if is_time else 'a number'}"
            raise binder.context.error(message, spec, TypeMismatchError)
        bounds.append(bound)
    return WindowFrame(frame.unit, bounds[0], bounds[1])


def _microseconds(binder: ExprBinder, seconds: int | float | Decimal, spec: exp.Expr) -> int:
    if not -_MOST_SECONDS < seconds < _MOST_SECONDS:
        raise binder.context.error("a bound of a window frame is too large", spec, sqlstate="22015")
    return int(seconds * _SECOND)


def _bound(binder: ExprBinder, value: exp.Expr | str, side: str | None, spec: exp.Expr) -> FrameBound:
    if value == "UNBOUNDED":
        return None
    if value == "CURRENT ROW":
        return 0
    if isinstance(value, str):
        raise binder.context.unsupported(f"the bound {value} of a window frame", spec)
    literal = binder.bind(value)
    offset = literal.value if isinstance(literal, Literal) else None
    if not isinstance(literal, Literal) or not isinstance(offset, (int, float, Decimal)) or not math.isfinite(offset):
        raise binder.context.error("a bound of a window frame must be a number", value, sqlstate="42P20")
    if offset < 0:
        raise binder.context.error("a bound of a window frame must not be negative", value, sqlstate="42P20")
    if str(side).upper() == "PRECEDING":
        offset = -offset
    return FrameInterval(int(offset), literal.dtype) if is_interval(literal.dtype) and offset else offset
