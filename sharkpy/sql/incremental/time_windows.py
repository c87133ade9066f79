"""Groups by time windows: panes, closed windows, and groups as columns of a state.

Panes are the longest intervals of which all windows of a query consist. State is kept for each pane, so that rows are
not repeated for each of their windows. A closed window is a row of a stream FROM a table of windows: each row of the
stream's files is a span, the watermark before and after a move.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from sharkpy.base.records import dataclass
from sharkpy.catalog.stream_kinds import SPANS
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, Literal, conjunction, string_literal
from sharkpy.plan.logical import Aggregate, Filter, Generate, Join, JoinKind, LogicalPlan, Project, Scan
from sharkpy.plan.references import column_ids
from sharkpy.plan.session_windows import time_after
from sharkpy.sql.incremental.row_numbers import is_numbering
from sharkpy.sql.incremental.state import NewColumn
from sharkpy.udf.time_window_functions import TIME_OF_ROW, WINDOW, WINDOW_TYPE, WINDOWS_OF
from sharkpy.values.types import BIGINT, BOOLEAN, TIMESTAMP


@dataclass(frozen=True, slots=True)
class Panes:
    """Panes of the windows by which an Aggregate groups, at `place` among its groups."""

    place: int
    windows: Call
    """Call of `window`, or of `windows_of` if windows overlap."""
    child: LogicalPlan
    """Input rows, not repeated for their windows."""
    column: ColumnRef | None = None
    """Column of overlapping windows."""

    @property
    def time(self) -> Expr:
        return self.windows.args[0]

    @property
    def begin(self) -> Expr:
        """Beginning of a row's pane."""
        return self._bound("start", self._length)

    @property
    def end(self) -> Expr:
        """End of a row's pane, at or before the end of the first of its windows."""
        return self._bound("end", self._length)

    @property
    def last_end(self) -> Expr:
        """End of the last of a row's windows."""
        return self.last_end_at(self.time)

    def last_end_at(self, time: Expr) -> Expr:
        """End of the last window of a time. The start of a pane has the same last window as its other times."""
        size, slide = _number(self.windows.args[1]), _number(self.windows.args[-2])
        return time_after(_bound("start", time, slide, self.windows.args[-1]), size)

    @property
    def label(self) -> str:
        """Text with the length of a pane."""
        return f"{self._length} rows" if self.counts_rows else f"{self._length / 1e6:g} s"

    @property
    def counts_rows(self) -> bool:
        """True if the times are row numbers, in order of arrival."""
        nodes = (node for node in self.child.walk() if isinstance(node, Project) and is_numbering(node.child))
        items = (item for node in nodes for item in node.items)
        found = (item.expr for item in items if isinstance(item, Alias) and item.ref == self.time)
        return any(isinstance(expr, Call) and expr.function == TIME_OF_ROW for expr in found)

    @property
    def _length(self) -> int:
        """Length of a pane."""
        return math.gcd(*map(_number, self.windows.args[1:-1]))

    def _bound(self, name: str, length: int) -> Expr:
        """Start or end of the window of this length that a row is in."""
        return _bound(name, self.time, length, self.windows.args[-1])

    def windows_at(self, begin: Expr) -> Call:
        """Windows of the pane that begins at `begin`."""
        return Call(self.windows.function, (begin, *self.windows.args[1:]), self.windows.dtype)


def panes_of(node: Aggregate) -> Panes | None:
    """Panes of the windows that an Aggregate groups by and uses nowhere else; None if it has no such group."""
    for place, group in enumerate(node.groups):
        expr = group.expr if isinstance(group, Alias) else group
        if isinstance(expr, Call) and expr.function == WINDOW:
            return Panes(place, expr, node.child)
        match node.child:
            case Generate(child, Call(function) as windows, (column,), False) if function == WINDOWS_OF:
                others = [*node.groups[:place], *node.groups[place + 1 :], *node.aggregates]
                is_alone = not any(column.column_id in column_ids(other) for other in others)
                if expr == column and is_alone:
                    return Panes(place, windows, child, column)
    return None


def pane_begin(time: Expr, length: int) -> Expr:
    """Beginning of the pane that a time is in, for panes of `length` microseconds."""
    return _bound("start", time, length, Literal(0, BIGINT))


def _bound(name: str, time: Expr, length: int, offset: Expr) -> Expr:
    window = Call(WINDOW, (time, Literal(length, BIGINT), offset), WINDOW_TYPE)
    return Call("field", (window, string_literal(name)), TIMESTAMP)


def _number(length: Expr) -> int:
    assert isinstance(length, Literal)  # as it was bound
    assert isinstance(length.value, int)
    return length.value


def closed_within(rows: LogicalPlan, window: Expr, seen: ColumnRef, spans: LogicalPlan) -> LogicalPlan:
    """Rows of windows that end within one of the spans. `seen`: see `arrived_in_time`."""
    after, until = spans.output
    end = end_of(window)
    is_within = Call("and", (Call("gt", (end, after), BOOLEAN), Call("le", (end, until), BOOLEAN)), BOOLEAN)
    return Filter(Join(rows, spans, JoinKind.CROSS), Call("and", (is_within, arrived_in_time(window, seen)), BOOLEAN))


def emits_closed_windows(node: LogicalPlan) -> bool:
    """Return whether `node` is an Aggregate over rows of `closed_within`.

    All rows of a window then arrive in one epoch, with its span.
    """
    match node:
        case Aggregate(Filter(Join(_, Scan() as spans))):
            return spans.table.is_stream and spans.names == SPANS.names
    return False


def end_of(window: Expr) -> Expr:
    return Call("field", (window, string_literal("end")), TIMESTAMP)


def arrived_in_time(window: Expr, seen: ColumnRef) -> Expr:
    """Condition that a row arrived before its window was closed. `seen`: see `ClosingWatermark`."""
    return Call("or", (Call("is_null", (seen,), BOOLEAN), Call("gt", (end_of(window), seen), BOOLEAN)), BOOLEAN)


Wanted: TypeAlias = Callable[[LogicalPlan, Sequence[Expr], Sequence[ColumnRef]], LogicalPlan]
"""Filter of the rows of a state, which are repeated for each of their windows.

It gets the rows, the values of their groups, and the columns of the state.
"""


@dataclass(frozen=True, slots=True)
class StateGroups:
    """Groups of an Aggregate, as the first columns of its state.

    If `is_closing`, the watermark of late rows follows them.
    """

    groups: Sequence[Alias | ColumnRef]
    panes: Panes | None
    is_closing: bool
    new_column: NewColumn

    def in_windows(self, rows: LogicalPlan, window: ColumnRef | None) -> tuple[LogicalPlan, Sequence[Expr]]:
        """Rows of the state, repeated for each of their windows, and the values of their groups.

        `window` is the column of windows, if windows overlap.
        """
        values: list[Expr] = list(rows.output[: len(self.groups)])
        if self.panes is not None:
            windows = self.panes.windows_at(rows.output[self.panes.place])
            values[self.panes.place] = windows
            if window is not None:
                rows = Generate(rows, windows, (window,), False)
                values[self.panes.place] = window
        return rows, values

    def among(self, others: LogicalPlan, kind: JoinKind) -> Wanted:
        """Filter for rows in time whose groups are among other groups (SEMI), or are not (ANTI)."""
        known, of_others = self._others(others)

        def wanted(rows: LogicalPlan, values: Sequence[Expr], columns: Sequence[ColumnRef]) -> LogicalPlan:
            rows = self._in_time(rows, values, columns)
            terms = [Call("eq_null_safe", pair, BOOLEAN) for pair in zip(self._keys(values), of_others, strict=True)]
            return Join(rows, known, kind, conjunction(terms))

        return wanted

    def _others(self, rows: LogicalPlan) -> tuple[LogicalPlan, Sequence[ColumnRef]]:
        """The groups of other rows in time, and their columns."""
        column = None if self.panes is None else self.panes.column
        own = None if column is None else self.new_column(column.name, column.dtype)
        found, values = self.in_windows(rows, own)
        found, keys = self._in_time(found, values, rows.output), self._keys(values)
        columns = [self.new_column(one.name, key.dtype) for one, key in zip(self.groups, keys, strict=True)]
        items = tuple(column.holding(key) for column, key in zip(columns, keys, strict=True))
        return Project(found, items), columns

    def _in_time(self, rows: LogicalPlan, values: Sequence[Expr], columns: Sequence[ColumnRef]) -> LogicalPlan:
        """The rows without rows that arrived after their window was closed."""
        if self.panes is None or not self.is_closing:
            return rows
        return Filter(rows, arrived_in_time(values[self.panes.place], columns[len(values)]))

    def _keys(self, values: Sequence[Expr]) -> Sequence[Expr]:
        """Values of groups, with the end of a window in place of the window."""
        place = None if self.panes is None else self.panes.place
        return [end_of(value) if number == place else value for number, value in enumerate(values)]
