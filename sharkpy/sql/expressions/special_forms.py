"""Functions whose calls the binder reads itself: struct, from_json, make_interval, TIMESTAMPADD, predict.

Their arguments are names, units, options or models, so a row of the registry cannot describe them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.base.errors import (
    BindError,
    SharkError,
    TableNotFoundError,
    TypeMismatchError,
    UnsupportedError,
    did_you_mean,
)
from sharkpy.base.parse_limits import shortened
from sharkpy.catalog.names import qualified
from sharkpy.plan.expr import Call, Expr, Literal, string_literal
from sharkpy.sql.expressions.coercion import cast
from sharkpy.sql.object_names import function_name
from sharkpy.udf.json_functions import schema_of_json
from sharkpy.udf.time_units import UNITS
from sharkpy.udf.user.function import intern
from sharkpy.values.types import BOOLEAN, DOUBLE, INT, NULL, STRING, StringType, is_numeric

if TYPE_CHECKING:
    from sharkpy.catalog.function_catalog import ModelFunction
    from sharkpy.sql.expressions.expr_binder import ExprBinder


def bind_struct(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind struct. A field without a name is named by its position, as in struct(x, y)."""
    from sharkpy.sql.expressions.bind_function import bind_arguments, call_scalar, plain_arguments

    plain_arguments(binder, node)
    if not any(isinstance(arg, exp.Alias) for arg in node.expressions):
        return call_scalar(binder, "struct", bind_arguments(binder, node), node)
    pairs: list[Expr] = []
    for arg in node.expressions:
        if isinstance(arg, exp.Alias):
            pairs += (string_literal(arg.alias), binder.bind(arg.this))
            continue
        columns = binder.context.expand_star(binder.context, binder.scope, arg)
        for value in [binder.bind(arg)] if columns is None else columns:
            pairs += (string_literal(f"col{len(pairs) // 2 + 1}"), value)
    return call_scalar(binder, "named_struct", pairs, node)


def bind_from_json(binder: ExprBinder, node: exp.Expr) -> Expr:
    from sharkpy.sql.expressions.bind_function import call_scalar

    args = tuple(map(binder.bind, node.expressions))
    if len(args) == 3:
        args = (*args[:2], _options(binder, args[2], node))
    try:
        return call_scalar(binder, "from_json", args, node)
    except TypeMismatchError as error:
        raise binder.context.error(error.message, node, TypeMismatchError, error.hint) from None


def bind_schema_of_json(binder: ExprBinder, node: exp.Expr) -> Expr:
    match tuple(map(binder.bind, node.expressions)):
        case (Literal(str() as text),):
            try:
                return Literal(schema_of_json(text), STRING)
            except ValueError:
                message = f'schema_of_json: "{shortened(text)}" is not JSON'
                raise binder.context.error(message, node, TypeMismatchError) from None
    raise binder.context.error("schema_of_json takes a constant text", node, TypeMismatchError)


def _options(binder: ExprBinder, given: Expr, node: exp.Expr) -> Literal:
    """Options of a call: a map of constants, as JSON text with names in lower case."""
    match given:
        case Call("map", args) if all(isinstance(arg, Literal) for arg in args):
            texts = [str(arg.value) for arg in args if isinstance(arg, Literal)]
            names = (text.lower() for text in texts[::2])
            return Literal(json.dumps(dict(zip(names, texts[1::2], strict=True))), STRING)
    message = f"the options of {function_name(node)} are a map of constants"
    raise binder.context.error(message, node, TypeMismatchError, "map('dateFormat', 'dd/MM/yyyy')")


_UNITS = ("years", "months", "weeks", "days", "hours", "minutes", "seconds")
_ZERO = Literal(0, INT)


def bind_make_interval(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind make_interval as an interval of months, or of days and time.

    The parts that are not the constant 0 decide. Raise UnsupportedError for parts of both.
    """
    from sharkpy.sql.expressions.bind_function import call_scalar

    if len(node.expressions) > len(_UNITS):
        message = f"make_interval takes {', '.join(_UNITS)}, not {len(node.expressions)} values"
        raise binder.context.error(message, node, TypeMismatchError)
    given = [binder.bind(argument) for argument in node.expressions]
    parts = [*given, *[_ZERO] * (len(_UNITS) - len(given))]
    months, clock = parts[:2], parts[2:]
    if all(map(_is_zero, clock)) and (not all(map(_is_zero, months)) or 0 < len(given) <= len(months)):
        return call_scalar(binder, "make_ym_interval", months, node)
    if not all(map(_is_zero, months)):
        hint = "add make_ym_interval(…) and make_dt_interval(…) to the time one after the other"
        raise binder.context.error("an interval of months and of days is not supported", node, UnsupportedError, hint)
    weeks, days, *time = clock
    if not _is_zero(weeks):
        week_days = call_scalar(binder, "multiply", (weeks, Literal(7, INT)), node)
        days = week_days if _is_zero(days) else call_scalar(binder, "add", (week_days, days), node)
    return call_scalar(binder, "make_dt_interval", (days, *time), node)


def _is_zero(part: Expr) -> bool:
    return isinstance(part, Literal) and part.value == 0


def _unit(binder: ExprBinder, node: exp.Expr) -> str:
    """Name of the unit in the singular. Raise BindError if it is not a unit."""
    is_word = isinstance(node, exp.Column) and not node.table
    word = node.name.lower() if is_word or (isinstance(node, exp.Literal) and node.is_string) else ""
    unit = word.removesuffix("s")
    if unit not in UNITS:
        hint = did_you_mean(unit, UNITS)
        raise binder.context.error(f"a unit of time expected, not {node.sql()}", node, BindError, hint)
    return unit


def with_unit(function: str, *, counted: int = 0) -> Callable[[ExprBinder, exp.Expr], Expr]:
    """Return a binder of `function` that passes the unit as a string.

    With `counted`, only calls with that number of arguments have a unit.
    """

    def bind(binder: ExprBinder, node: exp.Expr) -> Expr:
        from sharkpy.sql.expressions.bind_function import call_scalar
        from sharkpy.sql.object_names import function_name

        arguments = node.expressions
        if not arguments or (counted and len(arguments) != counted):
            return call_scalar(binder, function_name(node), tuple(map(binder.bind, arguments)), node)
        rest = tuple(map(binder.bind, arguments[1:]))
        return call_scalar(binder, function, (string_literal(_unit(binder, arguments[0])), *rest), node)

    return bind


UNIT_CALLS: dict[str, Callable[[ExprBinder, exp.Expr], Expr]] = {
    "timestampadd": with_unit("timestampadd"),
    "timestampdiff": with_unit("timestampdiff"),
    "date_add": with_unit("timestampadd", counted=3),
    "dateadd": with_unit("timestampadd", counted=3),
    "date_diff": with_unit("timestampdiff", counted=3),
    "datediff": with_unit("timestampdiff", counted=3),
}
"""Function -> its binder. Functions that also take two times, or a time and days, have a unit with three arguments
only.
"""


def bind_predict(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind predict. The features are numbers or booleans, as many as the model has. A NULL feature gives NULL."""
    method, arguments = function_name(node), list(node.expressions)
    match [binder.bind(one) for one in arguments[:1]]:
        case [Literal(str(name), StringType())]:
            model = _model(binder, name, method, node)
        case _:
            hint = f"{method}('model', feature, …)"
            message = f"the first argument of {method} is the name of a model in quotes"
            raise binder.context.error(message, node, TypeMismatchError, hint)
    features = tuple(map(binder.bind, arguments[1:]))
    if len(features) != len(model.features):
        message = (
            f'the model "{name}" takes {len(model.features)} features ({", ".join(model.features)}), '
            f"and {len(features)} {'is' if len(features) == 1 else 'are'} given"
        )
        raise binder.context.error(message, node, TypeMismatchError)
    for feature, value in zip(model.features, features, strict=True):
        if not is_numeric(value.dtype) and value.dtype not in (BOOLEAN, NULL):
            message = f'the feature "{feature}" of the model "{name}" is a number, and {value} is {value.dtype}'
            raise binder.context.error(message, node, TypeMismatchError)
    return model_call(model, features)


def model_call(model: ModelFunction, features: tuple[Expr, ...]) -> Call:
    """Return the call of a model's function with the values of its features."""
    function = intern(model.function)
    return Call(function.key, tuple(cast(one, DOUBLE) for one in features), model.result)


def _model(binder: ExprBinder, name: str, method: str, node: exp.Expr) -> ModelFunction:
    context = binder.context
    try:
        return context.catalog.model_function(context.catalog.table(*qualified(name, context.database)), method)
    except TableNotFoundError as error:
        raise context.error(f'no model "{name}"', node, TableNotFoundError, error.hint) from None
    except SharkError as error:
        kind = type(error) if isinstance(error, BindError) else BindError
        raise context.error(error.message, node, kind, error.hint, error.sqlstate) from None
