"""Choice of features, label and policy for missing values among a query's columns.

Queries compute the means for na="mean", and count missing and infinite values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sharkpy.base.errors import (
    AmbiguousColumnError,
    BindError,
    ColumnNotFoundError,
    DataError,
    TypeMismatchError,
    did_you_mean,
)
from sharkpy.base.records import dataclass
from sharkpy.columnar.encodings.matrix import NotFinite
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.queries.run_plan import query_rows
from sharkpy.ml.features.feature_blocks import check_policy, float_type
from sharkpy.plan.expr import AggregateCall, Alias, Call, Cast, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Aggregate, LogicalPlan, Project
from sharkpy.values.types import BIGINT, BOOLEAN, DOUBLE, DataType, Field, Schema, StringType, is_numeric

if TYPE_CHECKING:
    from sharkpy.execution.tables.snapshot import QuerySnapshot


_MOST_ROWS = 262_144
_BLOCK_VALUES = 10 * _MOST_ROWS
"""Numbers in a block: enough to make a kernel's call worth its cost, few enough for several blocks a core."""
_LEAST_ROWS = 4096


@dataclass(frozen=True, slots=True)
class FeaturePlan:
    """Bound query whose columns are the features, followed by the label, if any.

    Columns keep the query's types; they become `dtype` ("float32", "float64") in the blocks.
    """

    plan: LogicalPlan
    names: tuple[str, ...]
    label: str | None
    dtype: str
    na: str

    @property
    def schema(self) -> Schema:
        return Schema(tuple(Field(column.name, column.dtype) for column in self.plan.output))

    @property
    def block_rows(self) -> int:
        """Maximum number of rows of a block."""
        return min(_MOST_ROWS, max(_LEAST_ROWS, _BLOCK_VALUES // len(self.names)))


def feature_plan(
    plan: LogicalPlan,
    columns: Sequence[str] | None = None,
    label: str | None = None,
    dtype: str | None = None,
    na: str = "error",
) -> FeaturePlan:
    """Choose features and label of a query. `columns` None: all numeric and boolean columns but the label.

    Raise ColumnNotFoundError, TypeMismatchError or DataError that names the invalid column or option.
    """
    check_policy(na)
    target = str(float_type(dtype))
    label_column = None if label is None else _column(plan, label)
    if isinstance(columns, str):
        raise BindError("the features are given as one text", hint=f'give a list of names: ["{columns}"]')
    if columns is None:
        chosen = [column for column in plan.output if is_feature(column.dtype) and column != label_column]
        if not chosen:
            raise DataError(
                "a table without numeric columns" + (" other than the label" if label else ""), hint=_have(plan)
            )
    else:
        chosen = [_column(plan, name) for name in columns]
        if not chosen:
            raise DataError("there are no features", hint=_have(plan))
    _check(chosen, label_column)
    refs = (*chosen, label_column) if label_column is not None else tuple(chosen)
    names = tuple(column.name for column in chosen)
    return FeaturePlan(Project(plan, refs), names, label_column.name if label_column else None, target, na)


def is_feature(dtype: DataType) -> bool:
    return is_numeric(dtype) or dtype == BOOLEAN


def _column(plan: LogicalPlan, name: str) -> ColumnRef:
    found = [column for column in plan.output if column.name.lower() == str(name).lower()]
    if not found:
        names = [column.name for column in plan.output]
        raise ColumnNotFoundError(f'no column "{name}"', hint=did_you_mean(str(name), names) or _have(plan))
    if len(found) > 1:
        raise AmbiguousColumnError(f'{len(found)} columns are called "{name}"', hint="give them names with AS")
    return found[0]


def _have(plan: LogicalPlan) -> str:
    return "there are " + ", ".join(f"{column.name} {column.dtype}" for column in plan.output)


def _check(chosen: Sequence[ColumnRef], label: ColumnRef | None) -> None:
    for position, column in enumerate(chosen):
        if column in chosen[:position]:
            raise DataError(f'column "{column.name}" is given twice')
        if column == label:
            raise DataError(f'column "{column.name}" is a feature and the label')
        if not is_feature(column.dtype):
            is_text = isinstance(column.dtype, StringType)
            hint = "OneHotEncoder makes numbers of categories" if is_text else "compute a number of it in the query"
            raise TypeMismatchError(f'column "{column.name}" is not numeric: {column.dtype}', hint=hint)
    if label is not None and not is_feature(label.dtype):
        hint = f"number the classes in the query: CASE {label.name} WHEN … THEN 0 … END"
        raise TypeMismatchError(f'label "{label.name}" is not numeric: {label.dtype}', hint=hint)


_INFINITY = Literal(float("inf"), DOUBLE)


def column_means(session: EngineSession, features: FeaturePlan, snapshot: QuerySnapshot) -> tuple[float, ...]:
    """Return the mean of each feature over its values that are not missing. Raise DataError if a column has none."""
    means = _aggregated(session, features, snapshot, _mean)[: len(features.names)]
    for name, mean in zip(features.names, means, strict=True):
        if mean is None:
            raise DataError(f'column "{name}" has no value to take the mean of')
    return tuple(means)


def check_finite(session: EngineSession, features: FeaturePlan, snapshot: QuerySnapshot) -> None:
    """Raise DataError if a column has missing or infinite values. It names the first such column and the total
    number.
    """
    present = np.array(_aggregated(session, features, snapshot, _num_present))
    finite = np.array(_aggregated(session, features, snapshot, _num_finite))
    rows = np.array(_aggregated(session, features, snapshot, _num_rows))
    found = NotFinite(rows - present if features.na == "error" else 0 * rows, present - finite)
    labels = slice(len(features.names), None)
    NotFinite(found.missing[: labels.start], found.infinite[: labels.start]).check(features.names)
    if features.label is not None:
        missing = 0 * rows if features.na == "drop" else rows - present
        NotFinite(missing[labels], found.infinite[labels]).check([features.label], kind="label")


def _aggregated(
    session: EngineSession, features: FeaturePlan, snapshot: QuerySnapshot, aggregate: Callable[[Expr], Expr]
) -> list[Any]:
    """Return `aggregate` of each column of the plan, as a DOUBLE, over the rows of `snapshot`."""
    ids = count(max(column for node in features.plan.walk() for column in node.output_ids) + 1)
    items = tuple(Alias(aggregate(_number(column)), next(ids), column.name) for column in features.plan.output)
    plan = Aggregate(features.plan, (), items)
    with closing(query_rows(session, plan, snapshot)) as batches:
        (row,) = pa.Table.from_batches(list(batches)).rename_columns([f"c{i}" for i in range(len(items))]).to_pylist()
    return list(row.values())


def _number(column: ColumnRef) -> Expr:
    """Return the column with NULL for NaN, which is greater than infinity in the order of values."""
    value = Cast(column, DOUBLE)
    return Call("case_when", (Call("le", (value, _INFINITY), BOOLEAN), value, Literal(None, DOUBLE)), DOUBLE)


def _mean(value: Expr) -> Expr:
    return AggregateCall("avg", (value,), DOUBLE)


def _num_rows(value: Expr) -> Expr:  # noqa: ARG001 - the same for each column
    return AggregateCall("count", (), BIGINT)


def _num_present(value: Expr) -> Expr:
    return AggregateCall("count", (value,), BIGINT)


def _num_finite(value: Expr) -> Expr:
    low, high = (
        Call(name, (value, end), BOOLEAN) for name, end in (("gt", Literal(-float("inf"), DOUBLE)), ("lt", _INFINITY))
    )
    is_finite = Call("and", (low, high), BOOLEAN)
    return AggregateCall("count", (Call("case_when", (is_finite, value, Literal(None, DOUBLE)), DOUBLE),), BIGINT)
