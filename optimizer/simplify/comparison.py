"""Comparisons, IN, BETWEEN, LIKE and tests for NULL."""

from __future__ import annotations

import itertools
from decimal import Context, Decimal

from sharkpy.optimizer.function_traits import MIRRORED
from sharkpy.optimizer.simplify.boolean import NULL_BOOLEAN, unique
from sharkpy.plan.expr import FALSE, TRUE, Call, Cast, Expr, Literal
from sharkpy.values.common_types import as_decimal
from sharkpy.values.types import BIGINT, BOOLEAN, INT, INTEGER_TYPES, SMALLINT, TINYINT, DataType, DecimalType

_MOST_COPIED = 8
"""Largest number of nodes of a value that may be computed twice."""
_ALL_DIGITS = Context(prec=100)
_INTEGER_BITS = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}


def simplify_comparison(call: Call) -> Expr:
    """Move literals to the right, decide comparisons with NULL, and move lossless casts to the literal."""
    left, right = call.args
    if isinstance(left, Literal) and not isinstance(right, Literal):
        call = Call(MIRRORED[call.function], (right, left), BOOLEAN)
        left, right = right, left
    if not isinstance(right, Literal):
        return call
    if right.value is None:
        if call.function == "eq_null_safe":
            return Call("is_null", (left,), BOOLEAN)
        return NULL_BOOLEAN
    if isinstance(left, Cast) and (narrow := narrowed_literal(right, left.expr.dtype, left.dtype)):
        return simplify_comparison(Call(call.function, (left.expr, narrow), BOOLEAN))
    if call.function == "eq" and right.dtype == BOOLEAN:
        return left if right.value else Call("not", (left,), BOOLEAN)
    return call


def narrowed_literal(literal: Literal, narrow: DataType, wide: DataType) -> Literal | None:
    """Return the literal as a value of `narrow`, or None if that is not exact.

    The cast from `narrow` to `wide` must keep all values distinct and in order.
    """
    value = literal.value
    if narrow in INTEGER_TYPES and wide in INTEGER_TYPES and isinstance(value, int):
        if _INTEGER_BITS[narrow] > _INTEGER_BITS[wide]:
            return None
        limit = 1 << (_INTEGER_BITS[narrow] - 1)
        return Literal(value, narrow) if -limit <= value < limit else None
    exact = as_decimal(narrow)
    if not isinstance(wide, DecimalType) or exact is None or value is None:
        return None
    if wide.scale < exact.scale or wide.precision - wide.scale < exact.precision - exact.scale:
        return None
    return _narrowed_decimal(literal, narrow, exact)


def _narrowed_decimal(literal: Literal, narrow: DataType, exact: DecimalType) -> Literal | None:
    value = literal.value
    if not isinstance(value, Decimal):
        return None
    scaled = value.scaleb(exact.scale, _ALL_DIGITS)
    if scaled != scaled.to_integral_value(context=_ALL_DIGITS) or scaled.copy_abs() >= Decimal(10) ** exact.precision:
        return None
    if narrow in INTEGER_TYPES:
        limit = 1 << (_INTEGER_BITS[narrow] - 1)
        return Literal(int(value), narrow) if -limit <= int(value) < limit else None
    return Literal(value, narrow)


def simplify_in(call: Call) -> Expr:
    value, *items = call.args
    if isinstance(value, Literal) and value.value is None:
        return NULL_BOOLEAN
    kept = unique(items)
    if isinstance(value, Cast) and all(isinstance(item, Literal) for item in kept):
        narrow = [narrowed_literal(item, value.expr.dtype, value.dtype) for item in kept]  # type: ignore[arg-type]
        if all(narrow):
            value, kept = value.expr, [item for item in narrow if item]
    if len(kept) == 1:
        return simplify_comparison(Call("eq", (value, kept[0]), BOOLEAN))
    if value is call.args[0] and len(kept) == len(items):
        return call
    return Call("in", (value, *kept), BOOLEAN)


def simplify_between(call: Call) -> Expr:
    """Rewrite to two comparisons if the value is small. Nested large values would double at each level."""
    value, low, high = call.args
    if len(list(itertools.islice(value.walk(), _MOST_COPIED + 1))) > _MOST_COPIED:
        return call
    lower = simplify_comparison(Call("ge", (value, low), BOOLEAN))
    upper = simplify_comparison(Call("le", (value, high), BOOLEAN))
    return Call("and", (lower, upper), BOOLEAN)


def simplify_is_null(call: Call) -> Expr:
    match call.args[0]:
        case Literal(value):
            return TRUE if value is None else FALSE
        case Call("is_null" | "is_not_null", _):
            return FALSE
    return call


def simplify_is_not_null(call: Call) -> Expr:
    match call.args[0]:
        case Literal(value):
            return FALSE if value is None else TRUE
        case Call("is_null" | "is_not_null", _):
            return TRUE
    return call


def simplify_like(call: Call) -> Expr:
    """Rewrite a pattern without wildcards as an equality."""
    value, pattern = call.args
    if isinstance(pattern, Literal) and isinstance(pattern.value, str) and not set("%_\\") & set(pattern.value):
        return Call("eq", (value, pattern), BOOLEAN)
    return call
