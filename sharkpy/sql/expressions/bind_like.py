"""LIKE, RLIKE, LIKE ANY and ALL, ESCAPE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.base.errors import TypeMismatchError
from sharkpy.plan.expr import Call, Expr, Literal, string_literal
from sharkpy.sql.expressions.bind_operator import negate
from sharkpy.sql.expressions.coercion import cast
from sharkpy.values.types import BOOLEAN, STRING, is_nested

if TYPE_CHECKING:
    from sharkpy.sql.expressions.expr_binder import ExprBinder

_ESCAPE = "\\"
"""Escape character of Hive's LIKE."""
_QUANTIFIERS: dict[type[exp.Expr], str] = {exp.Any: "likeany", exp.All: "likeall"}


def bind_like(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind value [NOT] LIKE | RLIKE pattern, and value [NOT] LIKE ANY | ALL (pattern, …).

    NOT negates the whole predicate.
    """
    binder.context.only(node, "this", "expression", "negate")
    function = "like" if isinstance(node, exp.Like) else "rlike"
    quantifier = _QUANTIFIERS.get(type(node.expression))
    if quantifier is None:
        result = _matches(binder, function, node, binder.bind(node.expression))
    elif function == "rlike":
        raise binder.context.error("RLIKE takes one pattern: ANY and ALL are for LIKE", node.expression)
    else:
        patterns = node.expression.this
        items = patterns.expressions if isinstance(patterns, exp.Tuple) else [patterns]
        if any(isinstance(item.unnest(), exp.Query) for item in items):
            raise binder.context.unsupported("LIKE ANY or ALL of a subquery", node)
        result = _matches(binder, quantifier, node, *map(binder.bind, items))
    return negate(result) if node.args.get("negate") else result


def bind_escape(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind value LIKE 'pattern' ESCAPE 'c'. The pattern is rewritten with Hive's escape, a backslash."""
    like, escape = node.this, node.expression
    if not isinstance(like, exp.Like) or type(like.expression) in _QUANTIFIERS:
        raise binder.context.error("ESCAPE is for LIKE with one pattern", node)
    if not isinstance(escape, exp.Literal) or len(escape.this) != 1:
        raise binder.context.error("ESCAPE takes one character in quotes", node, sqlstate="22019")
    pattern = binder.bind(like.expression)
    if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
        raise binder.context.unsupported("ESCAPE with a pattern that is not a constant", node)
    result = _matches(binder, "like", like, string_literal(_with_backslashes(binder, pattern.value, escape)))
    return negate(result) if like.args.get("negate") else result


def _with_backslashes(binder: ExprBinder, pattern: str, escape: exp.Expr) -> str:
    pieces: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character != escape.this:
            pieces.append(_ESCAPE * 2 if character == _ESCAPE else character)
            continue
        following = next(characters, "")
        if following not in ("%", "_", escape.this):
            message = f'the escape character "{escape.this}" must be followed by %, _ or itself'
            raise binder.context.error(message, escape, sqlstate="22025")
        pieces.append(f"{_ESCAPE}{following}" if following in ("%", "_", _ESCAPE) else following)
    return "".join(pieces)


def _matches(binder: ExprBinder, function: str, node: exp.Expr, *patterns: Expr) -> Expr:
    operands = (binder.bind(node.this), *patterns)
    for operand in operands:
        if is_nested(operand.dtype):
            message = f"{function.upper()} needs strings, {operand} is {operand.dtype}"
            raise binder.context.error(message, node, TypeMismatchError)
    return Call(function, tuple(cast(operand, STRING) for operand in operands), BOOLEAN)
