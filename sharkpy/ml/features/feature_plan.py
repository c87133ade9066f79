"""Choice of features, label and policy for missing values among a query's columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sharkpy.base.errors import (
    AmbiguousColumnError,
    BindError,
    ColumnNotFoundError,
    DataError,
    TypeMismatchError,
    did_you_mean,
)
from sharkpy.ml.features.array_data import float_type
from sharkpy.ml.features.missing_values import check_policy
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import LogicalPlan, Project
from sharkpy.values.types import BOOLEAN, DataType, Field, Schema, StringType, is_numeric

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
                "a table without numeric columns" + (" beside the label" if label else ""), hint=_have(plan)
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
