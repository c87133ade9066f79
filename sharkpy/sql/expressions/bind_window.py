"""Window functions, their windows, and frames: ROWS, RANGE or GROUPS between two bounds."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.base.errors import TypeMismatchError
from sharkpy.optimizer.function_traits import ORDER_SENSITIVE_AGGREGATES
from sharkpy.plan.expr import Expr, FrameBound, FrameInterval, Literal, SortKey, WindowCall, WindowFrame
from sharkpy.sql.expressions.bind_function import aggregate_arguments, aggregate_type, unknown_function
from sharkpy.sql.object_names import function_name, registry_name
from sharkpy.udf import registry
from sharkpy.udf.function import NullPolicy
from sharkpy.udf.user.function import find, shown_name
from sharkpy.values.types import DATE, INTERVAL_DAY_TIME, TIMESTAMP, is_interval, is_numeric

if TYPE_CHECKING:
    from sharkpy.sql.expressions.expr_binder import ExprBinder


def bind_window(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind function(…) [IGNORE NULLS] OVER (…) or OVER name."""
    from sharkpy.sql.expressions.expr_binder import WINDOW

    binder.context.only(node, "this", "partition_by", "order", "spec", "alias", "over")
    if not binder.clause.windows:
        message = f"a window function is not allowed in {binder.clause.name}"
        hint = "QUALIFY filters by windows" if binder.clause.name in ("WHERE", "HAVING") else None
        raise binder.context.error(message, node, hint=hint, sqlstate="42P20")
    call, ignore_nulls = node.this, False
    if isinstance(call, (exp.IgnoreNulls, exp.RespectNulls)):
        call, ignore_nulls = call.this, isinstance(call, exp.IgnoreNulls)
    if isinstance(call, exp.Filter):
        call = _filtered(binder, call)
    if not isinstance(call, exp.Anonymous):
        raise binder.context.unsupported(f"{call.key.upper()} OVER", node)
    name = registry_name(binder.context, call)
    row = registry.window(name) or registry.aggregate(name)
    if row is None:
        if registry.scalar(name):
            raise binder.context.error(f"{shown_name(name)} is not a window function", call)
        raise unknown_function(binder, function_name(call), call)
    inside = binder.within(WINDOW)
    flags = [item for item in call.expressions if isinstance(item, exp.IgnoreNulls)]
    if flags or _skips_nulls(name, call):
        ignore_nulls = True
        call = exp.Anonymous(this=call.this, expressions=[_bare(item) for item in call.expressions[:1]])
    args, distinct = aggregate_arguments(inside, row, call)
    partition_by, order_by, frame = _window(inside, node)
    dtype = aggregate_type(row, args)
    return WindowCall(row.name, args, partition_by, order_by, frame, dtype, distinct, ignore_nulls)


def _filtered(binder: ExprBinder, node: exp.Filter) -> exp.Expr:
    """Rewrite aggregate(x) FILTER (WHERE c) to aggregate(CASE WHEN c THEN x END).

    Raise UnsupportedError for aggregates that do not skip NULLs.
    """
    call = node.this
    name = registry_name(binder.context, call) if isinstance(call, exp.Anonymous) else ""
    if registry.aggregate(name) is None:
        raise binder.context.error("FILTER is for aggregates", node)
    takes_nulls = getattr(find(name), "nulls", None) is NullPolicy.CUSTOM
    if takes_nulls or name in ORDER_SENSITIVE_AGGREGATES - {"collect_list"}:
        raise binder.context.unsupported(f"FILTER of {shown_name(name)} in a window function", node)

    def where(value: exp.Expr) -> exp.Expr:
        if isinstance(value, exp.Distinct):
            return exp.Distinct(expressions=list(map(where, value.expressions)))
        counted = exp.Literal.number(1) if isinstance(value, exp.Star) else value
        return exp.Case(ifs=[exp.If(this=node.expression.this, true=counted)])

    first, *others = call.expressions
    return exp.Anonymous(this=call.this, expressions=[where(first), *others]).update_positions(call)


def _skips_nulls(name: str, call: exp.Expr) -> bool:
    """Return whether a call is Hive's first_value(x, true) or last_value(x, true), which skip NULLs."""
    if name not in ("first_value", "last_value") or len(call.expressions) != 2:
        return False
    return isinstance(call.expressions[1], exp.Boolean) and bool(call.expressions[1].this)


def _bare(node: exp.Expr) -> exp.Expr:
    return node.this if isinstance(node, exp.IgnoreNulls) else node


def _window(
    binder: ExprBinder, node: exp.Expr, seen: tuple[str, ...] = ()
) -> tuple[tuple[Expr, ...], tuple[SortKey, ...], WindowFrame | None]:
    partition_by = tuple(map(binder.bind, node.args.get("partition_by") or ()))
    order = node.args.get("order")
    order_by = tuple(bind_sort_key(binder, key) for key in order.expressions) if order else ()
    frame = bind_frame(binder, node.args["spec"], order_by) if node.args.get("spec") else None
    if alias := node.args.get("alias"):
        name = alias.name.lower()
        if name not in binder.windows or name in seen:
            raise binder.context.error(f'no window "{name}"', alias)
        inherited = _window(binder, binder.windows[name], (*seen, name))
        return partition_by or inherited[0], order_by or inherited[1], frame or inherited[2]
    return partition_by, order_by, frame


def bind_sort_key(binder: ExprBinder, node: exp.Expr) -> SortKey:
    binder.context.only(node, "this", "desc", "nulls_first")
    return SortKey(binder.bind(node.this), not node.args.get("desc"), bool(node.args.get("nulls_first")))


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
