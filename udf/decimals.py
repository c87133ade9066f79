"""DECIMAL arithmetic and sums with Hive's result types: exact, HALF_UP, NULL on overflow.

DuckDB's own DECIMAL operators are used if the result type has room. Values that may exceed 38 digits are computed as
text by Python's decimal module (kernel shark_decimal_arithmetic), but only if DuckDB's attempt failed. A sum that may
exceed 38 digits is added up in parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from sharkpy.udf.duckdb_sql import duckdb_type
from sharkpy.udf.function import AggregateFunction, Lowering
from sharkpy.udf.lower import DISTINCT, OVER
from sharkpy.udf.signatures import Types
from sharkpy.values.common_types import bounded_decimal
from sharkpy.values.types import BIGINT, DOUBLE, FLOAT, INT, MAX_PRECISION, SMALLINT, TINYINT, DataType, DecimalType

_DECIMALS = {
    TINYINT: DecimalType(3, 0),
    SMALLINT: DecimalType(5, 0),
    INT: DecimalType(10, 0),
    BIGINT: DecimalType(19, 0),
    FLOAT: DecimalType(14, 7),
    DOUBLE: DecimalType(30, 15),
}


def decimal_of(dtype: DataType) -> DecimalType:
    """Return the DECIMAL type of a number in an exact function. Strings are treated as DOUBLE."""
    return dtype if isinstance(dtype, DecimalType) else _DECIMALS.get(dtype, _DECIMALS[DOUBLE])


def add_type(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    return bounded_decimal(max(left.precision - left.scale, right.precision - right.scale) + scale + 1, scale)


def multiply_type(left: DecimalType, right: DecimalType) -> DecimalType:
    return bounded_decimal(left.precision + right.precision + 1, left.scale + right.scale)


def divide_type(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(6, left.scale + right.precision + 1)
    return bounded_decimal(left.precision - left.scale + right.scale + scale, scale)


def remainder_type(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    return bounded_decimal(min(left.precision - left.scale, right.precision - right.scale) + scale, scale)


def wide(sql: str, dtype: DecimalType) -> str:
    """Return `sql` in 128 bits, so that DuckDB's next operator also uses 128 bits."""
    return sql if dtype.precision > 18 else f"CAST({sql} AS DECIMAL(19,{dtype.scale}))"


def unscaled(sql: str, dtype: DecimalType) -> str:
    """Return the digits of a DECIMAL as HUGEINT. This needs precision + scale <= 38."""
    if dtype.scale == 0:
        return f"CAST({sql} AS HUGEINT)"
    power = f"CAST('1{'0' * dtype.scale}' AS DECIMAL({dtype.scale + 1},0))"
    if dtype.precision + dtype.scale < 18:
        return f"CAST(CAST({sql} * {power} AS BIGINT) AS HUGEINT)"
    return f"CAST({wide(sql, dtype)} * {power} AS HUGEINT)"


def scaled(sql: str, result: DecimalType) -> str:
    """Return the DECIMAL with the digits in a HUGEINT, or NULL if there are too many."""
    if result.scale == 0:
        return f"TRY_CAST({sql} AS {duckdb_type(result)})"
    unit = f"CAST('0.{'0' * (result.scale - 1)}1' AS DECIMAL({result.scale},{result.scale}))"
    return f"TRY_CAST(TRY_CAST({sql} AS DECIMAL(38,0)) * {unit} AS {duckdb_type(result)})"


def kernel(operator: str, left: str, right: str, result: DecimalType) -> str:
    """Return the operation by the kernel, for operands of any precision."""
    text = (
        f"shark_decimal_arithmetic(CAST({left} AS VARCHAR), '{operator}', CAST({right} AS VARCHAR), "
        f"{result.precision}, {result.scale})"
    )
    return f"CAST({text} AS {duckdb_type(result)})"


def add(operator: str, left: str, right: str, one: DecimalType, other: DecimalType, result: DecimalType) -> str:
    """Return `left + right` or `left - right`."""
    scale = max(one.scale, other.scale)
    digits = max(one.precision - one.scale, other.precision - other.scale) + scale + 1
    if digits <= MAX_PRECISION:
        first = wide(left, one) if digits > 18 and max(one.precision, other.precision) <= 18 else left
        return f"CAST({first} {operator} {right} AS {duckdb_type(result)})"
    fast = f"TRY_CAST(TRY({wide(left, one)} {operator} {wide(right, other)}) AS {duckdb_type(result)})"
    return f"coalesce({fast}, {kernel(operator, left, right, result)})"


def multiply(left: str, right: str, one: DecimalType, other: DecimalType, result: DecimalType) -> str:
    digits = one.precision + other.precision
    if digits <= 18:
        return f"CAST({left} * {right} AS {duckdb_type(result)})"
    first = wide(left, one) if max(one.precision, other.precision) <= 18 else left
    if digits < MAX_PRECISION and one.scale + other.scale == result.scale:
        return f"CAST({first} * {right} AS {duckdb_type(result)})"
    if one.scale + other.scale > MAX_PRECISION:
        return kernel("*", left, right, result)
    fast = f"TRY_CAST(TRY({first} * {right}) AS {duckdb_type(result)})"
    return f"coalesce({fast}, {kernel('*', left, right, result)})"


def divide(left: str, right: str, one: DecimalType, other: DecimalType, result: DecimalType) -> str:
    """Exact integer division of the digits if they fit into 128 bits, rounded half away from zero."""
    shift = result.scale - one.scale + other.scale
    first = DecimalType(min(one.precision, MAX_PRECISION - 1 - max(shift, one.scale)), one.scale)
    second = DecimalType(min(other.precision, MAX_PRECISION - 1 - other.scale), other.scale)
    if shift < 0 or any(small.precision < max(small.scale, 1) for small in (first, second)):
        return kernel("/", left, right, result)
    numerator = f"{unscaled(_narrowed(left, one, first), first)} * CAST('1{'0' * shift}' AS HUGEINT)"
    divisor = unscaled(_narrowed(right, other, second), second)
    fast = scaled(f"shark_divide_half_up({numerator}, {divisor})", result)
    return fast if (first, second) == (one, other) else f"coalesce({fast}, {kernel('/', left, right, result)})"


def _narrowed(sql: str, dtype: DecimalType, result: DecimalType) -> str:
    """Return a value with fewer digits, or NULL if it has more."""
    return sql if result == dtype else f"TRY_CAST({sql} AS {duckdb_type(result)})"


def remainder(left: str, right: str, one: DecimalType, other: DecimalType, result: DecimalType) -> str:
    scale = max(one.scale, other.scale)
    if max(one.precision - one.scale, other.precision - other.scale) + scale > MAX_PRECISION:
        return kernel("%", left, right, result)
    return f"CAST({left} % {right} AS {duckdb_type(result)})"


SAFE_PRECISION = 28
"""DECIMALs of this precision leave ten digits for the number of rows: their sums fit."""
_SMALL_DIGITS = 26
"""Values with up to this number of digits are summed directly, larger ones in parts."""
_LOW_DIGITS = 14
_WHOLE = DecimalType(38, 0)


def is_wide(types: Types) -> bool:
    return isinstance(types[0], DecimalType) and types[0].precision > SAFE_PRECISION


def fits_small_sum(magnitude: int) -> bool:
    """Return whether a sum of `magnitude` units of the last digit fits the first state, which many tasks add up."""
    return len(str(magnitude)) <= _SMALL_DIGITS + 9


def _scale(types: Types) -> int:
    return types[0].scale if isinstance(types[0], DecimalType) else 0


def _is_small(value: str, scale: int) -> str:
    limit = f"CAST('{Decimal(10**_SMALL_DIGITS).scaleb(-scale):f}' AS DECIMAL(38,{scale}))"
    return f"{value} BETWEEN -{limit} AND {limit}"


def _small(args: Sequence[str], types: Types, _result: DataType) -> str:
    small = f"CASE WHEN {_is_small(args[0], _scale(types))} THEN {args[0]} END"
    return f"CAST(sum({DISTINCT}{small}){OVER} AS DECIMAL(38,{_scale(types)}))"


def _part(digits: str) -> Lowering:
    """Return the sum of a part of each large value. `digits` is SQL over its integer part, in {0}."""

    def partial(args: Sequence[str], types: Types, _result: DataType) -> str:
        whole = digits.format(f"CAST({f'trunc({args[0]})' if _scale(types) else args[0]} AS HUGEINT)")
        return f"CAST(sum({DISTINCT}{_if_large(args[0], types, whole)}){OVER} AS DECIMAL(38,0))"

    return partial


def _fraction(args: Sequence[str], types: Types, _result: DataType) -> str:
    scale = _scale(types)
    value = f"CAST({args[0]} - trunc({args[0]}) AS DECIMAL({scale + 1},{scale}))" if scale else "0"
    return f"CAST(sum({DISTINCT}{_if_large(args[0], types, value)}){OVER} AS DECIMAL(38,{scale}))"


def _if_large(value: str, types: Types, part: str) -> str:
    return f"CASE WHEN NOT ({_is_small(value, _scale(types))}) THEN {part} END"


def _total(states: Sequence[str]) -> str:
    """Return text of the sum of all parts, with any number of digits."""
    high = _arithmetic(f"CAST({states[1]} AS VARCHAR)", "*", f"'1{'0' * _LOW_DIGITS}'", 0)
    whole = _arithmetic(high, "+", f"CAST({states[2]} AS VARCHAR)", 0)
    large = _arithmetic(whole, "+", f"CAST({states[3]} AS VARCHAR)", 38)
    return _arithmetic(large, "+", f"CAST(coalesce({states[0]}, 0) AS VARCHAR)", 38)


def _arithmetic(left: str, operator: str, right: str, scale: int) -> str:
    return f"shark_decimal_arithmetic({left}, '{operator}', {right}, 90, {scale})"


def _sum_finish(states: Sequence[str], _types: Types, result: DataType) -> str:
    scale = result.scale if isinstance(result, DecimalType) else 0
    text = f"shark_decimal_arithmetic({_total(states)}, '+', '0', 38, {scale})"
    return f"CASE WHEN {states[1]} IS NULL THEN {states[0]} ELSE CAST({text} AS {duckdb_type(result)}) END"


def _average_finish(states: Sequence[str], _types: Types, result: DataType) -> str:
    if not isinstance(result, DecimalType):
        return "NULL"
    total = f"CASE WHEN {states[1]} IS NULL THEN CAST({states[0]} AS VARCHAR) ELSE {_total(states)} END"
    return kernel("/", total, states[4], result)


_PARTS: tuple[Lowering, ...] = (
    _small,
    _part(f"{{0}} // CAST(1{'0' * _LOW_DIGITS} AS HUGEINT)"),
    _part(f"{{0}} % CAST(1{'0' * _LOW_DIGITS} AS HUGEINT)"),
    _fraction,
)
_MERGES = ("sum({0})", "sum({1})", "sum({2})", "sum({3})")


def _states(types: Types) -> tuple[DataType, ...]:
    same = DecimalType(38, _scale(types))
    return (same, _WHOLE, _WHOLE, same)


def _complete(finish: Lowering, partials: tuple[Lowering, ...]) -> Lowering:
    def lower(args: Sequence[str], types: Types, result: DataType) -> str:
        states = [
            partial.format(*args, distinct=DISTINCT, over=OVER)
            if isinstance(partial, str)
            else partial(args, types, result)
            for partial in partials
        ]
        return finish.format(*states) if isinstance(finish, str) else finish(states, types, result)

    return lower


def wide_sum(row: AggregateFunction) -> AggregateFunction:
    """Return the variant of the row of sum."""
    return AggregateFunction(
        row.name,
        row.arguments,
        row.result,
        _complete(_sum_finish, _PARTS),
        _PARTS,
        _states,
        _MERGES,
        _sum_finish,
    )


def wide_average(row: AggregateFunction) -> AggregateFunction:
    """Return the variant of the row of avg."""
    partials = (*_PARTS, "count({distinct}{0}){over}")
    return AggregateFunction(
        row.name,
        row.arguments,
        row.result,
        _complete(_average_finish, partials),
        partials,
        lambda types: (*_states(types), BIGINT),
        (*_MERGES, "CAST(sum({4}) AS BIGINT)"),
        _average_finish,
    )
