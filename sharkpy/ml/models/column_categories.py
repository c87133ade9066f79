"""Categories of columns, as typed arrays: booleans, integers, floats, text, dates and timestamps.

Categories of a table's columns come from the sets of values in block statistics, else from SELECT DISTINCT.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sharkpy.base.errors import ColumnNotFoundError, DataError, TypeMismatchError, UnsupportedError, did_you_mean
from sharkpy.columnar.domain import from_domain
from sharkpy.columnar.statistics_table import ColumnTable
from sharkpy.ml.features.training_data import column_names
from sharkpy.ml.models.transformer_table import ColumnStatistics, column_named
from sharkpy.plan.expr import Call, ColumnRef, Expr, Literal, PythonValue
from sharkpy.plan.logical import Aggregate, Filter, Limit, LogicalPlan
from sharkpy.sql.expressions.coercion import cast
from sharkpy.values.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER_TYPES,
    STRING,
    TIMESTAMP,
    DataType,
    is_string,
)

if TYPE_CHECKING:
    from sharkpy.ml.rdd.table_rdd import TableRDD

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


MAX_CATEGORIES = 10_000
_TYPES: tuple[DataType, ...] = (BOOLEAN, *INTEGER_TYPES, FLOAT, DOUBLE, DATE, TIMESTAMP)


def table_categories(table: TableRDD, names: Sequence[str] | None, na: str) -> dict[str, Array]:
    """Return sorted categories by column (None: all columns). With na="error", raise DataError that names a column with
    missing values.
    """
    columns = [column_named(table.plan, name, "OneHotEncoder") for name in names or table.schema.names]
    for column in columns:
        if column.dtype not in _TYPES and not is_string(column.dtype):
            hint = "CAST it AS STRING in a query"
            raise TypeMismatchError(f'column "{column.name}" holds no categories: {column.dtype}', hint=hint)
    found = _from_statistics(table, columns, na)
    chosen = tuple(column.name for column in columns)
    for name in chosen:
        if name not in found:
            found[name] = _from_query(table, name, chosen, na)
    return {name: found[name] for name in chosen}


def _from_statistics(table: TableRDD, columns: Sequence[ColumnRef], na: str) -> dict[str, Array]:
    known = ColumnStatistics.of(table)
    if known is None:
        return {}
    tables = {column.name: known.column(column.name) for column in columns}
    missing = {name: known.num_missing(name) for name in tables}
    if na == "error":
        for name, number in missing.items():
            check_missing(name, number or 0)
    elif any(number != 0 for number in missing.values()):
        return {}
    return {
        name: _typed([from_domain(value, one.dtype) for value in one.sets.values], name)
        for name, one in tables.items()
        if one is not None and missing[name] is not None and _has_sets(one)
    }


def _has_sets(column: ColumnTable) -> bool:
    return bool((column.sets.set_ids[column.valid_counts > 0] >= 0).all())


def _from_query(table: TableRDD, name: str, names: Sequence[str], na: str) -> Array:
    values = table.changed(lambda plan: _distinct_values(plan, name, names, na)).to_arrow().column(0)
    if len(values) > MAX_CATEGORIES:
        raise DataError(f'column "{name}" has more than {MAX_CATEGORIES:,} categories')
    return _typed(values.to_pylist(), name, na)


def _distinct_values(plan: LogicalPlan, name: str, names: Sequence[str], na: str) -> LogicalPlan:
    if na == "drop":
        present = [_is_present(column_named(plan, one, "OneHotEncoder")) for one in names]
        plan = Filter(plan, reduce(lambda left, right: Call("and", (left, right), BOOLEAN), present))
    column = column_named(plan, name, "OneHotEncoder")
    return Limit(Aggregate(plan, (column,), ()), MAX_CATEGORIES + 1)


def _is_present(column: ColumnRef) -> Expr:
    """True for values that are neither NULL nor NaN, which is greater than infinity in the order of values."""
    if column.dtype in (FLOAT, DOUBLE):
        number = cast(column, DOUBLE)
        return Call("le", (number, Literal(math.inf, DOUBLE)), BOOLEAN)
    return Call("is_not_null", (column,), BOOLEAN)


def _typed(values: Sequence[object], name: str, na: str = "error") -> Array:
    array = np.empty(len(values), object)
    array[:] = values
    typed, is_missing = typed_values(array, name)
    if na == "error":
        check_missing(name, int(is_missing.any()))
    return distinct(typed[~is_missing])


def check_missing(name: str, number: int) -> None:
    if number:
        hint = 'na="drop" leaves out such rows; coalesce makes a category of NULL'
        raise DataError(f'column "{name}" has missing values (NULL or NaN)', hint=hint)
