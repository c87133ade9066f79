"""Ordered-set aggregates: percentile_cont(0.5) WITHIN GROUP (ORDER BY x), listagg(x, ',') WITHIN GROUP (ORDER BY y)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.base.errors import UnsupportedError, did_you_mean
from sharkpy.plan.expr import Expr
from sharkpy.sql.expressions.function_names import function_name

if TYPE_CHECKING:
    from sharkpy.sql.expressions.expr_binder import ExprBinder

_DESCENDING = {"percentile_cont": "percentile_cont", "percentile_disc": "percentile_disc_desc"}
"""Ordered-set aggregates, and the functions that compute them for descending values."""


_JOINED = ("listagg", "string_agg")


def bind_within_group(binder: ExprBinder, node: exp.Expr) -> Expr:
    return binder.bind(plain_call(binder, node))


def plain_call(binder: ExprBinder, node: exp.Expr) -> exp.Expr:
    """Rewrite a call with WITHIN GROUP to a call with the ordering as an argument: (x, fractions)."""
    call, order = node.this, node.expression
    name = function_name(call) if isinstance(call, exp.Anonymous) else call.key
    if name in _JOINED:
        return _joined_in_order(binder, node)
    if name not in _DESCENDING:
        hint = did_you_mean(name, _DESCENDING)
        raise binder.context.error(f"{name} takes no WITHIN GROUP", node, hint=hint)
    if len(call.expressions) != 1 or len(order.expressions) != 1:
        message = f"{name} takes one argument, the fractions, and one expression WITHIN GROUP (ORDER BY …)"
        raise binder.context.error(message, node, sqlstate="42601")
    (key,), (fractions,) = order.expressions, call.expressions
    if key.args.get("desc"):
        fractions = _complement(fractions) if name == "percentile_cont" else fractions
        name = _DESCENDING[name]
    return exp.Anonymous(this=name, expressions=[key.this, fractions])


def _joined_in_order(binder: ExprBinder, node: exp.Expr) -> exp.Expr:
    """Rewrite listagg with its sort keys as arguments after the delimiter."""
    call, keys = node.this, node.expression.expressions
    if len({bool(key.args.get("desc")) for key in keys}) > 1:
        raise binder.context.error(
            "listagg WITHIN GROUP must sort all keys in the same direction", node, UnsupportedError
        )
    texts = list(call.expressions)
    distinct = isinstance(texts[0], exp.Distinct) if texts else False
    texts = list(texts[0].expressions) if distinct else texts
    arguments = [*texts, *([exp.Literal.string("")] if len(texts) == 1 else []), *(key.this for key in keys)]
    name = "listagg_descending" if keys[0].args.get("desc") else "listagg_ascending"
    return exp.Anonymous(this=name, expressions=[exp.Distinct(expressions=arguments)] if distinct else arguments)


def _complement(fractions: exp.Expr) -> exp.Expr:
    """Complement of the fractions: a descending percentile p is the ascending percentile 1 - p."""
    if isinstance(fractions, exp.Anonymous) and function_name(fractions) == "array":
        return exp.Anonymous(this="array", expressions=[_complement(item) for item in fractions.expressions])
    return exp.Paren(this=exp.Sub(this=exp.Literal.number("1.0e0"), expression=fractions))
