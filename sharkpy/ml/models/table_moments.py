"""Counts, means and squares of a table's columns by the engine: from block statistics if these suffice, else by one
aggregate query over the blocks as they are stored. DuckDB's variance is Welford's, and parts combine as in Chan, Golub
and LeVeque (1983).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from sharkpy.base.errors import DataError
from sharkpy.ml.features.feature_plan import feature_plan
from sharkpy.ml.features.missing_values import NotFinite
from sharkpy.ml.models.given_table import KnownColumns
from sharkpy.ml.models.kernels.column_moments import ColumnMoments
from sharkpy.ml.models.replace_columns import column_named
from sharkpy.physical.plan_context import FreshIds
from sharkpy.plan.expr import AggregateCall, Alias, Call, Cast, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Aggregate, Filter, LogicalPlan
from sharkpy.values.types import BIGINT, BOOLEAN, DOUBLE

if TYPE_CHECKING:
    from sharkpy.ml.rdd.table_rdd import TableRDD

_INFINITY = Literal(math.inf, DOUBLE)


@dataclass(frozen=True, slots=True)
class TableMoments:
    """Moments of a table's columns. `num_rows` counts the used rows: with na="drop" those without a missing value."""

    names: tuple[str, ...]
    num_rows: int
    moments: ColumnMoments


@dataclass(frozen=True, slots=True)
class _Column:
    """Moments of one column: the numbers of rows, of values and of finite ones, and their mean and variance."""

    rows: int
    present: int
    finite: int
    mean: float
    variance: float


def table_moments(table: TableRDD, names: Sequence[str] | None, na: str) -> TableMoments:
    """Return moments of the columns `names` (None: all numeric and boolean ones); NULL and NaN are missing.

    Raise DataError that names a column with infinite values, or, with na="error", with missing ones.
    """
    chosen = feature_plan(table.plan, names).names
    known = _from_statistics(table, chosen, na)
    asked = tuple(name for name in chosen if name not in known)
    found = known | (_from_query(table, chosen, asked, na) if asked else {})
    columns = [found[name] for name in chosen]
    rows, present, finite = (
        np.array([getattr(column, field) for column in columns], np.int64) for field in ("rows", "present", "finite")
    )
    missing = rows - present if na == "error" else np.zeros_like(rows)
    NotFinite(missing, present - finite).check(chosen)
    variances = np.array([column.variance for column in columns])
    moments = ColumnMoments(finite, np.array([column.mean for column in columns]), variances * finite)
    return TableMoments(chosen, columns[0].rows, moments)


def _from_statistics(table: TableRDD, names: Sequence[str], na: str) -> dict[str, _Column]:
    """Moments of constant columns. DataError with na="error" if there are NULLs, without reading any rows."""
    known = KnownColumns.of(table)
    if known is None:
        return {}
    missing = {name: known.num_missing(name) for name in names}
    if na == "error":
        certain = np.array([missing[name] or 0 for name in names], np.int64)
        NotFinite(certain, np.zeros_like(certain)).check(names)
    if na == "drop" and any(number != 0 for number in missing.values()):
        return {}
    rows = known.statistics.count()
    found = {}
    for name in names:
        value, num_missing = known.constant(name), missing[name]
        if value is not None and num_missing is not None and math.isfinite(float(value)):  # type: ignore[arg-type]
            present = rows - num_missing
            found[name] = _Column(rows, present, present, float(value), 0.0)  # type: ignore[arg-type]
    return found


def _from_query(table: TableRDD, names: Sequence[str], asked: Sequence[str], na: str) -> dict[str, _Column]:
    answer = table.changed(lambda plan: _aggregate(plan, names, asked, na)).to_arrow()
    row: list[Any] = [column[0].as_py() for column in answer.columns]
    if not row[0]:
        left = "no row is left: each one has a missing value (NULL or NaN)" if na == "drop" else "the table has no rows"
        raise DataError(left)
    parts = [row[start : start + 4] for start in range(1, len(row), 4)]
    return {
        name: _Column(row[0], present, finite, mean or 0.0, variance or 0.0)
        for name, (present, finite, mean, variance) in zip(asked, parts, strict=True)
    }


def _aggregate(plan: LogicalPlan, names: Sequence[str], asked: Sequence[str], na: str) -> LogicalPlan:
    """Query of count(*), and of each column in `asked` its count, the count, mean and variance of its finite values."""
    columns = {name: column_named(plan, name, "StandardScaler") for name in names}
    if na == "drop":
        plan = Filter(plan, reduce(_and, [_is_number(Cast(column, DOUBLE)) for column in columns.values()]))
    calls: list[AggregateCall] = [AggregateCall("count", (), BIGINT)]
    for name in asked:
        number = _number(columns[name])
        finite = _where(
            _and(_compared("gt", number, Literal(-math.inf, DOUBLE)), _compared("lt", number, _INFINITY)), number
        )
        calls += [
            AggregateCall("count", (number,), BIGINT),
            AggregateCall("count", (finite,), BIGINT),
            AggregateCall("avg", (finite,), DOUBLE),
            AggregateCall("var_pop", (finite,), DOUBLE),
        ]
    ids = FreshIds(plan)
    return Aggregate(plan, (), tuple(_numbered(ids, place, call) for place, call in enumerate(calls)))


def _numbered(ids: FreshIds, place: int, call: AggregateCall) -> Alias:
    return ids.alias(call, f"m{place}")


def _number(column: ColumnRef) -> Expr:
    """Column as DOUBLE, with NULL for NaN."""
    number = Cast(column, DOUBLE) if column.dtype != DOUBLE else column
    return _where(_is_number(number), number)


def _is_number(value: Expr) -> Expr:
    """Return a test for a number: in the order of values NaN is greater than infinity."""
    return _compared("le", value, _INFINITY)


def _compared(function: str, left: Expr, right: Expr) -> Expr:
    return Call(function, (left, right), BOOLEAN)


def _and(left: Expr, right: Expr) -> Expr:
    return Call("and", (left, right), BOOLEAN)


def _where(condition: Expr, value: Expr) -> Expr:
    return Call("case_when", (condition, value, Literal(None, DOUBLE)), DOUBLE)
