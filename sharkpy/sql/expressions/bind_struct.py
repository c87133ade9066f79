"""struct(x AS name, y, …): a struct whose fields may have names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.plan.expr import Expr, string_literal

if TYPE_CHECKING:
    from sharkpy.sql.expressions.expr_binder import ExprBinder


def bind_struct(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind struct; a field without a name is called by its place, as in struct(x, y)."""
    from sharkpy.sql.expressions.bind_function import call_scalar, plain_arguments

    plain_arguments(binder, node)
    if not any(isinstance(arg, exp.Alias) for arg in node.expressions):
        return call_scalar(binder, "struct", tuple(map(binder.bind, node.expressions)), node)
    pairs: list[Expr] = []
    for place, arg in enumerate(node.expressions, start=1):
        is_named = isinstance(arg, exp.Alias)
        name, value = (arg.alias, arg.this) if is_named else (f"col{place}", arg)
        pairs += (string_literal(name), binder.bind(value))
    return call_scalar(binder, "named_struct", pairs, node)
