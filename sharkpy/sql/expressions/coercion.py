"""Implicit casts, made explicit. Literals are converted directly if that is exact. Values of key columns."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from decimal import Decimal

from sharkpy.base.errors import TypeMismatchError, UnsupportedError
from sharkpy.plan.expr import Call, Cast, Expr, Literal, PythonValue
from sharkpy.values.common_types import as_decimal, common_type, comparison_type, fits_decimal
from sharkpy.values.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    CharType,
    DataType,
    DecimalType,
    Field,
    StructType,
    VarcharType,
    from_arrow,
    is_numeric,
    is_string,
)

_INTEGER_BITS = {TINYINT: 7, SMALLINT: 15, INT: 31, BIGINT: 63}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(\.\d{1,6})?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d{1,38}(\.\d{0,38})?|\.\d{1,38})", re.ASCII)


def cast(expr: Expr, target: DataType) -> Expr:
    """Cast `expr` to `target`. Return `expr` if it has the type, a literal if its conversion is exact, else a Cast."""
    if expr.dtype == target:
        return expr
    if isinstance(expr, Literal):
        if expr.value is None:
            return Literal(None, target)
        if (value := convert_exactly(expr.value, expr.dtype, target)) is not None:
            return Literal(value, target)
    return Cast(expr, target)


def cast_all(exprs: Sequence[Expr], targets: Sequence[DataType]) -> tuple[Expr, ...]:
    return tuple(cast(expr, target) for expr, target in zip(exprs, targets, strict=True))


def convert_exactly(value: PythonValue, source: DataType, target: DataType) -> PythonValue:
    """Convert `value` to `target`. Return None if that loses information, or if CAST could give another value."""
    if is_numeric(source) and isinstance(value, (int, float, Decimal)):
        has_text = not isinstance(value, float) or not is_string(target)
        return _convert_number(Decimal(value), target) if has_text and _is_finite(value) else None
    if isinstance(value, str):
        return _convert_string(value, target)
    if target == TIMESTAMP and type(value) is datetime.date:
        return datetime.datetime(value.year, value.month, value.day)
    if target == STRING and type(value) is datetime.date:
        return value.isoformat()
    return None


def _is_finite(value: int | float | Decimal) -> bool:
    return not isinstance(value, float) or value - value == 0


def _convert_number(number: Decimal, target: DataType) -> PythonValue:
    if target in _INTEGER_BITS:
        limit = 1 << _INTEGER_BITS[target]
        return int(number) if number == number.to_integral_value() and -limit <= number < limit else None
    if target == DOUBLE:
        return float(number)
    if isinstance(target, DecimalType):
        return fit_decimal(number, target)
    if target == STRING and number == number.to_integral_value() and number.as_tuple().exponent == 0:
        return str(number)
    return None


def fit_decimal(number: Decimal, target: DecimalType) -> Decimal | None:
    """Give `number` exactly the scale of `target`; None if digits would be lost."""
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        return None
    shift = exponent + target.scale
    text = "".join(map(str, digits))
    if shift < 0:
        if text[shift:].strip("0"):
            return None
        text = text[:shift] or "0"
    else:
        text += "0" * shift
    text = text.lstrip("0") or "0"
    if len(text) > target.precision:
        return None
    return Decimal((sign, tuple(map(int, text)), -target.scale))


def _convert_string(text: str, target: DataType) -> PythonValue:
    match target:
        case VarcharType(length) if len(text) <= length:
            return text
        case CharType():
            return None
    if is_string(target) and not isinstance(target, (VarcharType, CharType)):
        return text
    try:
        if target == DATE and _DATE.fullmatch(text):
            return datetime.date.fromisoformat(text)
        if target == TIMESTAMP and (_TIMESTAMP.fullmatch(text) or _DATE.fullmatch(text)):
            return datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return _convert_number(Decimal(text), target) if is_numeric(target) and _NUMBER.fullmatch(text) else None


def minimal_decimal(value: int | Decimal) -> Literal:
    """Return an exact number as a DECIMAL literal with the fewest digits: 1 is decimal(1,0)."""
    number = Decimal(value)
    _, digits, exponent = number.as_tuple()
    scale = max(-int(exponent), 0)
    precision = max(len(digits) + max(int(exponent), 0), scale, 1)
    return Literal(number, DecimalType(precision, scale))


def with_minimal_literals(exprs: Sequence[Expr]) -> tuple[Expr, ...]:
    """Convert integer literals next to a DECIMAL to the smallest decimals, so that results keep their precision."""
    if not any(isinstance(expr.dtype, DecimalType) for expr in exprs):
        return tuple(exprs)
    return tuple(
        minimal_decimal(expr.value)
        if isinstance(expr, Literal) and type(expr.value) is int and _is_integer(expr)
        else expr
        for expr in exprs
    )


def _is_integer(expr: Expr) -> bool:
    return expr.dtype in _INTEGER_BITS


def comparable(exprs: Sequence[Expr]) -> tuple[Expr, ...] | None:
    """Cast the operands of a comparison, IN or BETWEEN to their common type; None if there is none.

    A literal takes the type of the other side if it has an exact value in it. A plain column then stays plain, and
    blocks can be pruned by it.
    """
    exprs = _without_padding(exprs)
    types = {expr.dtype for expr in exprs if not isinstance(expr, Literal)}
    if len(types) == 1 and any(isinstance(expr, Literal) for expr in exprs):
        target = types.pop()
        if (adapted := _adapt_literals(exprs, target)) is not None:
            return adapted
    exprs = with_minimal_literals(exprs)
    if (parts := _decimal_parts(exprs)) is not None:
        return parts
    return _cast_to_one(exprs, comparison_type)


def _without_padding(exprs: Sequence[Expr]) -> Sequence[Expr]:
    """Drop trailing spaces of string literals that are compared with a CHAR: they are not significant."""
    if not any(isinstance(expr.dtype, CharType) for expr in exprs):
        return exprs
    return [
        Literal(expr.value.rstrip(" "), expr.dtype)
        if isinstance(expr, Literal) and isinstance(expr.value, str)
        else expr
        for expr in exprs
    ]


def _decimal_parts(exprs: Sequence[Expr]) -> tuple[Expr, ...] | None:
    """Split exact numbers that do not fit in one DECIMAL type into digits before and after the point.

    Return None if they fit, or are not exact.
    """
    types = [as_decimal(dtype) for dtype in dict.fromkeys(expr.dtype for expr in exprs) if dtype != NULL]
    known = [dtype for dtype in types if dtype is not None]
    if len(known) < len(types) or all(fits_decimal(one, other) for one in known for other in known):
        return None
    scale = max(dtype.scale for dtype in known)
    parts = StructType(("whole", "fraction"), (DecimalType(38, 0), DecimalType(38, scale)))
    return tuple(
        Literal(None, parts)
        if expr.dtype == NULL
        else Call("decimal_parts", (cast(expr, as_decimal(expr.dtype) or expr.dtype),), parts)
        for expr in exprs
    )


def _adapt_literals(exprs: Sequence[Expr], target: DataType) -> tuple[Expr, ...] | None:
    adapted: list[Expr] = []
    for expr in exprs:
        if not isinstance(expr, Literal) or expr.dtype == target:
            adapted.append(expr)
        elif expr.value is None:
            adapted.append(Literal(None, target))
        elif _keeps_meaning(expr.dtype, target) and (
            (value := convert_exactly(expr.value, expr.dtype, target)) is not None
        ):
            adapted.append(Literal(value, target))
        else:
            return None
    return tuple(adapted)


def _keeps_meaning(literal: DataType, target: DataType) -> bool:
    """Return whether a comparison as `target` is equivalent to Hive's comparison of the two types."""
    if is_numeric(literal):
        return is_numeric(target)
    if is_string(literal):
        return is_numeric(target) or target in (DATE, TIMESTAMP)
    return (literal, target) == (DATE, TIMESTAMP)


def unify(exprs: Sequence[Expr]) -> tuple[Expr, ...] | None:
    """Cast `exprs` to their common type (CASE, COALESCE, VALUES, array items); None if there is none."""
    return _cast_to_one(exprs, common_type)


def _cast_to_one(
    exprs: Sequence[Expr], common: Callable[[DataType, DataType], DataType | None]
) -> tuple[Expr, ...] | None:
    """Cast `exprs` to the type that `common` finds pair by pair; None if there is none."""
    target = exprs[0].dtype
    for expr in exprs[1:]:
        wider = common(target, expr.dtype)
        if wider is None:
            return None
        target = wider
    return tuple(cast(expr, target) for expr in exprs)


def as_boolean(expr: Expr) -> Expr | None:
    """Cast a predicate's operand to BOOLEAN; None if its type cannot become one."""
    if expr.dtype in (BOOLEAN, NULL):
        return cast(expr, BOOLEAN)
    return Cast(expr, BOOLEAN) if is_string(expr.dtype) or is_numeric(expr.dtype) else None


def key_value(field: Field, value: PythonValue) -> PythonValue:
    """Convert a value to the type of a column. Raise TypeMismatchError if that is not exact."""
    import pyarrow as pa

    if value is None:
        return None
    try:
        dtype = from_arrow(pa.scalar(value).type)
    except (pa.ArrowException, UnsupportedError):
        dtype = None
    found = None if dtype is None else value if dtype == field.dtype else convert_exactly(value, dtype, field.dtype)
    if found is None:
        raise TypeMismatchError(f"the key {value!r} does not fit column {field.name} of type {field.dtype}")
    return found
