"""Groups of the rows of a state, repeated for their windows, without late rows, and compared with other groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, conjunction
from sharkpy.plan.logical import Filter, Generate, Join, JoinKind, LogicalPlan, Project
from sharkpy.sql.incremental.closed_spans import came_in_time, end_of
from sharkpy.sql.incremental.panes import Panes
from sharkpy.sql.incremental.state import NewColumn
from sharkpy.values.types import BOOLEAN

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
        return Filter(rows, came_in_time(values[self.panes.place], columns[len(values)]))

    def _keys(self, values: Sequence[Expr]) -> Sequence[Expr]:
        """Values of groups, with the end of a window in place of the window."""
        place = None if self.panes is None else self.panes.place
        return [end_of(value) if number == place else value for number, value in enumerate(values)]
