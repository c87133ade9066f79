"""Aggregates of feature columns by query: means for na="mean", and counts of missing and infinite values."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sharkpy.base.errors import DataError
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.queries.run_plan import query_rows
from sharkpy.ml.features.missing_values import NotFinite
from sharkpy.plan.expr import AggregateCall, Alias, Call, Cast, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Aggregate
from sharkpy.values.types import BIGINT, BOOLEAN, DOUBLE

if TYPE_CHECKING:
    from sharkpy.execution.tables.snapshot import QuerySnapshot
    from sharkpy.ml.features.feature_plan import FeaturePlan

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
