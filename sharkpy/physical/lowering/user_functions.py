"""Users' functions that a fragment calls. They are sent with its program to the tasks."""

from __future__ import annotations

from collections.abc import Iterator

from sharkpy.physical.operators import StepOperator
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.expr import AggregateCall, Call, Expr, Literal, WindowCall
from sharkpy.udf.literals import lower_literal
from sharkpy.udf.user.function import MARK, FunctionUse, UserFunction, constant_values, find


def functions_used(fragment: PhysicalPlan) -> tuple[FunctionUse, ...]:
    """Return each function once, in order of first use, without those below a step, which has its own program."""
    return tuple(dict.fromkeys(_uses(fragment)))


def function_use(function: UserFunction, call: Call | AggregateCall | WindowCall) -> FunctionUse:
    texts = [lower_literal(arg.value, arg.dtype) if isinstance(arg, Literal) else "" for arg in call.args]
    if isinstance(call, AggregateCall) and call.form is not None:
        return FunctionUse(function, call.form.types, call.form.result)
    return FunctionUse(function, tuple(arg.dtype for arg in call.args), call.dtype, constant_values(texts))


def _uses(plan: PhysicalPlan) -> Iterator[FunctionUse]:
    for expr in plan.expressions:
        for part in expr.walk():
            yield from _use(part)
    if not isinstance(plan, StepOperator):
        for child in plan.children:
            yield from _uses(child)


def _use(expr: Expr) -> Iterator[FunctionUse]:
    if not isinstance(expr, (Call, AggregateCall, WindowCall)):
        return
    key = expr.base if isinstance(expr, AggregateCall) else expr.function
    if MARK in key:
        function = find(key)
        if function is not None:
            yield function_use(function, expr)
