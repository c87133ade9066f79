"""Implicit conversions of Hive's types: the common type of two sides, and the arithmetic of DECIMAL's digits."""

from __future__ import annotations

from collections.abc import Callable

from sharkpy.values.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    MAX_PRECISION,
    NULL,
    NUMERIC_TYPES,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    ArrayType,
    CharType,
    DataType,
    DecimalType,
    MapType,
    StructType,
    VarcharType,
    is_nested,
    is_numeric,
    is_string,
)

_INTEGER_PRECISION = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 19}


def fits_decimal(left: DecimalType, right: DecimalType) -> bool:
    """Return whether one DECIMAL type can hold every value of both types."""
    digits = max(left.precision - left.scale, right.precision - right.scale)
    return digits + max(left.scale, right.scale) <= MAX_PRECISION


def bounded_decimal(precision: int, scale: int) -> DecimalType:
    """Fit DECIMAL(precision, scale) into 38 digits as Hive does: up to 6 digits of scale are preserved."""
    if precision <= MAX_PRECISION:
        return DecimalType(precision, scale)
    integer_digits = precision - scale
    kept_scale = max(MAX_PRECISION - integer_digits, min(scale, 6))
    return DecimalType(MAX_PRECISION, kept_scale)


def as_decimal(dtype: DataType) -> DecimalType | None:
    """Return the decimal type that holds every value of a DECIMAL or integer type exactly, else None."""
    if isinstance(dtype, DecimalType):
        return dtype
    precision = _INTEGER_PRECISION.get(dtype)
    return DecimalType(precision, 0) if precision else None


def wider_decimal(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    integer_digits = max(left.precision - left.scale, right.precision - right.scale)
    return bounded_decimal(integer_digits + scale, scale)


def common_type(left: DataType, right: DataType) -> DataType | None:
    """Return the common type of two sides in UNION, CASE, COALESCE, IN and function arguments, or None if there is
    none.
    """
    if right in (left, NULL):
        return left
    if left == NULL:
        return right
    return _by_families(_COMMON, left, right)


def comparison_type(left: DataType, right: DataType) -> DataType | None:
    """Return the type in which two sides are compared, or None if they cannot be compared."""
    if NULL not in (left, right) and frozenset((_family(left), _family(right))) in _COMPARED:
        return _by_families(_COMPARED, left, right)
    return common_type(left, right)


_Common = Callable[[DataType, DataType], DataType | None]
_CommonTable = dict[frozenset[str], "DataType | _Common"]


def _by_families(table: _CommonTable, left: DataType, right: DataType) -> DataType | None:
    found = table.get(frozenset((_family(left), _family(right))))
    return found if found is None or isinstance(found, DataType) else found(left, right)


def _family(dtype: DataType) -> str:
    if is_numeric(dtype):
        return "number"
    if is_string(dtype):
        return "string"
    return "nested" if is_nested(dtype) else str(dtype)


def _common_string(left: DataType, right: DataType) -> DataType:
    """STRING absorbs all, VARCHAR absorbs CHAR; the longer length is taken."""
    if not isinstance(left, (VarcharType, CharType)) or not isinstance(right, (VarcharType, CharType)):
        return STRING
    length = max(left.length, right.length)
    return CharType(length) if isinstance(left, CharType) and isinstance(right, CharType) else VarcharType(length)


def _common_numeric(left: DataType, right: DataType) -> DataType:
    left_decimal, right_decimal = as_decimal(left), as_decimal(right)
    if isinstance(left, DecimalType) or isinstance(right, DecimalType):
        if left_decimal is None or right_decimal is None:
            return DOUBLE
        return wider_decimal(left_decimal, right_decimal)
    return max(left, right, key=NUMERIC_TYPES.index)


def _number_of(left: DataType, right: DataType) -> DataType:
    return left if is_numeric(left) else right


def _common_nested(left: DataType, right: DataType) -> DataType | None:
    match left, right:
        case ArrayType(left_element), ArrayType(right_element):
            element = common_type(left_element, right_element)
            return ArrayType(element) if element else None
        case MapType(left_key, left_value), MapType(right_key, right_value):
            key, value = common_type(left_key, right_key), common_type(left_value, right_value)
            return MapType(key, value) if key and value else None
        case StructType(names, left_types), StructType(_, right_types) if len(left_types) == len(right_types):
            types = [common_type(one, other) for one, other in zip(left_types, right_types, strict=True)]
            return StructType(names, tuple(t for t in types if t)) if all(types) else None
    return None


_COMMON: _CommonTable = {
    frozenset(("number",)): _common_numeric,
    frozenset(("string",)): _common_string,
    frozenset(("nested",)): _common_nested,
    frozenset(("date", "timestamp")): TIMESTAMP,
    frozenset(("string", "number")): STRING,
    frozenset(("string", "date")): STRING,
    frozenset(("string", "timestamp")): STRING,
}
"""Hive's implicit conversions in UNION and CASE, by families of types: strings absorb types that print like them."""

_COMPARED: _CommonTable = {
    frozenset(("string",)): STRING,
    frozenset(("string", "number")): DOUBLE,
    frozenset(("string", "date")): DATE,
    frozenset(("string", "timestamp")): TIMESTAMP,
    frozenset(("string", "boolean")): BOOLEAN,
    frozenset(("timestamp", "number")): DOUBLE,
    frozenset(("boolean", "number")): _number_of,
}
"""Conversions only for comparisons: a string is read as the type of the other side, a time is its seconds since 1970.
"""
