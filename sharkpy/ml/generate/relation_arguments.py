"""Arguments of GENERATE, converted for the Python function that it calls."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sharkpy.base.errors import BindError, TypeMismatchError, did_you_mean
from sharkpy.execution.queries.run_plan import query_rows
from sharkpy.ml.rdd.table_rdd import TableRDD
from sharkpy.plan.expr import Alias, Expr, Literal
from sharkpy.plan.logical import LogicalPlan, Project, Values
from sharkpy.udf.user.relation import TABLE, Kind, PythonRelation
from sharkpy.values.python_values import typed_values, with_intervals
from sharkpy.values.types import (
    BOOLEAN,
    INTEGER_TYPES,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructType,
    is_numeric,
    is_string,
)

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.plan.commands import GenerateArgument


def bound_arguments(
    function: PythonRelation, arguments: Sequence[GenerateArgument], session: EngineSession
) -> inspect.BoundArguments:
    """Return the arguments of the call by its parameters: a TableRDD for a query, a Python value for a constant.

    Raise BindError that shows the signature if they are too many, too few or unknown, TypeMismatchError for a wrong
    type.
    """
    by_position: list[object] = []
    by_name: dict[str, object] = {}
    for one, value in zip(arguments, _values(arguments, session), strict=True):
        if one.name is None:
            by_position.append(value)
        else:
            by_name[_parameter(function, one.name)] = value
    try:
        bound = function.signature.bind(*by_position, **by_name)
    except TypeError as error:
        message = f"the function {function.name} is called with wrong arguments: {error}"
        raise BindError(message, hint=f"call {function.usage}", sqlstate="42883") from None
    for name, value in bound.arguments.items():
        bound.arguments[name] = _of_parameter(function, name, value)
    return bound


def _values(arguments: Sequence[GenerateArgument], session: EngineSession) -> Iterator[TableRDD | object]:
    constants = iter(constant_values([one.value for one in arguments if isinstance(one.value, Expr)], session))
    for one in arguments:
        yield TableRDD(session, one.value) if isinstance(one.value, LogicalPlan) else next(constants)


def constant_values(exprs: Sequence[Expr], session: EngineSession) -> list[object]:
    """Return the values of expressions without columns. A query of one row computes expressions other than literals."""
    if all(isinstance(expr, Literal) for expr in exprs):
        return [with_intervals(expr.value, expr.dtype) for expr in exprs if isinstance(expr, Literal)]
    items = tuple(Alias(expr, index, f"c{index}") for index, expr in enumerate(exprs, start=1))
    (batch,) = (batch for batch in query_rows(session, Project(Values((), ((),)), items)) if batch.num_rows)
    return [typed_values(column, expr.dtype)[0] for column, expr in zip(batch.columns, exprs, strict=True)]


def _parameter(function: PythonRelation, name: str) -> str:
    """Return the parameter of that name; names in SQL ignore case."""
    parameters = function.signature.parameters
    if name in parameters:
        return name
    if same := [one for one in parameters if one.lower() == name.lower()]:
        return same[0]
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        return name
    hint = did_you_mean(name, parameters) or f"call {function.usage}"
    raise BindError(f'the function {function.name} has no parameter "{name}"', hint=hint, sqlstate="42883")


def _of_parameter(function: PythonRelation, name: str, value: Any) -> object:
    """Return the value of a parameter, converted; for `*others` and `**others` each value is converted by itself."""
    kind = function.kinds.get(name)
    match function.signature.parameters[name].kind:
        case inspect.Parameter.VAR_POSITIONAL:
            return tuple(_converted(function, name, one, kind) for one in value)
        case inspect.Parameter.VAR_KEYWORD:
            return {key: _converted(function, key, one, kind) for key, one in value.items()}
    return _converted(function, name, value, kind)


def _converted(function: PythonRelation, name: str, value: object, kind: Kind) -> object:
    """Return `value` as the Python type of the parameter. Numbers with a fraction become floats unless a decimal is
    required.
    """
    is_table = isinstance(value, TableRDD)
    if is_table != (kind == TABLE) and kind is not None and not (value is None and _takes_none(function, name)):
        raise _mismatch(function, name, value, kind)
    if is_table or value is None:
        return value
    if isinstance(kind, DataType):
        if not _fits(value, kind):
            raise _mismatch(function, name, value, kind)
        if isinstance(kind, DecimalType):
            return value if isinstance(value, Decimal) else Decimal(str(value))
        if is_numeric(kind) and kind not in INTEGER_TYPES:
            return float(value)  # type: ignore[arg-type]
    return _plain(value)


def _takes_none(function: PythonRelation, name: str) -> bool:
    parameter = function.signature.parameters.get(name)
    return parameter is not None and parameter.default is None


def _fits(value: object, kind: DataType) -> bool:
    if isinstance(value, bool):
        return kind == BOOLEAN
    if kind in INTEGER_TYPES:
        return isinstance(value, int)
    if is_numeric(kind):
        return isinstance(value, (int, float, Decimal))
    if is_string(kind):
        return isinstance(value, str)
    if isinstance(kind, ArrayType):
        return isinstance(value, list) and all(one is None or _fits(one, kind.element) for one in value)
    if isinstance(kind, (MapType, StructType)):
        return isinstance(value, dict)
    return kind != BOOLEAN and not isinstance(value, (int, float, Decimal, list, dict))


def _plain(value: object) -> object:
    """Return decimals as floats, also in arrays and maps."""
    match value:
        case Decimal():
            return float(value)
        case list():
            return [_plain(one) for one in value]
        case dict():
            return {key: _plain(one) for key, one in value.items()}
    return value


def _mismatch(function: PythonRelation, name: str, value: object, kind: Kind) -> TypeMismatchError:
    wanted = "a table" if kind == TABLE else f"of type {kind}"
    given = "a table" if isinstance(value, TableRDD) else "NULL" if value is None else repr(_plain(value))
    message = f'the argument "{name}" of the function {function.name} is {wanted}, and {given} is given'
    return TypeMismatchError(message, hint=f"call {function.usage}")
