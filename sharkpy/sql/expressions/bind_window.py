"""Window functions and their windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.optimizer.function_traits import ORDER_SENSITIVE_AGGREGATES
from sharkpy.plan.expr import Expr, SortKey, WindowCall, WindowFrame
from sharkpy.sql.expressions.bind_frame import bind_frame
from sharkpy.sql.expressions.bind_function import aggregate_arguments, aggregate_type, not_found
from sharkpy.sql.expressions.function_names import function_name, registry_name
from sharkpy.udf import registry
from sharkpy.udf.function import NullPolicy
from sharkpy.udf.user.function import find, shown_name

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
        raise not_found(binder, function_name(call), call)
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
