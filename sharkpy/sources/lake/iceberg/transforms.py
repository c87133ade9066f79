"""Partition transforms of columns, by Iceberg's own core (the package pyiceberg-core)."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from sharkpy.base.errors import ExecutionError
from sharkpy.catalog.lake_tables import PartitionField
from sharkpy.sources.arrow import Array, pc

IDENTITY, VOID = "identity", "void"
COUNTED = ("bucket", "truncate")
"""Transforms with a number."""
COMPUTED = (*COUNTED, "year", "month", "day", "hour")


def transformed_texts(field: PartitionField, column: Array) -> Array:
    """Texts of a partition field's values for a column, in the form that `partition_value` reads; NULL for NULL.

    ExecutionError 22003 if `truncate` gives a number below the range of its type.
    """
    given = () if field.number is None else (field.number,)
    found = _function(field)(column, *given)
    coded = found.dictionary_encode()
    values = coded.dictionary.to_pylist()
    if field.transform == "truncate":
        _check_truncated(field, column, found, values)
    texts = pa.array([_text(value) for value in values], pa.string())
    return pa.DictionaryArray.from_arrays(coded.indices, texts).cast(pa.string())


def _function(field: PartitionField) -> Callable[..., Array]:
    # Imported here, since other tasks do not need the package.
    from pyiceberg_core import transform

    found: Callable[..., Array] = getattr(transform, field.transform)
    return found


def _text(value: Any) -> str:
    match value:
        case bytes():
            return value.hex()
        case datetime.date():
            return value.isoformat()
        case Decimal():
            return f"{value:f}"
    return str(value)


def _check_truncated(field: PartitionField, column: Array, found: Array, values: list[Any]) -> None:
    dtype: Any = column.type
    if pa.types.is_integer(dtype):
        # A multiple below the range of the type overflows to a large number.
        is_beyond = bool(pc.any(pc.greater(found, column)).as_py())
    else:
        is_beyond = pa.types.is_decimal(dtype) and any(len(one.as_tuple().digits) > dtype.precision for one in values)
    if is_beyond:
        raise ExecutionError(f"a value of {field} is beyond the type {dtype}", sqlstate="22003")
