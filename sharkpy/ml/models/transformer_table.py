"""Table as input of a transformer: its statistics, the moments of its columns, and the replacement of columns.

Statistics of blocks are used if they describe all rows. Otherwise the engine computes counts, means and squares by one
query.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from sharkpy.base import settings
from sharkpy.base.errors import AmbiguousColumnError, BindError, ColumnNotFoundError, DataError, did_you_mean
from sharkpy.base.records import dataclass
from sharkpy.columnar.encodings.matrix import NotFinite
from sharkpy.columnar.statistics_table import ColumnTable, StatisticsTable
from sharkpy.columnar.version import TableVersion
from sharkpy.execution.engine_session import newest_session
from sharkpy.ml.features.feature_plan import feature_plan
from sharkpy.ml.models.kernels.column_moments import ColumnMoments
from sharkpy.ml.models.predictor import is_table
from sharkpy.physical.plan_context import FreshIds
from sharkpy.physical.statistics_answers import scan_below
from sharkpy.plan.expr import AggregateCall, Alias, Call, Cast, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Aggregate, Filter, LogicalPlan, Project
from sharkpy.values.types import BIGINT, BOOLEAN, DOUBLE

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.ml.rdd.table_rdd import TableRDD


def input_table(data: object, session: EngineSession | None) -> TableRDD | None:
    """Return the TableRDD of `data`, a TableRDD or a table's name, or None for any other data."""
    if is_table(data):
        return data
    if not isinstance(data, str):
        return None
    from sharkpy.ml.rdd.table_rdd import TableRDD

    quoted = ".".join(f"`{part.strip('`')}`" for part in data.strip().split("."))
    return TableRDD.of_text(session or newest_session(), f"SELECT * FROM {quoted}")


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """Statistics of exactly the rows of a query, and the stored column of each of its columns by name."""

    statistics: StatisticsTable
    stored: dict[str, str]

    @classmethod
    def of(cls, table: TableRDD) -> ColumnStatistics | None:
        """Return the statistics of a query, or None if it is more than columns of one table in memory, or statistics
        are off.
        """
        found = scan_below(table.plan)
        if found is None or not table.session.conf.value(settings.STATISTICS_ANSWERS):
            return None
        scan, names = found
        if scan.predicate is not None or scan.sample is not None or scan.is_of_files:
            return None
        version = table._query.snapshot.scan_source(scan.table)
        if not isinstance(version, TableVersion):
            return None
        stored = {column.name: names[column.column_id] for column in table.plan.output if column.column_id in names}
        return cls(version.statistics, stored)

    def column(self, name: str) -> ColumnTable | None:
        """Return the stored column of a column of the query, or None if that is computed."""
        stored = self.stored.get(name)
        return None if stored is None else self.statistics.columns[stored]

    def num_missing(self, name: str) -> int | None:
        """Return the number of NULLs of a column, or None if there may be NaN too."""
        column = self.column(name)
        return None if column is None or column.has_nan.any() else int(column.null_counts.sum())

    def constant(self, name: str) -> object | None:
        """Return the single value that a column has apart from NULL, or None if there are several values, or this is
        unknown.
        """
        stored = self.stored.get(name)
        if stored is None:
            return None
        low, high = self.statistics.minimum(stored), self.statistics.maximum(stored)
        return low.value if low is not None and high is not None and low.value == high.value else None


Named = tuple[str, Expr]
Replacement = Callable[[ColumnRef], Sequence[Named]]
"""Makes the named columns that replace a column."""


def replace_columns(plan: LogicalPlan, replacements: Mapping[str, Replacement], owner: str) -> Project:
    """Replace columns of a plan; the other columns keep their positions. If a column is missing, or a new column has
    the name of another, raise an error that names `owner`.
    """
    by_id = {column_named(plan, name, owner).column_id: change for name, change in replacements.items()}
    ids = FreshIds(plan)
    items: list[Alias | ColumnRef] = []
    for column in plan.output:
        if column.column_id in by_id:
            items.extend(ids.alias(expr, name) for name, expr in by_id[column.column_id](column))
        else:
            items.append(column)
    seen: set[str] = set()
    for item in items:
        if item.name.lower() in seen:
            raise BindError(f'two columns are called "{item.name}" after {owner}', hint="rename one in a query")
        seen.add(item.name.lower())
    return Project(plan, tuple(items))


def column_named(plan: LogicalPlan, name: str, owner: str) -> ColumnRef:
    found = [column for column in plan.output if column.name.lower() == name.lower()]
    if not found:
        hint = did_you_mean(name, [column.name for column in plan.output])
        raise ColumnNotFoundError(f'the table has no column "{name}", which {owner} was fitted with', hint=hint)
    if len(found) > 1:
        raise AmbiguousColumnError(f'the table has several columns "{name}", which {owner} was fitted with')
    return found[0]


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
    known = ColumnStatistics.of(table)
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
