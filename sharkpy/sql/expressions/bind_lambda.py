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
from sharkpy.values.common_types import common_type
from sharkpy.values.types import INT, DataType

if TYPE_CHECKING:
    from sharkpy.sql.expressions.expr_binder import ExprBinder

MOST_FUNCTIONS = 8
"""Maximum nesting of functions. DuckDB's time to bind them grows with a power of their number."""


def bind_higher_order(binder: ExprBinder, row: HigherOrderFunction, node: exp.Expr) -> Expr:
    functions = [arg for arg in node.expressions if isinstance(arg, exp.Lambda)]
    others = [binder.bind(arg) for arg in node.expressions if not isinstance(arg, exp.Lambda)]
    if any(isinstance(arg, exp.Lambda) for arg in node.expressions[: len(others)]):
        raise binder.context.error(f"{row.name} takes its functions after its other arguments", node)
    counts = [len(function.expressions) for function in functions]
    types = row.variables([other.dtype for other in others], counts)
    if types is None:
        given = [str(other.dtype) for other in others]
        given += [f"a function of {count}" for count in counts]
        message = f"the function {row.name} does not take ({', '.join(given) or 'nothing'})"
        raise binder.context.error(message, node, TypeMismatchError)
    lambdas = [_bind_lambda(binder, function, one) for function, one in zip(functions, types, strict=True)]
    if row.folds:
        wider = common_type(others[1].dtype, lambdas[0].dtype)
        if wider is not None and wider != others[1].dtype:
            # The function's result does not fit the type of the start value.
            others[1] = cast(others[1], wider)
            types = [(wider, *one[1:]) for one in types]
            lambdas = [_bind_lambda(binder, function, one) for function, one in zip(functions, types, strict=True)]
    if row.folds:
        lambdas[0] = _returning(binder, lambdas[0], others[1].dtype, functions[0])
    elif row.bodies is not None:
        lambdas = [_returning(binder, one, row.bodies, node) for one in lambdas]
    args = (*others, *lambdas)
    return Call(row.name, args, row.result([arg.dtype for arg in args]))


def _bind_lambda(binder: ExprBinder, node: exp.Expr, types: Sequence[DataType]) -> Lambda:
    from sharkpy.sql.expressions.expr_binder import LAMBDA

    if binder.num_functions == MOST_FUNCTIONS:
        message = f"functions in arguments are nested more than {MOST_FUNCTIONS} levels deep"
        raise binder.context.error(message, node, sqlstate="54001")
    names = [name.name.lower() for name in node.expressions]
    if len(set(names)) < len(names):
        raise binder.context.error("the variables of a function need different names", node)
    variables = tuple(
        LambdaVariable(next(binder.context.ids), name, INT if dtype == INDEX else dtype, dtype == INDEX)
        for name, dtype in zip(names, types, strict=True)
    )
    known = {**binder.variables, **dict(zip(names, variables, strict=True))}
    inside = replace(
        binder,
        clause=LAMBDA,
        variables=known,
        aliases={},
        depth=binder.depth + 1,
        num_functions=binder.num_functions + 1,
    )
    return Lambda(variables, inside.bind(node.this))


def _returning(binder: ExprBinder, function: Lambda, target: DataType, node: exp.Expr) -> Lambda:
    if not castable(function.dtype, target):
        message = f"the function must give {target}, and {function.body} is {function.dtype}"
        raise binder.context.error(message, node, TypeMismatchError)
    return Lambda(function.variables, cast(function.body, target))
