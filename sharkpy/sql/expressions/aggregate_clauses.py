"""Clauses and arguments that only aggregates have: IGNORE NULLS, WITHIN GROUP, and constant arguments.

`first(x) IGNORE NULLS` becomes `first(x)` with a filter. `percentile_cont(0.5) WITHIN GROUP (ORDER BY x)` and
`listagg(x, ',') WITHIN GROUP (ORDER BY y)` become plain calls with the ordering as an argument.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.base.errors import UnsupportedError, did_you_mean
from sharkpy.plan.expr import Call, Cast, Expr, Literal
from sharkpy.plan.references import column_ids
from sharkpy.sql.object_names import function_name, registry_name
from sharkpy.udf.function import AggregateFunction, WindowFunction

if TYPE_CHECKING:
    from sharkpy.sql.expressions.expr_binder import ExprBinder

NULL_SKIPPING = ("first", "last", "any_value")
AGGREGATES_OF_WINDOWS = {"first_value": "first", "last_value": "last"}
"""Window functions that are aggregates if called without OVER."""


def bind_null_treatment(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind a call, with or without FILTER, that has IGNORE NULLS or RESPECT NULLS."""
    call = node.this.this if isinstance(node.this, exp.Filter) else node.this
    name = registry_name(binder.context, call) if isinstance(call, exp.Anonymous) else ""
    if AGGREGATES_OF_WINDOWS.get(name, name) not in NULL_SKIPPING:
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


def check_constants(
    binder: ExprBinder, row: AggregateFunction | WindowFunction, args: Sequence[Expr], node: exp.Expr
) -> None:
    if not isinstance(row, AggregateFunction):
        return
    for position, problem in row.constants:
        if position >= len(args):
            continue
        if column_ids(args[position]):
            message = f"argument {position + 1} of {row.name} must be a constant"
            raise binder.context.error(message, node, sqlstate="42804")
        for value in _values(args[position]):
            if (wrong := problem(value)) is not None:
                raise binder.context.error(f"{row.name}: {wrong}", node, sqlstate="22023")


def _values(expr: Expr) -> Iterator[object]:
    """Values of a constant: its value, or the items of an array."""
    match expr:
        case Literal(list() | tuple() as items):
            yield from items
        case Literal(value):
            yield value
        case Cast(inner):
            yield from _values(inner)
        case Call("array", items):
            for item in items:
                yield from _values(item)
