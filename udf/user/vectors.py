"""Conversion of Arrow columns to the arguments of Python functions, and of their results to Arrow columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.udf.user.function import Column
from sharkpy.udf.user.python_code import PythonCode, wrong_result
from sharkpy.values.nested_arrow import cast_column, fields_by_name
from sharkpy.values.python_values import arrow_value, python_values
from sharkpy.values.types import DataType, is_nested, to_arrow
from sharkpy.values.utf8 import valid_array


def numpy_values(column: Column) -> np.ndarray[Any, Any]:
    """Return numbers, booleans, dates and timestamps in NumPy's types, other values as objects.

    Columns with NULLs are masked arrays if NumPy has a type for them. Otherwise NULL is None.
    """
    fixed = pa.types.is_primitive(column.type) or pa.types.is_boolean(column.type)
    if not fixed:
        objects = np.empty(len(column), object)
        for index, value in enumerate(python_values(column)):
            objects[index] = value
        return objects
    bare: Column = column
    if column.null_count:
        bare = pa.Array.from_buffers(column.type, len(column), [None, *column.buffers()[1:]], offset=column.offset)
    values: np.ndarray[Any, Any] = bare.to_numpy(zero_copy_only=False)
    if not column.null_count:
        return values
    return np.ma.MaskedArray(values, column.is_null().to_numpy(zero_copy_only=False))


def valid_rows(columns: Sequence[Column], num_rows: int) -> np.ndarray[Any, Any] | None:
    """Return a mask of the rows without NULL, or None if all rows are."""
    if not any(column.null_count for column in columns):
        return None
    valid = np.ones(num_rows, bool)
    for column in columns:
        if column.null_count:
            valid &= column.is_valid().to_numpy(zero_copy_only=False)
    return valid


def fill_invalid_rows(values: Column, valid: np.ndarray[Any, Any]) -> Column:
    """Return `values` at the positions of `valid`, with NULL at all other positions."""
    positions = np.cumsum(valid) - 1
    return values.take(pa.array(positions, pa.int64(), mask=~valid))


def result_column(name: str, code: PythonCode, value: Any, num_rows: int, dtype: DataType) -> Column:
    """Return a vectorised function's result as a column. A single value is repeated for all rows."""
    if isinstance(value, pa.ChunkedArray):
        value = value.combine_chunks()
    elif hasattr(value, "to_numpy") and not isinstance(value, pa.Array):
        value = value.to_numpy()
    if not isinstance(value, (pa.Array, list, tuple)) and not (isinstance(value, np.ndarray) and value.ndim):
        single = value.as_py() if isinstance(value, pa.Scalar) else _plain(value)
        return column_of(name, code, [single] * num_rows, dtype)
    if len(value) != num_rows:
        raise wrong_result(name, code, f"returned {len(value)} values for {num_rows} rows")
    return column_of(name, code, value, dtype)


def column_of(name: str, code: PythonCode, values: Any, dtype: DataType) -> Column:
    """Return values as a column of `dtype`. Raise ExecutionError 39000 if they do not convert."""
    target = to_arrow(dtype)
    try:
        if isinstance(values, np.ma.MaskedArray):
            mask = np.ma.getmaskarray(values)
            made = _converted(pa.array(values.data, mask=mask), target)
        elif isinstance(values, pa.Array):
            made = _converted(values, target)
        elif isinstance(values, np.ndarray) and values.dtype != object:
            made = _converted(pa.array(values), target)
        else:
            made = _array_of(values, dtype, target)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0]
        raise wrong_result(name, code, f"returned a value that is not {dtype}: {reason}") from error
    return valid_array(made)


def _converted(made: Column, target: pa.DataType) -> Column:
    if made.type == target:
        return made
    if pa.types.is_integer(made.type) and pa.types.is_floating(target):
        return made.cast(target, safe=False)
    if _kind(made.type) != _kind(target):
        raise pa.ArrowInvalid(f"its values are {made.type}")
    if pa.types.is_floating(made.type) and pa.types.is_floating(target):
        return made.cast(target, safe=False)
    return cast_column(fields_by_name(made, target), target)


def _kind(dtype: pa.DataType) -> object:
    """Types of one kind are converted if the values are in range."""
    if pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_decimal(dtype):
        return "number"
    if pa.types.is_string(dtype) or pa.types.is_large_string(dtype):
        return "text"
    if pa.types.is_temporal(dtype):
        return "time"
    return dtype.id


def _array_of(values: Sequence[Any], dtype: DataType, target: pa.DataType) -> Column:
    """Return Python values as an array. pyarrow itself gives NULL for a field whose name differs in case."""
    if is_nested(dtype):
        return pa.array([arrow_value(value, dtype) for value in values], target)
    try:
        return pa.array(values, target)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        # Some of NumPy's values convert only as Python's.
        return pa.array([_plain(value) for value in values], target)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
