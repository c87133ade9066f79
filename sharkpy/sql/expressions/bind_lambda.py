"""Calls of functions that take functions: `transform(array, x -> x + 1)`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.base.errors import TypeMismatchError
from sharkpy.plan.expr import Call, Expr, Lambda, LambdaVariable
from sharkpy.sql.expressions.bind_literal import castable
from sharkpy.sql.expressions.coercion import cast
from sharkpy.udf.higher_order_functions import INDEX, HigherOrderFunction
from sharkpy.values.types import INT, DataType, common_type

if TYPE_CHECKING:
    from sharkpy.sql.expressions.expr_binder import ExprBinder


def bind_higher_order(binder: ExprBinder, row: HigherOrderFunction, node: exp.Expr) -> Expr:
    functions = [arg for arg in node.expressions if isinstance(arg, exp.Lambda)]
    others = [binder.bind(arg) for arg in node.expressions if not isinstance(arg, exp.Lambda)]
    if any(isinstance(arg, exp.Lambda) for arg in node.expressions[: len(others)]):
        raise binder.context.error(f"{row.name} takes its functions behind its other arguments", node)
    counts = [len(function.expressions) for function in functions]
    types = row.variables([other.dtype for other in others], counts)
    if types is None:
        given = [str(other.dtype) for other in others]
        given += [f"a function of {count}" for count in counts]
        message = f"the function {row.name} does not take ({', '.join(given) or 'nothing'})"
        raise binder.context.error(message, node, TypeMismatchError)
    if row.folds:
        others[1], types = _start_value(binder, functions[0], others[1], types)
    lambdas = [_bind_lambda(binder, function, one) for function, one in zip(functions, types, strict=True)]
    if row.folds:
        lambdas[0] = _returning(binder, lambdas[0], others[1].dtype, functions[0])
    elif row.bodies is not None:
        lambdas = [_returning(binder, one, row.bodies, node) for one in lambdas]
    args = (*others, *lambdas)
    return Call(row.name, args, row.result([arg.dtype for arg in args]))


def _start_value(
    binder: ExprBinder, function: exp.Expr, start: Expr, types: Sequence[Sequence[DataType]]
) -> tuple[Expr, Sequence[Sequence[DataType]]]:
    """Start value of a fold, in a type that also holds its function's result, and the variables' types then."""
    body = _bind_lambda(binder, function, types[0])
    wider = common_type(start.dtype, body.dtype)
    if wider is None or wider == start.dtype:
        return start, types
    return cast(start, wider), [(wider, *one[1:]) for one in types]


def _bind_lambda(binder: ExprBinder, node: exp.Expr, types: Sequence[DataType]) -> Lambda:
    from sharkpy.sql.expressions.expr_binder import LAMBDA

    names = [name.name.lower() for name in node.expressions]
    if len(set(names)) < len(names):
        raise binder.context.error("the variables of a function need different names", node)
    variables = tuple(
        LambdaVariable(next(binder.context.ids), name, INT if dtype == INDEX else dtype, dtype == INDEX)
        for name, dtype in zip(names, types, strict=True)
    )
    known = {**binder.variables, **dict(zip(names, variables, strict=True))}
    inside = replace(binder, clause=LAMBDA, variables=known, aliases={}, depth=binder.depth + 1)
    return Lambda(variables, inside.bind(node.this))


def _returning(binder: ExprBinder, function: Lambda, target: DataType, node: exp.Expr) -> Lambda:
    if not castable(function.dtype, target):
        message = f"the function must give {target}, and {function.body} is {function.dtype}"
        raise binder.context.error(message, node, TypeMismatchError)
    return Lambda(function.variables, cast(function.body, target))
