"""Parts of a query over streams that keep state from one epoch to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from sharkpy.base.records import dataclass
from sharkpy.catalog.continuous_query import EmitMode
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import LogicalPlan, Project
from sharkpy.values.types import DataType, Field, Schema

NewColumn = Callable[[str, DataType], ColumnRef]


@dataclass(frozen=True, slots=True)
class StoredState:
    """The state, read by the places of its parts. An epoch reads it as it was before the epoch."""

    read: Callable[[int], LogicalPlan]
    """Rows of the operator that a part replaces."""
    rows: Callable[[int], LogicalPlan]
    """Rows of a part itself."""
    is_first: bool = False
    """True if the folded rows are the first rows of the state, so that no earlier row adds to what they say."""

    def __call__(self, place: int) -> LogicalPlan:
        return self.read(place)


@dataclass(frozen=True, slots=True)
class EpochState:
    """State before and after an epoch, from which the rows that the epoch emits are computed.

    `emit` is APPEND for final rows, or UPDATE for rows of new and changed groups.
    """

    emit: EmitMode
    before: StoredState
    after: StoredState
    added: Callable[[int], LogicalPlan]
    """Rows that the epoch computes for a part, also if the part is emitted and not stored."""


class StatePart(Protocol):
    """State that replaces an operator over streams. Epochs add rows to it, and folds reduce the rows.

    `read` returns the same rows from the rows of several epochs as from the rows they are folded to.
    """

    @property
    def schema(self) -> Schema:
        """Columns of the state, with names that are unique in it."""

    def delta(self, kept: StoredState, /) -> LogicalPlan:
        """Rows that an epoch adds, computed from its input, with the columns of `schema`."""

    def read(self, rows: LogicalPlan, kept: StoredState, /) -> LogicalPlan:
        """The operator's rows, under its own column ids, computed from rows of the state."""

    def fold(self, rows: LogicalPlan, kept: StoredState, /) -> LogicalPlan:
        """Fewer rows of the state that are equivalent to `rows`. `kept` reads only the folded rows."""

    @property
    def label(self) -> str:
        """Text that describes the state."""

    @property
    def growth(self) -> str | None:
        """Text that says why the state grows with the streams; None if it is bounded."""


class EmittingPart(Protocol):
    """Part that emits rows to a sink or an insert."""

    def emitted(self, place: int, epoch: EpochState, /) -> LogicalPlan:
        """The operator's rows that an epoch emits, under its own column ids. `place` is the place of this part."""


@dataclass(slots=True)
class Names:
    """Unique names for the columns of a state."""

    taken: set[str]

    def take(self, wanted: str) -> str:
        name, number = wanted, 0
        while name in self.taken:
            number += 1
            name = f"{wanted}_{number}"
        self.taken.add(name)
        return name


def schema_of(columns: Sequence[ColumnRef]) -> Schema:
    """Columns of a state that stores rows with these columns."""
    names = Names(set())
    return Schema(tuple(Field(names.take(column.name), column.dtype) for column in columns))


def to_state_columns(
    rows: LogicalPlan, columns: Sequence[ColumnRef], schema: Schema, new_column: NewColumn
) -> LogicalPlan:
    """Project columns of rows to the columns of a state, with new ids."""
    made = [new_column(field.name, field.dtype) for field in schema]
    pairs = zip(columns, made, strict=True)
    return Project(rows, tuple(one.holding(column) for column, one in pairs))


def with_ids_of(columns: Sequence[ColumnRef], rows: LogicalPlan) -> LogicalPlan:
    """Rows with the ids and names of `columns`."""
    pairs = zip(columns, rows.output, strict=True)
    return Project(rows, tuple(column.holding(given) for column, given in pairs))
