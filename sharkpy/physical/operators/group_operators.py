"""Operators over groups of rows: aggregates and window functions."""

from __future__ import annotations

from enum import Enum

from sharkpy.base.records import dataclass
from sharkpy.physical.plan import Distribution, PhysicalPlan, retained
from sharkpy.plan.expr import Alias, ColumnRef, Expr
from sharkpy.plan.node import bracketed


class AggregateMode(Enum):
    COMPLETE = "complete"
    """Rows in, results out; all rows of a group are in one task."""
    PARTIAL = "partial"
    """Rows in, states out."""
    MERGE = "merge"
    """States in, merged states out. DISTINCT aggregates, which have no states yet, take rows like a partial."""
    FINAL = "final"
    """States in, which are together by group; finished results out."""


@dataclass(frozen=True, slots=True)
class HashAggregate(PhysicalPlan):
    """Groups and aggregates; `states[i]` are the state columns of `aggregates[i]`.

    They are a partial's output, a merge's input and output, and a final's input; otherwise empty. States of DISTINCT
    aggregates are made only after rows with equal group and arguments are in one task. Without groups, each task makes
    exactly one row, even from no rows.
    """

    child: PhysicalPlan
    groups: tuple[Alias | ColumnRef, ...]
    aggregates: tuple[Alias, ...]
    mode: AggregateMode
    states: tuple[tuple[ColumnRef, ...], ...] = ()

    @property
    def group_columns(self) -> tuple[ColumnRef, ...]:
        return tuple(item.ref if isinstance(item, Alias) else item for item in self.groups)

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        if self.mode in (AggregateMode.PARTIAL, AggregateMode.MERGE):
            return self.group_columns + tuple(column for state in self.states for column in state)
        return self.group_columns + tuple(item.ref for item in self.aggregates)

    @property
    def distribution(self) -> Distribution:
        return retained(self.child.distribution, self.group_columns)

    @property
    def label(self) -> str:
        by = f" by {bracketed(self.groups)}" if self.groups else ""
        return f"HashAggregate {self.mode.value}{by} computing {bracketed(self.aggregates)}"


@dataclass(frozen=True, slots=True)
class GroupingSets(PhysicalPlan):
    """Groups of several sets of columns, made of the child: the groups by all of these columns, with their `states`.

    `projections[i][j]` is output column j in set i: a group column of the child, or a constant. A task makes one row of
    a set without columns, even from no rows: `empty` has the states then, unless they are NULL. The modes are MERGE and
    FINAL.
    """

    child: PhysicalPlan
    columns: tuple[ColumnRef, ...]
    projections: tuple[tuple[Expr, ...], ...]
    aggregates: tuple[Alias, ...]
    mode: AggregateMode
    states: tuple[tuple[ColumnRef, ...], ...]
    empty: tuple[HashAggregate, ...] = ()

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        if self.mode is AggregateMode.MERGE:
            return self.columns + tuple(column for state in self.states for column in state)
        return self.columns + tuple(item.ref for item in self.aggregates)

    @property
    def distribution(self) -> Distribution:
        return retained(self.child.distribution, ())

    @property
    def label(self) -> str:
        sets = f"{len(self.projections)} sets of {bracketed(self.columns)}"
        return f"GroupingSets {self.mode.value} by {sets} computing {bracketed(self.aggregates)}"


@dataclass(frozen=True, slots=True)
class WindowOperator(PhysicalPlan):
    """Child's columns and one per window. All rows of a window partition are in one task."""

    child: PhysicalPlan
    windows: tuple[Alias, ...]

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.child.output + tuple(item.ref for item in self.windows)

    @property
    def distribution(self) -> Distribution:
        return self.child.distribution

    @property
    def label(self) -> str:
        return f"Window {bracketed(self.windows)}"
