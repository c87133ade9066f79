"""Simplifications of conditions, under three-valued logic: AND, OR and NOT, and comparisons, IN, BETWEEN, LIKE and
tests for NULL.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from decimal import Context, Decimal

from sharkpy.optimizer.function_traits import MIRRORED, NEGATED
from sharkpy.plan.expr import FALSE, TRUE, Call, Cast, Expr, Literal, conjuncts, membership
from sharkpy.values.common_types import as_decimal
from sharkpy.values.types import BIGINT, BOOLEAN, INT, INTEGER_TYPES, SMALLINT, TINYINT, DataType, DecimalType

_FEW_TERMS = 8
"""Up to this number of terms, pairwise comparison is cheaper than hashing."""
CONNECTIVES = frozenset(("and", "or"))
NULL_BOOLEAN = Literal(None, BOOLEAN)


def connect(function: str, terms: Sequence[Expr]) -> Expr:
    """Join the terms, at least one, by AND or OR. Long chains are balanced so that no tree grows deep."""
    if len(terms) > _FEW_TERMS:
        middle = len(terms) // 2
        return Call(function, (connect(function, terms[:middle]), connect(function, terms[middle:])), BOOLEAN)
    result = terms[0]
    for term in terms[1:]:
        result = Call(function, (result, term), BOOLEAN)
    return result


def flatten(function: str, args: Sequence[Expr]) -> list[Expr]:
    found: list[Expr] = []
    for arg in args:
        if isinstance(arg, Call) and arg.function == function:
            found.extend(flatten(function, arg.args))
        else:
            found.append(arg)
    return found


def unique(terms: Sequence[Expr]) -> list[Expr]:
    if len(terms) > _FEW_TERMS:
        return list(dict.fromkeys(terms))
    kept: list[Expr] = []
    for term in terms:
        if term not in kept:
            kept.append(term)
    return kept


def simplify_and(call: Call) -> Expr:
    return _simplify_chain(call, neutral=True)


def simplify_or(call: Call) -> Expr:
    result = _simplify_chain(call, neutral=False)
    if isinstance(result, Call) and result.function == "or":
        return _factored(result)
    return result


def _simplify_chain(call: Call, neutral: bool) -> Expr:
    """Simplify a chain. `neutral` is the value without an effect in it; the opposite value decides it."""
    flat = flatten(call.function, call.args)
    terms = unique([term for term in flat if not (isinstance(term, Literal) and term.value is neutral)])
    if any(isinstance(term, Literal) and term.value is (not neutral) for term in terms):
        return FALSE if neutral else TRUE
    if not terms:
        return TRUE if neutral else FALSE
    return call if len(terms) == len(flat) else connect(call.function, terms)


def _factored(call: Call) -> Expr:
    """Rewrite (a and b) or (a and c) as a and (b or c), and equalities of one column as IN."""
    branches = [list(conjuncts(branch)) for branch in flatten("or", call.args)]
    common = [term for term in branches[0] if all(term in branch for branch in branches[1:])]
    if not common:
        return _as_in(call, branches)
    rests = [[term for term in branch if term not in common] for branch in branches]
    if not all(rests):
        return connect("and", common)
    alternatives = connect("or", [connect("and", rest) for rest in rests])
    return connect("and", [*common, simplify_or(alternatives) if isinstance(alternatives, Call) else alternatives])


def _as_in(call: Call, branches: Sequence[Sequence[Expr]]) -> Expr:
    """Rewrite x = 1 or x = 2 or x in (3) as x in (1, 2, 3), if there are no other branches."""
    values: list[Expr] = []
    subject: Expr | None = None
    for branch in branches:
        match branch:
            case [Call("eq" | "in", (value, *items))] if all(isinstance(item, Literal) for item in items):
                if subject is not None and value != subject:
                    return call
                subject = value
                values.extend(items)
            case _:
                return call
    return call if subject is None else membership(subject, unique(values))


def simplify_not(call: Call) -> Expr:
    match call.args[0]:
        case Literal(value):
            return NULL_BOOLEAN if value is None else Literal(not value, BOOLEAN)
        case Call("not", (inner,)):
            return inner
        case Call(function, args) if function in NEGATED:
            return Call(NEGATED[function], args, BOOLEAN)
        case Call("is_null", args):
            return Call("is_not_null", args, BOOLEAN)
        case Call("is_not_null", args):
            return Call("is_null", args, BOOLEAN)
        case Call("and" | "or" as function, args):
            negated = [simplify_not(Call("not", (arg,), BOOLEAN)) for arg in flatten(function, args)]
            return connect("or" if function == "and" else "and", negated)
    return call


# Comparisons, IN, BETWEEN, LIKE and tests for NULL


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
