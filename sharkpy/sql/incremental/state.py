"""Parts of a query over streams that keep something from one epoch to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from sharkpy.catalog.continuous_query import EmitMode
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import LogicalPlan, Project
from sharkpy.values.types import DataType, Field, Schema

NewColumn = Callable[[str, DataType], ColumnRef]


@dataclass(frozen=True, slots=True)
class Kept:
    """State, as it was before an epoch where an epoch reads it; its parts by their places."""

    read: Callable[[int], LogicalPlan]
    """Rows of the operator in whose place a part is."""
    rows: Callable[[int], LogicalPlan]
    """Rows of a part itself."""
    is_first: bool = False
    """True where rows are folded before which there are none, so that each is there with all that was said of it."""

    def __call__(self, place: int) -> LogicalPlan:
        return self.read(place)


@dataclass(frozen=True, slots=True)
class EpochState:
    """State as an epoch finds it, and as it leaves it: what the epoch gives to others is told by both. `emit` is
    APPEND, for rows that do not change any more, or UPDATE, for those of groups that have come or changed.
    """

    emit: EmitMode
    before: Kept
    after: Kept
    added: Callable[[int], LogicalPlan]
    """Rows that the epoch adds to a part, or to none: those of a part that is given and not kept."""


class StatePart(Protocol):
    """State in place of an operator over streams: rows that epochs add to, and that are folded to fewer.

    The rows of several epochs together, and what they are folded to, mean the same to `read`.
    """

    @property
    def schema(self) -> Schema:
        """Columns of the state, with names that are unique in it."""

    def delta(self, kept: Kept, /) -> LogicalPlan:
        """Rows that an epoch adds, computed from its rows of the streams; the columns are those of `schema`."""

    def read(self, rows: LogicalPlan, kept: Kept, /) -> LogicalPlan:
        """The operator's rows, under its own column ids, from rows of the state."""

    def fold(self, rows: LogicalPlan, kept: Kept, /) -> LogicalPlan:
        """Fewer rows of the state that mean the same as `rows`; `kept` gives what is read of the folded rows alone."""

    @property
    def label(self) -> str:
        """What is kept, in words."""

    @property
    def growth(self) -> str | None:
        """What lets the state grow with the streams, in words; None where something bounds it."""


class GivingPart(Protocol):
    """Part in whose place a sink or an insert is given rows."""

    def given(self, place: int, epoch: EpochState, /) -> LogicalPlan:
        """The operator's rows that an epoch gives, under its own column ids; the part is at a `place` of the state."""


@dataclass(slots=True)
class Names:
    """Names of the columns of a state, each given once."""

    taken: set[str]

    def take(self, wanted: str) -> str:
        name, number = wanted, 0
        while name in self.taken:
            number += 1
            name = f"{wanted}_{number}"
        self.taken.add(name)
        return name


def schema_of(columns: Sequence[ColumnRef]) -> Schema:
    """Columns of a state of rows with some columns."""
    names = Names(set())
    return Schema(tuple(Field(names.take(column.name), column.dtype) for column in columns))


def as_state(rows: LogicalPlan, columns: Sequence[ColumnRef], schema: Schema, new_column: NewColumn) -> LogicalPlan:
    """Some columns of rows as those of a state, under ids of their own."""
    made = [new_column(field.name, field.dtype) for field in schema]
    pairs = zip(columns, made, strict=True)
    return Project(rows, tuple(one.holding(column) for column, one in pairs))


def under(columns: Sequence[ColumnRef], rows: LogicalPlan) -> LogicalPlan:
    """Rows with their columns under the ids and names of `columns`."""
    pairs = zip(columns, rows.output, strict=True)
    return Project(rows, tuple(column.holding(given) for column, given in pairs))
