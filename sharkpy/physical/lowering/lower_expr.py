"""Expressions to SQL: by the registry's rows, or on integers where ranges prove that these suffice."""

from __future__ import annotations

from sharkpy.base.errors import InternalError, UnsupportedError
from sharkpy.physical.lowering.integer_calls import integer_call, integer_cast
from sharkpy.physical.lowering.value import Scope, Value, literal_integer
from sharkpy.physical.ranges import ColumnRange
from sharkpy.plan.expr import Alias, Call, Cast, ColumnRef, Expr, Lambda, LambdaVariable, Literal, SortKey
from sharkpy.udf import registry
from sharkpy.udf.casts import lower_cast
from sharkpy.udf.checked_call import lower_checked
from sharkpy.udf.literals import lower_literal
from sharkpy.udf.ordering import order_term
from sharkpy.udf.value_size import UNKNOWN, cast_extent, leaf_extent
from sharkpy.values.types import INTEGER_TYPES, DataType


def lower(expr: Expr, scope: Scope) -> Value:
    """The value of `expr` over the columns in `scope`."""
    match expr:
        case ColumnRef(column_id):
            if column_id not in scope:
                raise InternalError(f"column {expr} is not produced below its use")
            return scope[column_id]
        case Literal(constant, dtype):
            number = literal_integer(constant, dtype)
            known = None if number is None else ColumnRange(number, number)
            sql = lower_literal(constant, dtype)
            return Value(sql, dtype, known, None, number, extent=leaf_extent(sql, dtype))
        case Alias(inner):
            return lower(inner, scope)
        case Cast(inner, dtype):
            value = lower(inner, scope)
            return integer_cast(value, dtype) or _cast(value, dtype)
        case LambdaVariable(variable_id, _, dtype, is_index):
            name = f"v{variable_id}"
            return Value(f"CAST({name} - 1 AS INTEGER)" if is_index else name, dtype, extent=leaf_extent(name, dtype))
        case Lambda(variables, body):
            names = ", ".join(f"v{variable.variable_id}" for variable in variables)
            made = lower(body, scope).sized()
            return Value(f"lambda {names}: {made.sql}", expr.dtype, extent=made.extent or UNKNOWN)
        case Call():
            return _call(expr, [lower(arg, scope) for arg in expr.args])
    raise UnsupportedError(f"{expr} cannot be computed here")


def lower_logical(expr: Expr, scope: Scope) -> str:
    return lower(expr, scope).logical()


def _call(call: Call, args: list[Value]) -> Value:
    if (value := integer_call(call.function, args, call.dtype)) is not None:
        return value
    row = registry.scalar(call.function)
    if row is None:
        raise UnsupportedError(f"function {call.function} cannot be computed")
    made = lower_checked(row, [arg.sized() for arg in args], call.dtype)
    return Value(made.sql, call.dtype, extent=made.extent, unchecked=made.unchecked)


def _cast(value: Value, dtype: DataType) -> Value:
    sql = lower_cast(value.logical(), value.dtype, dtype)
    return Value(sql, dtype, extent=cast_extent(value.sized().extent, value.dtype, dtype))


def order_by(keys: tuple[SortKey, ...], scope: Scope, *, is_added_to: bool = False) -> str:
    """The list behind ORDER BY; NULLs are placed explicitly.

    Integers that stand for the values have their order; where something `is_added_to` them they are not used.
    """
    terms = []
    for key in keys:
        value = lower(key.expr, scope)
        sql = value.logical() if value.values or is_added_to else value.sql
        sql = f"({sql} + 0)" if value.constant is not None and value.dtype in INTEGER_TYPES else sql
        terms.append(order_term(sql, key.dtype, ascending=key.ascending, nulls_first=key.nulls_first))
    return ", ".join(terms)
