"""Values of categorical columns as typed arrays: booleans, integers, floats, text, dates and timestamps."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sharkpy.base.errors import ColumnNotFoundError, DataError, TypeMismatchError, UnsupportedError, did_you_mean
from sharkpy.ml.features.array_data import column_names
from sharkpy.plan.expr import Literal, PythonValue
from sharkpy.values.types import BIGINT, BOOLEAN, DATE, DOUBLE, STRING, TIMESTAMP

Array = npt.NDArray[Any]

_OF_CLASS: dict[type, str] = {
    bool: "?",
    int: "i8",
    float: "f8",
    str: "O",
    datetime.date: "M8[D]",
    datetime.datetime: "M8[us]",
}
"""Array type of each Python class of values."""
_MISSING = ("NaTType", "NAType")
"""Names of the classes of pandas' own NULLs."""
_LITERALS: dict[str, Callable[[Any], Literal]] = {
    "b": lambda value: Literal(bool(value), BOOLEAN),
    "i": lambda value: Literal(int(value), BIGINT),
    "f": lambda value: Literal(float(value), DOUBLE),
    "O": lambda value: Literal(str(value), STRING),
    "M8[D]": lambda value: Literal(value.astype(object), DATE),
    "M8[us]": lambda value: Literal(value.astype(object), TIMESTAMP),
}


def typed_values(values: object, name: str) -> tuple[Array, Array]:
    """Return (values, whether each is missing) of a column. None, NaN and NaT are missing; ignore their values.

    Raise TypeMismatchError if the values have several types, or a type that categories cannot have.
    """
    array = np.asarray(values)
    match array.dtype.kind:
        case "b":
            return array, np.zeros(len(array), np.bool_)
        case "i" | "u":
            return array.astype(np.int64), np.zeros(len(array), np.bool_)
        case "f":
            return array.astype(np.float64), np.isnan(array)
        case "U":
            return array.astype(object), np.zeros(len(array), np.bool_)
        case "M":
            unit = "M8[D]" if np.datetime_data(array.dtype)[0] in ("D", "W", "M", "Y") else "M8[us]"
            return array.astype(unit), np.isnat(array)
        case "O":
            return _typed_objects(array, name)
    raise TypeMismatchError(f'column "{name}" holds no categories: {array.dtype}')


def _typed_objects(array: Array, name: str) -> tuple[Array, Array]:
    is_missing = np.array([_is_missing(value) for value in array], np.bool_)
    present = array[~is_missing]
    classes = {_class_of(value) for value in present}
    if classes == {int, float}:
        classes = {float}
    if len(classes) > 1:
        names = " and ".join(sorted(one.__name__ for one in classes))
        raise TypeMismatchError(f'column "{name}" mixes {names}')
    kind = _OF_CLASS.get(classes.pop(), "") if classes else "O"
    if not kind:
        raise TypeMismatchError(f'column "{name}" holds no categories: {type(present[0]).__name__}')
    found = np.zeros(len(array), kind) if kind != "O" else np.full(len(array), "", object)
    found[~is_missing] = present
    return found, is_missing


def _is_missing(value: object) -> bool:
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
    return value is None or type(value).__name__ in _MISSING


def _class_of(value: object) -> type:
    """Return the Python class of a value: of NumPy's scalars the Python equivalent, of a subclass its known base."""
    if isinstance(value, np.generic):
        value = value.item()
    known = (bool, datetime.datetime, *_OF_CLASS)
    return next((one for one in known if isinstance(value, one)), type(value))


def distinct(values: Array) -> Array:
    """Return the distinct values, sorted; texts by code points."""
    return np.unique(values)


def codes_of(values: Array, categories: Array) -> Array:
    """Return the position of each value among `categories`, in any order; -1 for unknown values."""
    if not len(categories) or (values.dtype.kind in "OM") != (categories.dtype.kind in "OM"):
        return np.full(len(values), -1, np.int64)
    if values.dtype.kind != categories.dtype.kind and "M" in (values.dtype.kind, categories.dtype.kind):
        return np.full(len(values), -1, np.int64)
    order = np.argsort(categories, kind="stable")
    places = order[np.searchsorted(categories, values, sorter=order).clip(max=len(categories) - 1)]
    found: Array = np.where(categories[places] == values, places, -1)
    return found


def literal(categories: Array, place: int) -> Literal:
    kind = categories.dtype.kind
    unit = f"M8[{np.datetime_data(categories.dtype)[0]}]" if kind == "M" else kind
    return _LITERALS[unit](categories[place])


def text_of(categories: Array, place: int) -> str:
    """Return the text of a category, as SQL writes it."""
    value: PythonValue = literal(categories, place).value
    return str(value).lower() if isinstance(value, bool) else str(value)


def given_columns(data: object, names: Sequence[str] | None) -> list[tuple[str, Array]]:
    """Return columns of a matrix or a data frame, unchanged, by name. `names` chooses the columns of a data frame, or
    names the columns of a matrix.
    """
    known = column_names(data)
    if known is not None:
        for name in names or ():
            if name not in known:
                raise ColumnNotFoundError(f'no column "{name}"', hint=did_you_mean(name, known))
        return [(name, np.asarray(data[name])) for name in names or known]  # type: ignore[index]
    if type(data).__module__.startswith("scipy.sparse"):
        raise UnsupportedError("a sparse matrix of categories", hint="give its toarray()")
    try:
        matrix = np.asarray(data)
    except ValueError:
        raise DataError("the rows of the data have different lengths") from None
    if matrix.ndim != 2:
        hint = "one column is data.reshape(-1, 1)" if matrix.ndim == 1 else None
        raise DataError(f"the data has {matrix.ndim} dimensions, not 2: rows and columns", hint=hint)
    found = names or [f"x{place}" for place in range(matrix.shape[1])]
    if len(found) != matrix.shape[1]:
        raise DataError(f"{len(found)} names for {matrix.shape[1]} columns")
    return [(name, matrix[:, place]) for place, name in enumerate(found)]
