"""Panes of time windows: the longest intervals of which all windows of a query consist.

State is kept for each pane, so that rows are not repeated for each of their windows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, Literal, string_literal
from sharkpy.plan.logical import Aggregate, Generate, LogicalPlan, Project
from sharkpy.plan.references import column_ids
from sharkpy.plan.session_windows import time_after
from sharkpy.sql.incremental.row_numbers import is_numbering
from sharkpy.udf.time_window_functions import TIME_OF_ROW, WINDOW, WINDOW_TYPE, WINDOWS_OF
from sharkpy.values.types import BIGINT, TIMESTAMP


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
