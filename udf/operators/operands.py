"""Operand types of numeric operators."""

from __future__ import annotations

from sharkpy.udf.signatures import Types
from sharkpy.values.common_types import as_decimal, common_type
from sharkpy.values.types import DOUBLE, NULL, DataType, DecimalType, is_numeric, is_string


def numbers(types: Types) -> Types | None:
    """Return both operand types in the type of the operation. DECIMALs keep their own precision."""
    if len(types) != 2:
        return None
    left, right = (DOUBLE if is_string(dtype) else dtype for dtype in types)
    left, right = (right if left == NULL else left), (left if right == NULL else right)
    if left == NULL:
        return (DOUBLE, DOUBLE)
    if not (is_numeric(left) and is_numeric(right)):
        return None
    if isinstance(left, DecimalType) or isinstance(right, DecimalType):
        decimal_left, decimal_right = as_decimal(left), as_decimal(right)
        return (decimal_left, decimal_right) if decimal_left and decimal_right else (DOUBLE, DOUBLE)
    target = common_type(left, right)
    return (target, target) if target else None


def both_decimal(left: DataType, right: DataType) -> bool:
    return isinstance(left, DecimalType) and isinstance(right, DecimalType)
