"""Rows of one side of a stream join, kept as long as later rows of the other side may match them.

The condition of the join bounds the time between two matching rows. The watermarks at a row's arrival decide which rows
it could still match. If there are several watermarks, rows that arrived in different epochs may have different matches
even under the same watermarks. The number of earlier rows then distinguishes the epochs.
"""

from __future__ import annotations

from collections.abc import Iterator

from sharkpy.base.records import dataclass
from sharkpy.optimizer.function_traits import MIRRORED
from sharkpy.plan.expr import Call, ColumnRef, Expr, Literal, conjuncts, disjunction
from sharkpy.plan.logical import Filter, Join, JoinKind, LogicalPlan, Producer, Project
from sharkpy.plan.node import bracketed
from sharkpy.plan.session_windows import time_after
from sharkpy.sql.incremental.row_state import RowState
from sharkpy.sql.incremental.state import NewColumn, StoredState
from sharkpy.sql.incremental.watermarks import has_watermark
from sharkpy.values.types import BIGINT, BOOLEAN, INTERVAL_DAY_TIME, TIMESTAMP, Schema


@dataclass(frozen=True, slots=True)
class ExpiringRows:
    """State of the rows of one side of a join.

    Rows of the other side match rows whose time is at most `reach` microseconds before theirs. So a stored row expires
    when the other side's watermark, as of before the epoch, is more than `reach` past its time. It is then not joined
    any more, whether a fold has removed it or not. A new row may match stored rows if the other side is ahead. So it
    expires only when its own side's watermark is that far ahead, too.
    """

    rows: RowState
    time: int
    """Place of the time among the columns."""
    reach: int
    other: int
    """Place of the part with the watermark of the other side."""
    own: int | None
    """Place of the part with the watermark of this side; None if all new rows are joined."""

    @property
    def schema(self) -> Schema:
        return self.rows.schema

    def delta(self, kept: StoredState) -> LogicalPlan:
        return self.rows.delta(kept)

    def read(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        return self.rows.read(self.live(rows, kept), kept)

    def fold(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        """Fold the rows that have not expired.

        `kept` has the watermark of the folded rows, which is at most the watermark of all rows.
        """
        return self.rows.fold(self.live(rows, kept), kept)

    @property
    def label(self) -> str:
        return "rows of a side of a join, while the watermark of the other one says that some may match them"

    @property
    def growth(self) -> str | None:
        return None

    def live(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        """Rows of the state that rows in time may still match."""
        return rows_in_reach(rows, self.time, self.reach, kept(self.other))

    def live_new(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        """Rows of an epoch that rows in time, stored or new, may match."""
        if self.own is None:
            return rows
        return rows_in_reach(rows, self.time, self.reach, *map(kept, dict.fromkeys((self.other, self.own))))


def rows_in_reach(rows: LogicalPlan, time: int, reach: int, *watermarks: LogicalPlan) -> LogicalPlan:
    """Rows whose time is at most `reach` microseconds before one of the watermarks.

    `time` is the place of the column. A watermark that is NULL keeps all rows.
    """
    columns, until = rows.output, time_after(rows.output[time], reach)
    terms = list[Expr]()
    for watermark in watermarks:
        mark = watermark.output[0]
        rows = Join(rows, watermark, JoinKind.CROSS)
        terms += (Call("is_null", (mark,), BOOLEAN), Call("ge", (until, mark), BOOLEAN))
    is_live = disjunction(terms)
    assert is_live is not None  # there is a watermark
    return Project(Filter(rows, is_live), columns)


@dataclass(frozen=True, slots=True)
class ArrivalMarks(Producer):
    """Placeholder for a row with watermarks and row counts of parts of the state, as of before an epoch.

    `replace_arrival_marks` replaces it.
    """

    columns: tuple[ColumnRef, ...]
    places: tuple[int, ...]

    @property
    def label(self) -> str:
        return f"ArrivalMarks {bracketed(self.columns)}"


def with_arrival_marks(
    rows: LogicalPlan, watermarks: tuple[int, ...], num_rows: int | None, new_column: NewColumn
) -> LogicalPlan:
    """Append the watermarks at arrival to the rows of an epoch, and optionally the number of earlier rows of their
    stream.

    `watermarks` and `num_rows` are the places of parts of the state.
    """
    columns, places = tuple(new_column("watermark", TIMESTAMP) for _ in watermarks), watermarks
    if num_rows is not None:
        columns, places = (*columns, new_column("earlier", BIGINT)), (*places, num_rows)
    return Join(rows, ArrivalMarks(columns, places), JoinKind.CROSS)


def replace_arrival_marks(plan: LogicalPlan, kept: StoredState) -> LogicalPlan:
    """Replace each ArrivalMarks in the plan of an epoch by the stored watermarks and row counts."""

    def replaced(node: LogicalPlan) -> LogicalPlan:
        if not isinstance(node, ArrivalMarks):
            return node
        first, *others = map(kept, node.places)
        marks = [first.output[0], *(one.output[0] for one in others)]
        for one in others:
            first = Join(first, one, JoinKind.CROSS)
        return Project(first, tuple(column.holding(mark) for column, mark in zip(node.columns, marks, strict=True)))

    return plan.transform_up(replaced)


def time_bounds(join: Join) -> tuple[int | None, int | None]:
    """Least and most microseconds by which the right row of a match is later than the left one.

    The times are the columns with watermarks. A bound is None if the condition does not set it.
    """
    least, most = list[int](), list[int]()
    for term in conjuncts(join.condition):
        for function, one, other in _comparisons(term):
            if (bound := _bound(function, one, other, join)) is not None:
                turned, gap = bound
                least += [gap] if turned in ("ge", "gt", "eq") else []
                most += [gap] if turned in ("le", "lt", "eq") else []
    return max(least, default=None), min(most, default=None)


def _comparisons(term: Expr) -> Iterator[tuple[str, Expr, Expr]]:
    match term:
        case Call("between", (value, low, high)):
            yield "ge", value, low
            yield "le", value, high
        case Call(function, (one, other)) if function in MIRRORED:
            yield function, one, other


def _bound(function: str, one: Expr, other: Expr, join: Join) -> tuple[str, int] | None:
    """Comparison of the right time minus the left time with a number of microseconds; None for other terms."""
    moved, other_moved = _moved(one), _moved(other)
    if moved is None or other_moved is None:
        return None
    (first, first_gap), (second, second_gap) = moved, other_moved
    if has_watermark(first, join.right) and has_watermark(second, join.left):
        return function, second_gap - first_gap
    if has_watermark(first, join.left) and has_watermark(second, join.right):
        return MIRRORED[function], first_gap - second_gap
    return None


def _moved(expr: Expr) -> tuple[ColumnRef, int] | None:
    """A column, and the number of microseconds added to it; None for other expressions."""
    match expr:
        case ColumnRef():
            return expr, 0
        case Call("add", (ColumnRef() as column, Literal(int() as gap, dtype))) if dtype == INTERVAL_DAY_TIME:
            return column, gap
        case Call("subtract", (ColumnRef() as column, Literal(int() as gap, dtype))) if dtype == INTERVAL_DAY_TIME:
            return column, -gap
    return None
