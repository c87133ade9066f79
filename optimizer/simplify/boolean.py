"""AND, OR and NOT under three-valued logic."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.optimizer.function_traits import NEGATED
from sharkpy.plan.expr import FALSE, TRUE, Call, Expr, Literal, conjuncts, membership
from sharkpy.values.types import BOOLEAN

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
