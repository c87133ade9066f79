"""Python values as values of a key column."""

from __future__ import annotations

import pyarrow as pa

from sharkpy.base.errors import TypeMismatchError, UnsupportedError
from sharkpy.plan.expr import PythonValue
from sharkpy.sql.expressions.coercion import convert_exactly
from sharkpy.values.types import Field, from_arrow


def key_value(field: Field, value: PythonValue) -> PythonValue:
    """Convert a value to the type of a column. Raise TypeMismatchError if that is not exact."""
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
