"""Conversion between Python objects and Arrow columns, five to forty times as fast as Arrow's own."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sharkpy.base.errors import ExecutionError
from sharkpy.values.types import (
    INTERVAL_DAY_TIME,
    INTERVAL_YEAR_MONTH,
    ArrayType,
    DataType,
    MapType,
    StructType,
    is_interval,
    is_nested,
)

_YEARS = {
    pa.date32(): ("M8[D]", "i4", -719_162, 2_932_896),
    pa.timestamp("us"): ("M8[us]", "i8", -62_135_596_800_000_000, 253_402_300_799_999_999),
}
"""Type -> NumPy's types of its dates and integers, and the smallest and largest value that Python can represent (the
years 1 to 9999).
"""
_FEW = 1_000
"""Number of strings and decimals up to which Arrow's own conversion is fast enough: NumPy's imports pandas."""


def typed_values(column: pa.Array[Any], dtype: DataType) -> list[Any]:
    """Return the Python values of a column of type `dtype`.

    INTERVAL DAY TO SECOND becomes timedelta. INTERVAL YEAR TO MONTH becomes text such as `1-2`, since Python has no
    type for it. Other values are as in `python_values`.
    """
    values = python_values(column)
    return [with_intervals(value, dtype) for value in values] if holds_interval(dtype) else values


def with_intervals(value: Any, dtype: DataType) -> Any:
    """Convert the intervals in a value from numbers of months or microseconds to Python values."""
    if value is None:
        return None
    match dtype:
        case ArrayType(element):
            return [with_intervals(item, element) for item in value]
        case MapType(key_type, item_type):
            return {with_intervals(key, key_type): with_intervals(item, item_type) for key, item in value.items()}
        case StructType(names, types):
            return {name: with_intervals(value[name], inner) for name, inner in zip(names, types, strict=True)}
    if dtype == INTERVAL_DAY_TIME:
        return datetime.timedelta(microseconds=value)
    return months_text(value) if dtype == INTERVAL_YEAR_MONTH else value


def months_text(months: int) -> str:
    """Format months as Hive does, as years and months: `1-2`."""
    return f"{'-' if months < 0 else ''}{abs(months) // 12}-{abs(months) % 12}"


def holds_interval(dtype: DataType) -> bool:
    match dtype:
        case ArrayType(element):
            return holds_interval(element)
        case MapType(key, item):
            return holds_interval(key) or holds_interval(item)
        case StructType(_, types):
            return any(map(holds_interval, types))
    return is_interval(dtype)


def python_values(column: pa.Array[Any]) -> list[Any]:
    """Return the Python values of a column, None for NULL.

    The values are Decimal, date, datetime without a zone, list, and dict for MAP (the last of equal keys) and STRUCT.
    Raise ExecutionError for a date or timestamp outside the years 1 to 9999.
    """
    dtype = column.type
    if dtype in _YEARS:
        return _date_values(column)
    if (pa.types.is_string(dtype) or pa.types.is_decimal128(dtype)) and len(column) > _FEW:
        return cast("list[Any]", column.to_numpy(zero_copy_only=False).tolist())
    if pa.types.is_map(dtype):
        return _map_values(cast("pa.MapArray[Any, Any]", column))
    if pa.types.is_list(dtype) or pa.types.is_large_list(dtype):
        return _list_values(cast("pa.ListArray[Any]", column))
    if pa.types.is_struct(dtype) and dtype.num_fields:
        return _struct_values(cast("pa.StructArray", column))
    if pa.types.is_nested(dtype):
        return column.to_pylist(maps_as_pydicts="lossy")
    return column.to_pylist()


def _date_values(column: pa.Array[Any]) -> list[Any]:
    if column.null_count == len(column):
        return [None] * len(column)
    dates, integers, least, greatest = _YEARS[column.type]
    numbers = _numbers(column, integers)
    values = numbers.astype(dates)
    if column.null_count:
        valid = _numbers(column.is_valid().cast(pa.uint8()), "u1").view(np.bool_)
        values[~valid] = np.datetime64("NaT")
        numbers = numbers[valid]
    if numbers.min() < least or numbers.max() > greatest:
        message = "a date or timestamp outside the years 1 to 9999 has no Python value"
        hint = "cast it to STRING, or read it as Arrow"
        raise ExecutionError(message, hint=hint, sqlstate="22008")
    return cast("list[Any]", values.tolist())


def _numbers(column: pa.Array[Any], dtype: str) -> Any:
    """Return the memory of a column. (NumPy's own conversion would import pandas.)"""
    return np.frombuffer(memoryview(column.buffers()[1] or b""), dtype)[column.offset : column.offset + len(column)]


def _list_values(column: pa.ListArray[Any]) -> list[Any]:
    items = python_values(column.flatten())
    lengths = pc.call_function("list_value_length", [column]).to_pylist()
    return _pieces(lengths, lambda start, end: items[start:end])


def _map_values(column: pa.MapArray[Any, Any]) -> list[Any]:
    """Build dicts from offsets: viewing a map as a list of structs crashes the process for some slices."""
    offsets = column.offsets.to_numpy()
    lengths = np.diff(offsets)
    if column.null_count:
        lengths[column.is_null().to_numpy(zero_copy_only=False)] = 0
    num_entries = int(lengths.sum())
    first = int(offsets[0])
    if num_entries == int(offsets[-1]) - first:
        entries = (child.slice(first, num_entries) for child in (column.keys, column.items))
    else:
        places = pa.array(np.arange(num_entries) + np.repeat(offsets[:-1] - np.cumsum(lengths) + lengths, lengths))
        entries = (child.take(places) for child in (column.keys, column.items))
    keys, items = map(python_values, entries)
    known: list[int | None] = lengths.tolist()
    if column.null_count:
        known = [length if valid else None for length, valid in zip(known, column.is_valid().to_pylist(), strict=True)]
    return _pieces(known, lambda start, end: dict(zip(keys[start:end], items[start:end], strict=True)))


def _pieces(lengths: list[int | None], piece: Callable[[int, int], Any]) -> list[Any]:
    """Return `piece` of each value's range in the flattened column, which has no items for NULL."""
    ends = accumulate((length or 0 for length in lengths), initial=0)
    return [
        None if length is None else piece(start, end)
        for length, (start, end) in zip(lengths, pairwise(ends), strict=True)
    ]


def _struct_values(column: pa.StructArray) -> list[Any]:
    names = [field.name for field in column.type]
    fields = [python_values(field) for field in column.flatten()]
    values: list[Any] = [dict(zip(names, row, strict=True)) for row in zip(*fields, strict=True)]
    if column.null_count:
        valid = column.is_valid().to_pylist()
        return [value if is_valid else None for value, is_valid in zip(values, valid, strict=True)]
    return values


def row_names(row: Any) -> tuple[str, ...] | None:
    """Return the names of a row's values, or None if the row is a sequence or a single value."""
    if isinstance(row, Mapping):
        return tuple(map(str, row))
    if dataclasses.is_dataclass(row) and not isinstance(row, type):
        return tuple(field.name for field in dataclasses.fields(row))
    names = getattr(row, "__fields__", None) or getattr(row, "_fields", None)
    return tuple(names) if isinstance(row, tuple) and names else None


def row_values(row: Any) -> Sequence[Any]:
    """Return the values of a row (a mapping, dataclass, sequence or single value) in its own order."""
    if isinstance(row, Mapping):
        return tuple(row.values())
    if isinstance(row, (tuple, list)):
        return row
    if isinstance(row, np.ndarray) and row.ndim == 1:
        return row.tolist()  # type: ignore[no-any-return]
    if isinstance(row, np.void):
        return row.item()
    if dataclasses.is_dataclass(row) and not isinstance(row, type):
        return tuple(getattr(row, field.name) for field in dataclasses.fields(row))
    return (row,)


def is_pandas_null(value: object) -> bool:
    """Return True for pandas' own forms of NULL. NaN is a value."""
    return type(value).__name__ in ("NAType", "NaTType")


def arrow_value(value: Any, dtype: DataType) -> Any:
    """Return a nested value as pyarrow takes it: fields by lower-case name, maps as pairs. Raise TypeError if its shape
    differs.
    """
    if value is None or is_pandas_null(value):
        return None
    match dtype:
        case ArrayType(element):
            if isinstance(value, (str, bytes, Mapping)):
                raise TypeError("not a list")
            return [arrow_value(one, element) for one in value] if is_nested(element) else list(value)
        case MapType(key, item):
            return [(arrow_value(one, key), arrow_value(other, item)) for one, other in dict(value).items()]
        case StructType(names, types):
            given = row_names(value)
            parts = dict(zip([one.lower() for one in given or names], row_values(value), strict=True))
            if others := parts.keys() - set(names):
                raise TypeError(f'{dtype} has no field "{min(others)}"')
            return {name: arrow_value(parts.get(name), inner) for name, inner in zip(names, types, strict=True)}
    return value
