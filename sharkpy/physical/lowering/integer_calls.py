"""Arithmetic and comparisons on integer forms: exact, and without checks, as ranges rule out overflow."""

from __future__ import annotations

from collections.abc import Callable

from sharkpy.physical.lowering.value import Value
from sharkpy.physical.ranges import ColumnRange
from sharkpy.udf.types_duckdb import duckdb_type
from sharkpy.values.types import BOOLEAN, INTEGER_TYPES, DataType, DecimalType

_COMPARISONS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
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
    if moved.constant is not None:
        return Value(moved.sql, dtype, moved.range, moved.integer_type, moved.constant)
    return Value(moved.sql, dtype, moved.range, moved.integer_type)


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
        return Value(str(number), value.dtype, known, known.sql_type, number)
    wide = _wider("INTEGER", known.sql_type, value.integer_type)
    return Value(f"({_as(value, wide)} * {10**digits})", value.dtype, known, wide)


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


def _scale(dtype: DataType) -> int:
    return dtype.scale if isinstance(dtype, DecimalType) else 0


def _binary(sign: str, args: list[Value], known: ColumnRange, dtype: DataType) -> Value | None:
    if known.sql_type is None or not _is_exact(dtype) or not _fits(known, dtype):
        return None
    wide = _wider("INTEGER", known.sql_type, *(arg.range.sql_type for arg in args if arg.range))
    left, right = (_as(arg, wide) for arg in args)
    return Value(f"({left} {sign} {right})", dtype, known, wide)


def _negated(_: str, args: list[Value], dtype: DataType) -> Value | None:
    known = args[0].range
    if known is None or (-known).sql_type is None or not _is_exact(dtype) or not _fits(-known, dtype):
        return None
    wide = _wider("INTEGER", (-known).sql_type, known.sql_type)
    return Value(f"(-{_as(args[0], wide)})", dtype, -known, wide)


def _comparison(function: str, args: list[Value], _: DataType) -> Value | None:
    moved = _comparable(args)
    if moved is None:
        return None
    return Value(f"({moved[0]} {_COMPARISONS[function]} {moved[1]})", BOOLEAN)


def _between(_: str, args: list[Value], __: DataType) -> Value | None:
    moved = _comparable(args)
    return None if moved is None else Value(f"({moved[0]} BETWEEN {moved[1]} AND {moved[2]})", BOOLEAN)


def _in(_: str, args: list[Value], __: DataType) -> Value | None:
    moved = _comparable(args)
    return None if moved is None else Value(f"({moved[0]} IN ({', '.join(moved[1:])}))", BOOLEAN)


def _comparable(args: list[Value]) -> list[str] | None:
    """Return the arguments' SQL in one unit and integer type, so that no column is cast for a constant."""
    kinds = {None if _is_exact(arg.dtype) else arg.dtype for arg in args}
    moved = _same_scale(args)
    if moved is None or len(kinds) != 1:
        return None
    wide = _wider(*(arg.integer_type for arg in moved))
    return [f"CAST({arg.sql} AS {wide})" if arg.constant is not None else _as(arg, wide) for arg in moved]


_CALLS: dict[str, Callable[[str, list[Value], DataType], Value | None]] = {
    "add": _sum,
    "subtract": _sum,
    "multiply": _product,
    "negate": _negated,
    **dict.fromkeys(_COMPARISONS, _comparison),
    "between": _between,
    "in": _in,
}
