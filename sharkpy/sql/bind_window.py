"""Window functions and the windows they are computed over."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.expr import Expr, Literal, SortKey, WindowCall, WindowFrame
from sharkpy.sql.bind_function import aggregate_arguments, function_name, not_found
from sharkpy.types import BIGINT
from sharkpy.udf import registry

if TYPE_CHECKING:
    from sharkpy.sql.expr_binder import ExprBinder


def bind_window(binder: ExprBinder, node: exp.Expr) -> Expr:
    """function(…) [IGNORE NULLS] OVER (…) or OVER name."""
    from sharkpy.sql.expr_binder import WINDOW

    binder.context.only(node, "this", "partition_by", "order", "spec", "alias", "over")
    if not binder.clause.windows:
        raise binder.context.error(f"a window function is not allowed in {binder.clause.name}", node, sqlstate="42P20")
    call, ignore_nulls = node.this, False
    if isinstance(call, (exp.IgnoreNulls, exp.RespectNulls)):
        call, ignore_nulls = call.this, isinstance(call, exp.IgnoreNulls)
    if isinstance(call, exp.Filter):
        raise binder.context.unsupported("FILTER in a window function", node)
    if not isinstance(call, exp.Anonymous):
        raise binder.context.unsupported(f"{call.key.upper()} OVER", node)
    name = function_name(call)
    row = registry.window(name) or registry.aggregate(name)
    if row is None:
        if registry.scalar(name):
            raise binder.context.error(f"{name} is no window function", call)
        raise not_found(binder, name, call)
    inside = binder.within(WINDOW)
    flags = [item for item in call.expressions if isinstance(item, exp.IgnoreNulls)]
    if flags or _skips_nulls(name, call):
        ignore_nulls = True
        call = exp.Anonymous(this=call.this, expressions=[_bare(item) for item in call.expressions[:1]])
    args, distinct = aggregate_arguments(inside, row, call)
    partition_by, order_by, frame = _window(inside, node)
    dtype = row.result([arg.dtype for arg in args]) if args or name != "count" else BIGINT
    return WindowCall(row.name, args, partition_by, order_by, frame, dtype, distinct, ignore_nulls)


def _skips_nulls(name: str, call: exp.Expr) -> bool:
    """Hive's first_value(x, true) skips NULLs."""
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
    frame = _frame(binder, node.args["spec"], bool(order_by)) if node.args.get("spec") else None
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


def _frame(binder: ExprBinder, spec: exp.Expr, is_ordered: bool) -> WindowFrame:
    binder.context.only(spec, "kind", "start", "start_side", "end", "end_side")
    start = _bound(binder, spec.args["start"], spec.args.get("start_side"), spec)
    end: int | float | None = 0
    if spec.args.get("end"):
        end = _bound(binder, spec.args["end"], spec.args.get("end_side"), spec)
    unit = spec.args["kind"].upper()
    end_is_first = start is not None and end is not None and start > end
    sides = (str(spec.args.get("start_side")).upper(), str(spec.args.get("end_side")).upper())
    if end_is_first or (start is None and sides[0] == "FOLLOWING") or (end is None and sides[1] == "PRECEDING"):
        raise binder.context.error("the window frame ends before it starts", spec, sqlstate="42P20")
    if unit == "RANGE" and not is_ordered and (start or end):
        raise binder.context.error("a RANGE frame needs ORDER BY", spec, sqlstate="42P20")
    return WindowFrame(unit, start, end)


def _bound(binder: ExprBinder, value: exp.Expr | str, side: str | None, spec: exp.Expr) -> int | float | None:
    if value == "UNBOUNDED":
        return None
    if value == "CURRENT ROW":
        return 0
    if isinstance(value, str):
        raise binder.context.unsupported(f"the bound {value} of a window frame", spec)
    literal = binder.bind(value)
    if not isinstance(literal, Literal) or not isinstance(literal.value, (int, float, Decimal)):
        raise binder.context.error("a bound of a window frame must be a number", value, sqlstate="42P20")
    if str(literal.dtype).startswith("interval"):
        raise binder.context.unsupported("an interval as bound of a window frame", value)
    offset = literal.value if isinstance(literal.value, int) else float(literal.value)
    if offset < 0:
        raise binder.context.error("a bound of a window frame must not be negative", value, sqlstate="42P20")
    return -offset if str(side).upper() == "PRECEDING" else offset
