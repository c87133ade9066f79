"""Categories of a table's columns: from the sets of values in block statistics, else by SELECT DISTINCT."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from sharkpy.base.errors import DataError, TypeMismatchError
from sharkpy.columnar.domain import from_domain
from sharkpy.columnar.statistics_table import ColumnTable
from sharkpy.ml.models.categories import Array, distinct, typed_values
from sharkpy.ml.models.given_table import KnownColumns
from sharkpy.ml.models.replace_columns import column_named
from sharkpy.plan.expr import Call, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Aggregate, Filter, Limit, LogicalPlan
from sharkpy.sql.expressions.coercion import cast
from sharkpy.values.types import BOOLEAN, DATE, DOUBLE, FLOAT, INTEGER_TYPES, TIMESTAMP, DataType, is_string

if TYPE_CHECKING:
    from sharkpy.ml.rdd.table_rdd import TableRDD

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
    known = KnownColumns.of(table)
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
