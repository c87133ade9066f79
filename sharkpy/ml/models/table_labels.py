"""Labels of tables: the type of their classes, and the numbering of classes that are text or long numbers, by a
query.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sharkpy.base.errors import DataError
from sharkpy.execution.engine_session import newest_session
from sharkpy.ml.features.training_data import NamedTable
from sharkpy.ml.models.class_labels import MAX_CLASSES, check_number
from sharkpy.ml.models.predictor import is_table
from sharkpy.physical.plan_context import FreshIds
from sharkpy.plan.expr import AggregateCall, Call, Cast, ColumnRef, Expr, Literal, string_literal
from sharkpy.plan.logical import Aggregate, Limit, LogicalPlan, Project
from sharkpy.values.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER_TYPES,
    STRING,
    CharType,
    DataType,
    DecimalType,
    StringType,
    VarcharType,
)

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.ml.rdd.table_rdd import TableRDD

_OF_NONE = -1.0
"""Number of a label that does not belong to any class."""
_EXACT = 2**53
"""Bound below which whole numbers are exact DOUBLEs, so that blocks can have them as labels."""
_EXACT_DIGITS = 15
_TEXTS = (StringType, VarcharType, CharType)


def table_with_numbered_label(data: object, label: object, session: EngineSession | None) -> TableRDD | None:
    """Return the TableRDD of `data`, a TableRDD or the name of a table, if the classes in its column `label` have to be
    numbered: text, and numbers that DOUBLE may not distinguish. Else return None.
    """
    table = _table(data, label, session)
    if table is None:
        return None
    dtype = _column(table.plan, str(label)).dtype
    is_exact = not isinstance(dtype, _TEXTS) and dtype != BIGINT and not _has_many_digits(dtype)
    if is_exact:
        return None
    from sharkpy.ml.rdd.table_rdd import TableRDD

    found = table if isinstance(table, TableRDD) else TableRDD(table.session, table.plan)
    return found if isinstance(dtype, _TEXTS) or _is_large(found, str(label)) else None


def _has_many_digits(dtype: DataType) -> bool:
    return isinstance(dtype, DecimalType) and dtype.precision > _EXACT_DIGITS


def _is_large(table: TableRDD, label: str) -> bool:
    """True if labels may be rounded in blocks: whole numbers of 2^53 and more, decimals with more than 15 digits."""

    def bounds(plan: LogicalPlan) -> LogicalPlan:
        column, ids = _column(plan, label), FreshIds(plan)
        calls = [AggregateCall(name, (column,), column.dtype) for name in ("min", "max")]
        return Aggregate(plan, (), tuple(ids.alias(call, call.function) for call in calls))

    (row,) = table.changed(bounds).to_arrow().to_pylist()
    limit = _EXACT
    if isinstance(dtype := _column(table.plan, label).dtype, DecimalType):
        limit = 10 ** (_EXACT_DIGITS - dtype.scale) if dtype.scale < _EXACT_DIGITS else 0
    return any(value is not None and abs(value) >= limit for value in row.values())


def number_type(data: object, label: object, session: EngineSession | None) -> np.dtype[Any] | None:
    """Return the type of classes that are numbers or booleans in the column `label` of a table, or None for
    other data.
    """
    table = _table(data, label, session)
    if table is None:
        return None
    dtype = _column(table.plan, str(label)).dtype
    return np.dtype(bool if dtype == BOOLEAN else np.int64 if dtype in INTEGER_TYPES else np.float64)


def _table(data: object, label: object, session: EngineSession | None) -> TableRDD | NamedTable | None:
    """Return the table that `data` is or names, if it has exactly one column `label`."""
    if not isinstance(label, str) or not (isinstance(data, str) or is_table(data)):
        return None
    table = NamedTable(data, session or newest_session()) if isinstance(data, str) else data
    return table if sum(column.name.lower() == label.lower() for column in table.plan.output) == 1 else None


def label_classes(table: TableRDD, label: str) -> npt.NDArray[Any]:
    """Return the distinct values of the column in ascending order, without NULL: numbers as int64 or float64. Raise
    DataError if there are too many, or for decimals that DOUBLE cannot distinguish.
    """

    def distinct(plan: LogicalPlan) -> LogicalPlan:
        value = FreshIds(plan).alias(_value(plan, label), label)
        return Limit(Aggregate(plan, (value,), ()), MAX_CLASSES + 2)

    found = table.changed(distinct).to_arrow().column(0).to_pylist()
    classes = sorted(value for value in found if value is not None)
    check_number(len(classes))
    dtype = _column(table.plan, label).dtype
    if not isinstance(dtype, DecimalType):
        return np.array(classes, dtype=np.int64 if dtype == BIGINT else object)
    numbers = np.array(classes, dtype=np.float64)
    if len(np.unique(numbers)) < len(numbers):
        raise DataError(f'labels in "{label}" differ in digits that DOUBLE does not have', hint="CAST them to STRING")
    return numbers


def with_numbers(table: TableRDD, label: str, classes: Sequence[str | int | float]) -> TableRDD:
    """`table` with each label replaced by its position among `classes`; NULL stays NULL."""

    def numbered(plan: LogicalPlan) -> LogicalPlan:
        column, given = _column(plan, label), _value(plan, label)
        cases: list[Expr] = []
        for place, value in enumerate(classes):
            cases += Call("eq", _compared(given, value), BOOLEAN), Literal(float(place), DOUBLE)
        cases += Call("is_not_null", (column,), BOOLEAN), Literal(_OF_NONE, DOUBLE), Literal(None, DOUBLE)
        number = FreshIds(plan).alias(Call("case_when", tuple(cases), DOUBLE), column.name)
        return Project(plan, tuple(number if item == column else item for item in plan.output))

    return table.changed(numbered)


def _compared(given: Expr, value: str | int | float) -> tuple[Expr, Expr]:
    """Label and class in one type."""
    if isinstance(value, str) or given.dtype == STRING:
        return given if given.dtype == STRING else Cast(given, STRING), string_literal(str(value))
    if isinstance(value, int) and given.dtype == BIGINT:
        return given, Literal(int(value), BIGINT)
    return Cast(given, DOUBLE), Literal(float(value), DOUBLE)


def _value(plan: LogicalPlan, name: str) -> Expr:
    """Label as a class: text as STRING."""
    column = _column(plan, name)
    return Cast(column, STRING) if isinstance(column.dtype, (VarcharType, CharType)) else column


def _column(plan: LogicalPlan, name: str) -> ColumnRef:
    return next(column for column in plan.output if column.name.lower() == name.lower())
