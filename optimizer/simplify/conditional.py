"""CASE, IF and COALESCE."""

from __future__ import annotations

from sharkpy.plan.expr import Call, Cast, Expr, Literal


def simplify_case_when(call: Call) -> Expr:
    """Drop branches that cannot be taken. A branch that is always taken ends the list."""
    *pairs, default = call.args
    kept: list[Expr] = []
    for condition, value in zip(pairs[::2], pairs[1::2], strict=True):
        if isinstance(condition, Literal):
            if condition.value is True:
                default = value
                break
            continue
        kept += [condition, value]
    if not kept:
        return _typed(default, call)
    args = (*kept, default)
    return call if len(args) == len(call.args) and args[-1] is call.args[-1] else Call(call.function, args, call.dtype)


def simplify_if(call: Call) -> Expr:
    condition, value, default = call.args
    if isinstance(condition, Literal):
        return _typed(value if condition.value is True else default, call)
    return call


def simplify_coalesce(call: Call) -> Expr:
    kept: list[Expr] = []
    for arg in call.args:
        if isinstance(arg, Literal):
            if arg.value is None:
                continue
            kept.append(arg)
            break
        kept.append(arg)
    if not kept:
        return Literal(None, call.dtype)
    if len(kept) == 1:
        return _typed(kept[0], call)
    return call if len(kept) == len(call.args) else Call(call.function, tuple(kept), call.dtype)


def _typed(expr: Expr, call: Call) -> Expr:
    return expr if expr.dtype == call.dtype else Cast(expr, call.dtype)
