"""Python objects in the shape of a type: dicts, named tuples and dataclasses as structs, mappings as maps."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sharkpy.values.types import ArrayType, DataType, MapType, StructType, is_nested


def names_of(row: Any) -> tuple[str, ...] | None:
    """Return the names of a row's values, or None if the row is a sequence or a single value."""
    if isinstance(row, Mapping):
        return tuple(map(str, row))
    if dataclasses.is_dataclass(row) and not isinstance(row, type):
        return tuple(field.name for field in dataclasses.fields(row))
    names = getattr(row, "__fields__", None) or getattr(row, "_fields", None)
    return tuple(names) if isinstance(row, tuple) and names else None


def values_of(row: Any) -> Sequence[Any]:
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


def is_missing(value: object) -> bool:
    """Return True for pandas' own forms of NULL. NaN is a value."""
    return type(value).__name__ in ("NAType", "NaTType")


def shaped(value: Any, dtype: DataType) -> Any:
    """Return a nested value as pyarrow takes it: fields by lower-case name, maps as pairs. Raise TypeError if its shape
    differs.
    """
    if value is None or is_missing(value):
        return None
    match dtype:
        case ArrayType(element):
            if isinstance(value, (str, bytes, Mapping)):
                raise TypeError("not a list")
            return [shaped(one, element) for one in value] if is_nested(element) else list(value)
        case MapType(key, item):
            return [(shaped(one, key), shaped(other, item)) for one, other in dict(value).items()]
        case StructType(names, types):
            given = names_of(value)
            parts = dict(zip([one.lower() for one in given or names], values_of(value), strict=True))
            if others := parts.keys() - set(names):
                raise TypeError(f'{dtype} has no field "{min(others)}"')
            return {name: shaped(parts.get(name), inner) for name, inner in zip(names, types, strict=True)}
    return value
