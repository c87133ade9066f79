"""Labels of tables: the type of their classes; classes of text are found by a query and replaced by numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sharkpy.execution.newest_session import newest_session
from sharkpy.ml.features.training_data import NamedTable
from sharkpy.ml.models.class_labels import MAX_CLASSES, check_number
from sharkpy.ml.models.predictor import is_table
from sharkpy.physical.fresh_ids import FreshIds
from sharkpy.plan.expr import Call, Cast, ColumnRef, Expr, Literal, string_literal
from sharkpy.plan.logical import Aggregate, Limit, LogicalPlan, Project
from sharkpy.values.types import BOOLEAN, DOUBLE, INTEGER_TYPES, STRING, CharType, StringType, VarcharType

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.ml.rdd.table_rdd import TableRDD

_OF_NONE = -1.0
"""Number of a label that is none of the classes."""


def table_with_text_label(data: object, label: object, session: EngineSession | None) -> TableRDD | None:
    """TableRDD of `data`, a TableRDD or the name of a table, if its column `label` is text; else None."""
    table = _table(data, label, session)
    if table is None or not isinstance(_column(table.plan, str(label)).dtype, (StringType, VarcharType, CharType)):
        return None
    from sharkpy.ml.rdd.table_rdd import TableRDD

    return table if isinstance(table, TableRDD) else TableRDD(table.session, table.plan)


def number_type(data: object, label: object, session: EngineSession | None) -> np.dtype[Any] | None:
    """Type of classes that are numbers or booleans in the column `label` of a table; None for any other data."""
    table = _table(data, label, session)
    if table is None:
        return None
    dtype = _column(table.plan, str(label)).dtype
    return np.dtype(bool if dtype == BOOLEAN else np.int64 if dtype in INTEGER_TYPES else np.float64)


def _table(data: object, label: object, session: EngineSession | None) -> TableRDD | NamedTable | None:
    """Table that `data` is or names, if it has one column `label`."""
    if not isinstance(label, str) or not (isinstance(data, str) or is_table(data)):
        return None
    table = NamedTable(data, session or newest_session()) if isinstance(data, str) else data
    return table if sum(column.name.lower() == label.lower() for column in table.plan.output) == 1 else None


def text_classes(table: TableRDD, label: str) -> npt.NDArray[Any]:
    """Distinct values of the column in ascending order, without NULL. DataError if there are too many."""

    def distinct(plan: LogicalPlan) -> LogicalPlan:
        text = FreshIds(plan).alias(_text(plan, label), label)
        return Limit(Aggregate(plan, (text,), ()), MAX_CLASSES + 2)

    found = table.changed(distinct).to_arrow().column(0).to_pylist()
    classes = sorted(value for value in found if value is not None)
    check_number(len(classes))
    return np.array(classes, dtype=object)


def with_numbers(table: TableRDD, label: str, classes: Sequence[str]) -> TableRDD:
    """`table` with each label replaced by its position among `classes`; NULL stays NULL."""

    def numbered(plan: LogicalPlan) -> LogicalPlan:
        column, text = _column(plan, label), _text(plan, label)
        cases: list[Expr] = []
        for place, value in enumerate(classes):
            cases += Call("eq", (text, string_literal(value)), BOOLEAN), Literal(float(place), DOUBLE)
        cases += Call("is_not_null", (column,), BOOLEAN), Literal(_OF_NONE, DOUBLE), Literal(None, DOUBLE)
        number = FreshIds(plan).alias(Call("case_when", tuple(cases), DOUBLE), column.name)
        return Project(plan, tuple(number if item == column else item for item in plan.output))

    return table.changed(numbered)


def _text(plan: LogicalPlan, name: str) -> Expr:
    column = _column(plan, name)
    return column if column.dtype == STRING else Cast(column, STRING)


def _column(plan: LogicalPlan, name: str) -> ColumnRef:
    return next(column for column in plan.output if column.name.lower() == name.lower())
