"""struct(x AS name, y, …): a struct with optional names of fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.plan.expr import Expr, string_literal

if TYPE_CHECKING:
    from sharkpy.sql.expressions.expr_binder import ExprBinder


def bind_struct(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind struct. A field without a name is named by its position, as in struct(x, y)."""
    from sharkpy.sql.expressions.bind_function import bind_arguments, call_scalar, plain_arguments

    plain_arguments(binder, node)
    if not any(isinstance(arg, exp.Alias) for arg in node.expressions):
        return call_scalar(binder, "struct", bind_arguments(binder, node), node)
    pairs: list[Expr] = []
    for arg in node.expressions:
        if isinstance(arg, exp.Alias):
            pairs += (string_literal(arg.alias), binder.bind(arg.this))
            continue
        columns = binder.context.expand_star(binder.context, binder.scope, arg)
        for value in [binder.bind(arg)] if columns is None else columns:
            pairs += (string_literal(f"col{len(pairs) // 2 + 1}"), value)
    return call_scalar(binder, "named_struct", pairs, node)
