"""Function calls: scalar functions and aggregates by the rows of the registry."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.conf import user_name
from sharkpy.errors import BindError, FunctionNotFoundError, TypeMismatchError, did_you_mean
from sharkpy.expr import AggregateCall, Call, Expr, Literal, PythonValue
from sharkpy.sql.coercion import cast_all, with_minimal_literals
from sharkpy.types import BIGINT, INT, PRIMITIVES, ArrayType, DataType
from sharkpy.udf import registry
from sharkpy.udf.function import AggregateFunction, ScalarFunction, TypeRule, WindowFunction

if TYPE_CHECKING:
    from sharkpy.sql.context import Context
    from sharkpy.sql.expr_binder import ExprBinder

GROUPING = "grouping"

# The functions whose result is one of their arguments: an integer literal beside a DECIMAL is exact there too.
_MIXING = ("coalesce", "nvl", "greatest", "least", "nullif", "case_when")

_EXTRACTS = {
    "year": "year",
    "quarter": "quarter",
    "month": "month",
    "week": "weekofyear",
    "day": "day",
    "dayofweek": "dayofweek",
    "dow": "dayofweek",
    "doy": "dayofyear",
    "hour": "hour",
    "minute": "minute",
    "second": "second",
}
_SYMBOLS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "div": "div",
    "mod": "%",
    "bit_and": "&",
    "bit_or": "|",
    "bit_xor": "^",
}
"""Operators as messages write them."""
_CLOCKS: dict[str, Callable[[datetime.datetime], PythonValue]] = {
    "current_date": lambda now: now.date(),
    "current_timestamp": lambda now: now.replace(tzinfo=None),
    "unix_timestamp": lambda now: int(now.timestamp()),
}
"""Functions that without arguments give the time of the statement."""
_OF_SESSION: dict[str, Callable[[Context], str]] = {
    "current_database": lambda context: context.database,
    "current_user": lambda context: user_name(context.conf),
}
_NO_PAREN: dict[type[exp.Expr], str] = {
    exp.CurrentDate: "current_date",
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentUser: "current_user",
}


def function_name(node: exp.Expr) -> str:
    return (node.this if isinstance(node.this, str) else node.this.name).lower()


def call_scalar(binder: ExprBinder, name: str, args: Sequence[Expr], node: exp.Expr) -> Expr:
    """A call of the registry's scalar function `name`, arguments cast as its row says."""
    row = registry.scalar(name)
    if row is None:
        raise not_found(binder, name, node)
    return scalar_call(binder, row, args, node)


def scalar_call(binder: ExprBinder, row: ScalarFunction, args: Sequence[Expr], node: exp.Expr) -> Expr:
    if row.name in _MIXING:
        args = with_minimal_literals(args)
    targets = argument_types(binder, row.name, row.arguments, args, node)
    if not args and row.name in _CLOCKS:
        return Literal(_CLOCKS[row.name](binder.context.now), row.result(targets))
    if row.name in _OF_SESSION:
        return Literal(_OF_SESSION[row.name](binder.context), row.result(targets))
    cast_args = cast_all(args, targets)
    if row.literal_result is not None:
        return Call(row.name, cast_args, row.literal_result(targets, literal_values(cast_args)))
    return Call(row.name, cast_args, row.result(targets))


def literal_values(args: Sequence[Expr]) -> list[object]:
    """The values of the literals among the arguments, None for the others."""
    return [arg.value if isinstance(arg, Literal) else None for arg in args]


def argument_types(
    binder: ExprBinder, name: str, rule: TypeRule, args: Sequence[Expr], node: exp.Expr
) -> Sequence[DataType]:
    """The types that a function's arguments are cast to; TypeMismatchError where it does not take them."""
    targets = rule([arg.dtype for arg in args])
    if targets is None:
        given = ", ".join(str(arg.dtype) for arg in args) or "nothing"
        message = f"the function {name} does not take ({given})"
        if name in _SYMBOLS and len(args) == 2:
            message = f"{args[0].dtype} {_SYMBOLS[name]} {args[1].dtype} is not defined"
        raise binder.context.error(message, node, TypeMismatchError)
    return targets


def not_found(binder: ExprBinder, name: str, node: exp.Expr) -> Exception:
    hint = did_you_mean(name, registry.names())
    return binder.context.error(f'no function "{name}"', node, FunctionNotFoundError, hint)


def bind_no_paren(binder: ExprBinder, node: exp.Expr) -> Expr:
    """CURRENT_DATE and its like."""
    return call_scalar(binder, _NO_PAREN[type(node)], (), node)


def bind_extract(binder: ExprBinder, node: exp.Expr) -> Expr:
    unit = node.this.name.lower()
    if unit not in _EXTRACTS:
        hint = did_you_mean(unit, _EXTRACTS)
        raise binder.context.error(f'EXTRACT knows no "{unit}"', node, BindError, hint)
    return call_scalar(binder, _EXTRACTS[unit], (binder.bind(node.expression),), node)


def bind_function(binder: ExprBinder, node: exp.Expr) -> Expr:
    """A call by name: a special form, an aggregate, or a scalar function."""
    name = function_name(node)
    if special := _SPECIAL_FORMS.get(name):
        return special(binder, node)
    if row := registry.aggregate(name):
        return bind_aggregate(binder, row, node, None)
    if scalar := registry.scalar(name):
        _plain_arguments(binder, node)
        return scalar_call(binder, scalar, tuple(map(binder.bind, node.expressions)), node)
    if name in PRIMITIVES and len(node.expressions) == 1:
        return _bind_type_function(binder, PRIMITIVES[name], node)
    if registry.window(name):
        raise binder.context.error(f"the window function {name} needs OVER (…)", node)
    if registry.table_function(name):
        message = f"the table function {name} must stand alone in the select list or in LATERAL VIEW"
        raise binder.context.error(message, node)
    raise not_found(binder, name, node)


def _plain_arguments(binder: ExprBinder, node: exp.Expr) -> None:
    for arg in node.expressions:
        if isinstance(arg, exp.Distinct):
            raise binder.context.error(f"DISTINCT is for aggregates, {function_name(node)} is none", node)
        if isinstance(arg, exp.Star):
            raise binder.context.error(f"{function_name(node)}(*) is not defined", node)


def bind_filter(binder: ExprBinder, node: exp.Expr) -> Expr:
    """aggregate(…) FILTER (WHERE …)."""
    row = registry.aggregate(function_name(node.this)) if isinstance(node.this, exp.Anonymous) else None
    if row is None:
        raise binder.context.error("FILTER is for aggregates", node)
    return bind_aggregate(binder, row, node.this, node.expression.this)


def bind_aggregate(
    binder: ExprBinder, row: AggregateFunction, node: exp.Expr, condition: exp.Expr | None
) -> AggregateCall:
    from sharkpy.sql.expr_binder import AGGREGATE, FILTER

    if not binder.clause.aggregates:
        message = f"the aggregate {row.name} is not allowed in {binder.clause.name}"
        raise binder.context.error(message, node, sqlstate="42803")
    inside = binder.within(AGGREGATE)
    args, distinct = aggregate_arguments(inside, row, node)
    filter_expr = binder.within(FILTER).predicate(condition) if condition is not None else None
    dtype = row.result([arg.dtype for arg in args]) if args else BIGINT
    return AggregateCall(row.name, args, dtype, distinct and not row.ignores_distinct, filter_expr)


def aggregate_arguments(
    binder: ExprBinder, row: AggregateFunction | WindowFunction, node: exp.Expr
) -> tuple[tuple[Expr, ...], bool]:
    """Cast arguments and whether DISTINCT was written. `count(*)` and `count(1)` have no arguments."""
    nodes, distinct = list(node.expressions), False
    if nodes and isinstance(nodes[0], exp.Distinct):
        nodes, distinct = list(nodes[0].expressions), True
        if not nodes:
            raise binder.context.error(f"{row.name}(DISTINCT) needs an argument", node)
    if row.name == "count" and len(nodes) == 1 and not distinct:
        if isinstance(nodes[0], exp.Star):
            binder.context.only(nodes[0])
            return (), False
        if isinstance(nodes[0], (exp.Literal, exp.Boolean)):
            return (), False
    if any(isinstance(item, exp.Star) for item in nodes):
        raise binder.context.error(f"{row.name}(*) is not defined", node, TypeMismatchError)
    args = tuple(map(binder.bind, nodes))
    if row.name == "count" and not args:
        raise binder.context.error("count() needs an argument or *", node, TypeMismatchError)
    return cast_all(args, argument_types(binder, row.name, row.arguments, args, node)), distinct


def _bind_if(binder: ExprBinder, node: exp.Expr) -> Expr:
    """IF(condition, then[, else])."""
    from sharkpy.sql.bind_operator import case_when
    from sharkpy.types import NULL

    if len(node.expressions) not in (2, 3):
        raise binder.context.error("IF takes a condition and two values", node, TypeMismatchError)
    condition, *values = node.expressions
    bound = [binder.bind(value) for value in values]
    return case_when(
        binder, [binder.predicate(condition)], bound if len(bound) == 2 else [*bound, Literal(None, NULL)], node
    )


def _bind_type_function(binder: ExprBinder, target: DataType, node: exp.Expr) -> Expr:
    """int(x), string(x) and their like are casts."""
    from sharkpy.sql.bind_literal import cast_checked

    return cast_checked(binder, binder.bind(node.expressions[0]), target, node)


def _bind_element_at(binder: ExprBinder, node: exp.Expr) -> Expr:
    """The function element_at counts from 1, and from the end where negative; brackets count from 0."""
    args = tuple(map(binder.bind, node.expressions))
    match args:
        case (container, Literal(int() as position)) if isinstance(container.dtype, ArrayType):
            if position > 0:
                return call_scalar(binder, "element_at", (container, Literal(position - 1, INT)), node)
            size = call_scalar(binder, "size", (container,), node)
            index = call_scalar(binder, "add", (size, Literal(position, INT)), node)
            return call_scalar(binder, "element_at", (container, index), node)
        case (container, _) if isinstance(container.dtype, ArrayType):
            raise binder.context.unsupported("element_at with an index that is not a literal", node)
    return call_scalar(binder, "element_at", args, node)


def _bind_grouping(binder: ExprBinder, node: exp.Expr) -> Expr:
    """grouping(column): 1 where the column is aggregated away in a row's grouping set."""
    if len(node.expressions) != 1 or not binder.clause.aggregates:
        raise binder.context.error(
            "grouping() takes one grouping column, in SELECT, HAVING or ORDER BY", node, sqlstate="42803"
        )
    return AggregateCall(GROUPING, (binder.bind(node.expressions[0]),), INT)


_SPECIAL_FORMS: dict[str, Callable[[ExprBinder, exp.Expr], Expr]] = {
    "if": _bind_if,
    "element_at": _bind_element_at,
    GROUPING: _bind_grouping,
}
