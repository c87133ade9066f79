"""Lowering of expressions to SQL, by the registry's rows, or on integers if ranges prove these sufficient.

Arithmetic and comparisons on integer forms are exact, and need no checks, as ranges rule out overflow.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import InternalError, UnsupportedError
from sharkpy.physical.column_bounds import ColumnRange
from sharkpy.physical.kernel_code import LOWEST, NULL_CODE, Code, code_of, constant_code
from sharkpy.physical.lowering.value import Scope, Value, literal_integer
from sharkpy.plan.arrow_data import ConstantSet
from sharkpy.plan.expr import (
    Alias,
    Call,
    Cast,
    ColumnRef,
    Expr,
    InSet,
    Lambda,
    LambdaVariable,
    Literal,
    SortKey,
    conjuncts,
)
from sharkpy.udf import registry
from sharkpy.udf.casts import lower_cast
from sharkpy.udf.checked_call import lower_checked
from sharkpy.udf.duckdb_sql import balanced, duckdb_type, lower_literal, quote_string
from sharkpy.udf.ordering import order_term
from sharkpy.udf.value_size import UNKNOWN, cast_extent, leaf_extent
from sharkpy.values.types import BOOLEAN, INTEGER_TYPES, DataType, DecimalType

_MOST_CONJUNCTS = 256
_SEPARATORS = (",", "\x1f", "\x1e", "\x1d", "\x1c", "\x02", "\x01")


def lower(expr: Expr, scope: Scope) -> Value:
    """Return the value of `expr` over the columns in `scope`."""
    match expr:
        case ColumnRef(column_id):
            if column_id not in scope:
                raise InternalError(f"column {expr} is not produced below its use")
            return scope[column_id]
        case Literal(constant, dtype):
            number = literal_integer(constant, dtype)
            known = None if number is None else ColumnRange(number, number)
            sql, code = lower_literal(constant, dtype), _literal_code(constant, number)
            return Value(sql, dtype, known, None, number, extent=leaf_extent(sql, dtype), code=code)
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
            made = lower(_without_queries(body), scope).sized()
            return Value(f"lambda {names}: {made.sql}", expr.dtype, extent=made.extent or UNKNOWN)
        case InSet(inner, constants, is_in_call):
            return Value(_in_set(lower_logical(inner, scope), constants, is_in_call), BOOLEAN)
        case Call("and", _) if len(terms := conjuncts(expr)) > _MOST_CONJUNCTS:
            return _long_conjunction([lower_logical(term, scope) for term in terms])
        case Call():
            return _call(expr, scope)
    raise UnsupportedError(f"{expr} cannot be computed here")


def lower_logical(expr: Expr, scope: Scope) -> str:
    return lower(expr, scope).logical()


def _call(call: Call, scope: Scope) -> Value:
    check_cancelled()
    if call.function in _COMPARISONS and (value := _decimal_comparison(call, scope)) is not None:
        return value
    args = [lower(arg, scope) for arg in call.args]
    if (value := integer_call(call.function, args, call.dtype)) is not None:
        return value
    if call.function in ("case_when", "if") and (value := integer_choice(args, call.dtype)) is not None:
        return value
    # An index into values is never NULL, though its value may be.
    codes = [None if arg.values else arg.code for arg in args]
    code = _TRUTHS[call.function](codes) if call.function in _TRUTHS else None
    row = registry.scalar(call.function)
    if row is None:
        raise UnsupportedError(f"function {call.function} cannot be computed")
    made = lower_checked(row, [arg.sized() for arg in args], call.dtype)
    if "TRY(" in made.sql and (plain := _without_queries(call)) is not call:
        return lower(plain, scope)
    return Value(made.sql, call.dtype, extent=made.extent, unchecked=made.unchecked, code=code)


def _literal_code(value: object, number: int | None) -> Code | None:
    if value is None:
        return NULL_CODE
    if isinstance(value, bool):
        return constant_code(int(value))
    return constant_code(number) if number is not None and abs(number) < -LOWEST else None


def _all(op: str, args: Sequence[Code | None]) -> Code | None:
    return functools.reduce(functools.partial(code_of, op), args)


_TRUTHS: dict[str, Callable[[list[Code | None]], Code | None]] = {
    "and": functools.partial(_all, "and"),
    "or": functools.partial(_all, "or"),
    "not": lambda args: code_of("not", *args),
    "is_null": lambda args: code_of("is_null", *args),
    "is_not_null": lambda args: code_of("not", code_of("is_null", *args)),
}
"""Codes of truth values by function. Arguments that are not integers or truth values have no codes."""


def _cast(value: Value, dtype: DataType) -> Value:
    sql = lower_cast(value.logical(), value.dtype, dtype)
    code = NULL_CODE if value.code is NULL_CODE else None
    return Value(sql, dtype, extent=cast_extent(value.sized().extent, value.dtype, dtype), code=code)


def _without_queries(expr: Expr) -> Expr:
    """Return `expr` without subqueries, which DuckDB accepts neither in a lambda nor in TRY."""

    def in_call(node: Expr) -> Expr:
        return replace(node, is_in_call=True) if isinstance(node, InSet) and not node.is_in_call else node

    return expr.transform_up(in_call)


def _in_set(value: str, constants: ConstantSet, is_in_call: bool) -> str:
    """Return membership in a list that is one constant in the query's text."""
    items = lower_constants(constants)
    if is_in_call:
        is_found = f"(CASE WHEN {value} IS NOT NULL THEN list_contains({items}, {value}) END)"
    else:
        is_found = f"({value} IN (SELECT unnest({items})))"
    return f"({is_found} OR CAST(NULL AS BOOLEAN))" if constants.has_null else is_found


def lower_constants(constants: ConstantSet) -> str:
    """Return a list of the constants. DuckDB splits a text much faster than it plans as many literals."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts: Any = pc.cast(constants.values, pa.string())
    for separator in _SEPARATORS:
        if not pa.types.is_string(constants.values.type) or not pc.any(pc.match_substring(texts, separator)).as_py():
            lists: Any = pa.ListArray.from_arrays([0, len(texts)], texts)
            joined = cast(Any, pc.binary_join(lists, separator))[0].as_py()
            text = f"string_split({quote_string(joined)}, {quote_string(separator)})"
            return f"CAST({text} AS {duckdb_type(constants.dtype)}[])"
    items = ", ".join(lower_literal(value, constants.dtype) for value in constants.values.to_pylist())
    return f"CAST([{items}] AS {duckdb_type(constants.dtype)}[])"


def _long_conjunction(terms: Sequence[str]) -> Value:
    """Return the AND of many terms inside a call.

    Otherwise DuckDB compares all pairs of terms when it moves filters.
    """
    return Value(f"coalesce({balanced('AND', terms)}, CAST(NULL AS BOOLEAN))", BOOLEAN)


def order_by(keys: tuple[SortKey, ...], scope: Scope, *, is_added_to: bool = False) -> str:
    """Return the list after ORDER BY, with explicit places of NULLs.

    Integer forms and indexes are used, as they have the values' order, unless something `is_added_to` the values.
    """
    terms = []
    for key in keys:
        value = lower(key.expr, scope)
        sql = value.logical() if is_added_to else value.ordered()
        sql = f"({sql} + 0)" if value.constant is not None and value.dtype in INTEGER_TYPES else sql
        terms.append(order_term(sql, key.dtype, ascending=key.ascending, nulls_first=key.nulls_first))
    return ", ".join(terms)


# Calls on integer forms


_COMPARISONS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_COMPARED = {
    "eq": ("equal", False),
    "ne": ("not_equal", False),
    "lt": ("less", False),
    "le": ("less_equal", False),
    "gt": ("less", True),
    "ge": ("less_equal", True),
}
"""Operation of a code, and whether it takes the arguments in the other order."""
_MOST_ITEMS = 8
"""Items of IN that a kernel compares one by one."""
_ORDER = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
_MAX_SCALE = 18


def integer_call(function: str, args: list[Value], dtype: DataType) -> Value | None:
    """Return the call on integers, or None if it has no such form or its result might not fit."""
    if function not in _CALLS:
        return None
    forms = [arg.integer() for arg in args]
    numbers = [form for form in forms if form is not None]
    if len(numbers) != len(args) or all(number.constant is not None for number in numbers):
        return None
    return _CALLS[function](function, numbers, dtype)


def integer_choice(args: list[Value], dtype: DataType) -> Value | None:
    """Return CASE on integers: conditions, each with its value, and the value otherwise (NULL without it)."""
    otherwise = args[-1] if len(args) % 2 else Value("NULL", dtype, code=NULL_CODE)
    branches = [*zip(args[:-1:2], args[1::2], strict=True), (None, otherwise)]
    forms = [value.integer() for _, value in branches if value.code is not NULL_CODE]
    numbers = [form for form in forms if form is not None and form.range is not None]
    if (
        not numbers
        or len(numbers) < len(forms)
        or not _is_exact(dtype)
        or not all(_is_exact(one.dtype) for one in numbers)
    ):
        return None
    moved = _same_scale(numbers)
    if moved is None or _scale(dtype) != max(number.scale for number in numbers):
        return None
    known = functools.reduce(ColumnRange.joined, (one.range for one in moved if one.range is not None))
    if known.sql_type is None or not _fits(known, dtype):
        return None
    wide = _wider("INTEGER", known.sql_type, *(one.integer_type for one in moved))
    left, sql = list(moved), f"CAST(NULL AS {wide})"
    code: Code | None = NULL_CODE
    for condition, value in reversed(branches):
        one = Value(f"CAST(NULL AS {wide})", dtype, code=NULL_CODE) if value.code is NULL_CODE else left.pop()
        text = f"CAST({one.sql} AS {wide})" if one.constant is not None else _as(one, wide)
        if condition is None:
            sql, code = text, one.code
        else:
            sql = f"CASE WHEN {condition.logical()} THEN {text} ELSE {sql} END"
            code = code_of("choose", condition.code, one.code, code)
    return Value(f"({sql})", dtype, known, wide, code=code)


def integer_cast(value: Value, dtype: DataType) -> Value | None:
    """Return a lossless CAST between integers and decimals: the same digits in other units; None if there is none."""
    form = value.integer()
    if form is None or form.range is None or not _is_exact(form.dtype) or not _is_exact(dtype):
        return None
    scale = dtype.scale if isinstance(dtype, DecimalType) else 0
    if scale < form.scale or scale > _MAX_SCALE:
        return None
    moved = _rescaled(form, scale - form.scale)
    if moved is None or moved.range is None or not _fits(moved.range, dtype):
        return None
    return Value(moved.sql, dtype, moved.range, moved.integer_type, moved.constant, code=moved.code)


def _is_exact(dtype: DataType) -> bool:
    return dtype in INTEGER_TYPES or isinstance(dtype, DecimalType)


def _fits(known: ColumnRange, dtype: DataType) -> bool:
    if isinstance(dtype, DecimalType):
        return bool(known.magnitude < 10**dtype.precision)
    narrowest = known.sql_type
    return narrowest is not None and _ORDER.index(narrowest) <= _ORDER.index(duckdb_type(dtype))


def _rescaled(value: Value, digits: int) -> Value | None:
    """Return the value in units smaller by 10 ** digits, or None if it does not fit."""
    if digits == 0 or value.range is None:
        return value
    known = value.range.scaled(digits)
    if known.sql_type is None:
        return None
    if value.constant is not None:
        number = value.constant * 10**digits
        return Value(str(number), value.dtype, known, known.sql_type, number, code=_literal_code(number, number))
    wide = _wider("INTEGER", known.sql_type, value.integer_type)
    code = _in_range(known, code_of("multiply", value.code, constant_code(10**digits)))
    return Value(f"({_as(value, wide)} * {10**digits})", value.dtype, known, wide, code=code)


def _wider(*types: str | None) -> str:
    return max((name for name in types if name is not None), key=_ORDER.index)


def _as(value: Value, integer_type: str) -> str:
    if value.constant is not None or value.integer_type == integer_type:
        return value.sql
    return f"CAST({value.sql} AS {integer_type})"


def _same_scale(args: list[Value]) -> list[Value] | None:
    scale = max(arg.scale for arg in args)
    moved = [_rescaled(arg, scale - arg.scale) for arg in args]
    return None if any(arg is None for arg in moved) else [arg for arg in moved if arg is not None]


def _sum(function: str, args: list[Value], dtype: DataType) -> Value | None:
    moved = _same_scale(args)
    if moved is None or len(moved) != 2 or not all(_is_exact(arg.dtype) for arg in args):
        return None
    left, right = moved[0].range, moved[1].range
    if left is None or right is None or _scale(dtype) != max(arg.scale for arg in args):
        return None
    known = left + right if function == "add" else left - right
    return _binary("+" if function == "add" else "-", moved, known, dtype)


def _product(_: str, args: list[Value], dtype: DataType) -> Value | None:
    left, right = args[0].range, args[1].range
    if left is None or right is None or not all(_is_exact(arg.dtype) for arg in args):
        return None
    if _scale(dtype) != args[0].scale + args[1].scale or _scale(dtype) > _MAX_SCALE:
        return None
    return _binary("*", args, left * right, dtype)


def _quotient(_: str, args: list[Value], dtype: DataType) -> Value | None:
    """Return a decimal divided by a constant, rounded half away from zero."""
    divided, divisor = args[0].range, args[1].constant
    shift = _scale(dtype) - args[0].scale + args[1].scale
    if divided is None or not divisor or not isinstance(dtype, DecimalType) or not 0 <= shift <= _MAX_SCALE:
        return None
    ratio = Fraction(10**shift, divisor)
    factor, denominator = ratio.numerator, ratio.denominator
    known = divided * ColumnRange(factor, factor)
    factor_value = Value(str(factor), dtype, ColumnRange(factor, factor), None, factor, code=constant_code(factor))
    if denominator == 1:
        return _binary("*", [args[0], factor_value], known, dtype)
    doubled = ColumnRange(2 * known.low - denominator, 2 * known.high + denominator)
    rounded = ColumnRange(known.low // denominator, -(-known.high // denominator))
    if doubled.sql_type is None or not _fits(rounded, dtype):
        return None
    wide = _wider("INTEGER", doubled.sql_type, divided.sql_type)
    number = f"{_as(args[0], wide)} * {factor}"
    sign = "<" if factor > 0 else ">"
    half = f"CASE WHEN {args[0].sql} {sign} 0 THEN -{denominator} ELSE {denominator} END"
    return Value(f"(({number} * 2 + {half}) // {2 * denominator})", dtype, rounded, wide)


def _scale(dtype: DataType) -> int:
    return dtype.scale if isinstance(dtype, DecimalType) else 0


def _in_range(known: ColumnRange, code: Code | None) -> Code | None:
    """Return the code of a value within `known`, or None if the value may be equal to the number for NULL."""
    return code if known.low > LOWEST else None


_ARITHMETIC = {"+": "add", "-": "subtract", "*": "multiply"}


def _binary(sign: str, args: list[Value], known: ColumnRange, dtype: DataType) -> Value | None:
    if known.sql_type is None or not _is_exact(dtype) or not _fits(known, dtype):
        return None
    wide = _wider("INTEGER", known.sql_type, *(arg.range.sql_type for arg in args if arg.range))
    left, right = (_as(arg, wide) for arg in args)
    code = _in_range(known, code_of(_ARITHMETIC[sign], args[0].code, args[1].code))
    return Value(f"({left} {sign} {right})", dtype, known, wide, code=code)


def _negated(_: str, args: list[Value], dtype: DataType) -> Value | None:
    known = args[0].range
    if known is None or (-known).sql_type is None or not _is_exact(dtype) or not _fits(-known, dtype):
        return None
    wide = _wider("INTEGER", (-known).sql_type, known.sql_type)
    code = _in_range(-known, code_of("subtract", constant_code(0), args[0].code))
    return Value(f"(-{_as(args[0], wide)})", dtype, -known, wide, code=code)


def _comparison(function: str, args: list[Value], _: DataType) -> Value | None:
    moved = _comparable(args)
    if moved is None:
        return None
    (left, one), (right, other) = moved
    op, is_turned = _COMPARED[function]
    code = code_of(op, other, one) if is_turned else code_of(op, one, other)
    return Value(f"({left} {_COMPARISONS[function]} {right})", BOOLEAN, code=code)


def _decimal_comparison(call: Call, scope: Scope) -> Value | None:
    """Compare parts of decimals as decimals if the values fit, by their types or by statistics."""
    parts = [arg for arg in call.args if isinstance(arg, Call) and arg.function == "decimal_parts"]
    if len(parts) < len(call.args):
        return None
    args, scale = [lower(part.args[0], scope) for part in parts], max(_scale(part.args[0].dtype) for part in parts)
    if any(_whole_digits(arg) + scale > _MOST_DIGITS for arg in args):
        return None
    left, right = (f"CAST({arg.logical()} AS DECIMAL({_MOST_DIGITS},{scale}))" for arg in args)
    return Value(f"({left} {_COMPARISONS[call.function]} {right})", BOOLEAN)


_MOST_DIGITS = 38


def _whole_digits(value: Value) -> int:
    """Return the largest possible number of digits before the point."""
    if value.range is not None:
        return max(len(str(value.range.magnitude)) - value.scale, 0)
    return value.dtype.precision - value.scale if isinstance(value.dtype, DecimalType) else _MOST_DIGITS


def _between(_: str, args: list[Value], __: DataType) -> Value | None:
    moved = _comparable(args)
    if moved is None:
        return None
    (sql, value), (low, least), (high, most) = moved
    code = code_of("and", code_of("less_equal", least, value), code_of("less_equal", value, most))
    return Value(f"({sql} BETWEEN {low} AND {high})", BOOLEAN, code=code)


def _in(_: str, args: list[Value], __: DataType) -> Value | None:
    moved = _comparable(args)
    if moved is None:
        return None
    (sql, value), *items = moved
    code = _all("or", [code_of("equal", value, item) for _, item in items]) if len(items) <= _MOST_ITEMS else None
    return Value(f"({sql} IN ({', '.join(item for item, _ in items)}))", BOOLEAN, code=code)


def _comparable(args: list[Value]) -> list[tuple[str, Code | None]] | None:
    """Return the arguments' SQL and code in one unit and integer type, so that no column is cast for a constant."""
    kinds = {None if _is_exact(arg.dtype) else arg.dtype for arg in args}
    moved = _same_scale(args)
    if moved is None or len(kinds) != 1:
        return None
    wide = _wider(*(arg.integer_type for arg in moved))
    return [(f"CAST({arg.sql} AS {wide})" if arg.constant is not None else _as(arg, wide), arg.code) for arg in moved]


_CALLS: dict[str, Callable[[str, list[Value], DataType], Value | None]] = {
    "add": _sum,
    "subtract": _sum,
    "multiply": _product,
    "divide": _quotient,
    "negate": _negated,
    **dict.fromkeys(_COMPARISONS, _comparison),
    "between": _between,
    "in": _in,
}
