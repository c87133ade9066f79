"""Rows with the watermarks that they came behind: they tell what a row could still match from what it could not. Where
streams have several, a row matches others than one that comes behind the same ones, but later: epochs are told apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import Join, JoinKind, LogicalPlan, Producer, Project
from sharkpy.plan.node import listed
from sharkpy.sql.incremental.state import Kept, NewColumn
from sharkpy.values.types import BIGINT, TIMESTAMP


@dataclass(frozen=True, slots=True)
class ArrivalMarks(Producer):
    """A row with watermarks, and numbers of rows, as they are before an epoch, of parts of the state; `with_marks` puts
    them in its place.
    """

    columns: tuple[ColumnRef, ...]
    places: tuple[int, ...]

    @property
    def label(self) -> str:
        return f"ArrivalMarks {listed(self.columns)}"


def arrived(rows: LogicalPlan, watermarks: tuple[int, ...], num_rows: int | None, new_column: NewColumn) -> LogicalPlan:
    """Rows of an epoch, with the watermarks that they come behind as their last columns, and with the number of rows of
    their stream that have come before, where a part of the state has it.
    """
    columns, places = tuple(new_column("watermark", TIMESTAMP) for _ in watermarks), watermarks
    if num_rows is not None:
        columns, places = (*columns, new_column("earlier", BIGINT)), (*places, num_rows)
    return Join(rows, ArrivalMarks(columns, places), JoinKind.CROSS)


def with_marks(plan: LogicalPlan, kept: Kept) -> LogicalPlan:
    """The plan of an epoch with the watermarks that are kept."""

    def replaced(node: LogicalPlan) -> LogicalPlan:
        if not isinstance(node, ArrivalMarks):
            return node
        first, *others = map(kept, node.places)
        marks = [first.output[0], *(one.output[0] for one in others)]
        for one in others:
            first = Join(first, one, JoinKind.CROSS)
        return Project(first, tuple(column.holding(mark) for column, mark in zip(node.columns, marks, strict=True)))

    return plan.transform_up(replaced)
