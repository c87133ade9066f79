"""DECIMAL arithmetic with Hive's result types: exact, HALF_UP, NULL on overflow.

DuckDB's own DECIMAL operators are used if the result type has room. Values that may exceed 38 digits are computed as
text by Python's decimal module (kernel shark_decimal_arithmetic), but only if DuckDB's attempt failed.
"""

from __future__ import annotations

from sharkpy.udf.types_duckdb import duckdb_type
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
    fits = (
        shift >= 0
        and one.precision + shift < MAX_PRECISION
        and one.precision + one.scale <= MAX_PRECISION
        and other.precision + other.scale <= MAX_PRECISION - 1
    )
    if not fits:
        return kernel("/", left, right, result)
    numerator = f"{unscaled(left, one)} * CAST('1{'0' * shift}' AS HUGEINT)"
    return scaled(f"shark_divide_half_up({numerator}, {unscaled(right, other)})", result)


def remainder(left: str, right: str, one: DecimalType, other: DecimalType, result: DecimalType) -> str:
    scale = max(one.scale, other.scale)
    if max(one.precision - one.scale, other.precision - other.scale) + scale > MAX_PRECISION:
        return kernel("%", left, right, result)
    return f"CAST({left} % {right} AS {duckdb_type(result)})"
