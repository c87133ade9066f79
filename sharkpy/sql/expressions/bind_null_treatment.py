"""first, last and any_value that skip NULLs: `first(x) IGNORE NULLS`, `first(x IGNORE NULLS)`, `first(x, true)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.plan.expr import Expr
from sharkpy.sql.expressions.function_names import registry_name

if TYPE_CHECKING:
    from sharkpy.sql.expressions.expr_binder import ExprBinder

POSITIONS = ("first", "last", "any_value")
OF_WINDOWS = {"first_value": "first", "last_value": "last"}
"""Window functions that are aggregates if called without OVER."""


def bind_null_treatment(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind a call, with or without FILTER, that has IGNORE NULLS or RESPECT NULLS."""
    call = node.this.this if isinstance(node.this, exp.Filter) else node.this
    name = registry_name(binder.context, call) if isinstance(call, exp.Anonymous) else ""
    if OF_WINDOWS.get(name, name) not in POSITIONS:
        words = "IGNORE NULLS" if isinstance(node, exp.IgnoreNulls) else "RESPECT NULLS"
        message = f"{words} is for first, last, any_value and, before OVER, for functions of windows"
        raise binder.context.error(message, node)
    if isinstance(node, exp.IgnoreNulls):
        call.set("expressions", [*call.expressions[:1], exp.true()])
    return binder.bind(node.this)


def without_nulls(call: exp.Expr, condition: exp.Expr | None) -> tuple[exp.Expr, exp.Expr | None]:
    """Split a call that skips NULLs into a plain call and a condition that excludes NULLs."""
    match call.expressions:
        case [exp.IgnoreNulls(this=value)] | [value, exp.Boolean(this=True)]:
            known: exp.Expr = exp.Not(this=exp.Is(this=value, expression=exp.Null()))
            both = known if condition is None else exp.And(this=condition, expression=known)
            return exp.Anonymous(this=call.this, expressions=[value]).update_positions(call), both
        case [exp.RespectNulls(this=value)]:
            return exp.Anonymous(this=call.this, expressions=[value]).update_positions(call), condition
    return call, condition
