"""Rows with the watermarks at their arrival, which decide the rows that they could still match.

If there are several watermarks, rows that arrived in different epochs may have different matches even under the same
watermarks. The number of earlier rows then distinguishes the epochs.
"""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import Join, JoinKind, LogicalPlan, Producer, Project
from sharkpy.plan.node import bracketed
from sharkpy.sql.incremental.state import Kept, NewColumn
from sharkpy.values.types import BIGINT, TIMESTAMP


@dataclass(frozen=True, slots=True)
class ArrivalMarks(Producer):
    """Placeholder for a row with watermarks and row counts of parts of the state, as of before an epoch.

    `with_marks` replaces it.
    """

    columns: tuple[ColumnRef, ...]
    places: tuple[int, ...]

    @property
    def label(self) -> str:
        return f"ArrivalMarks {bracketed(self.columns)}"


def arrived(rows: LogicalPlan, watermarks: tuple[int, ...], num_rows: int | None, new_column: NewColumn) -> LogicalPlan:
    """Append the watermarks at arrival to the rows of an epoch, and optionally the number of earlier rows of their
    stream.

    `watermarks` and `num_rows` are the places of parts of the state.
    """
    columns, places = tuple(new_column("watermark", TIMESTAMP) for _ in watermarks), watermarks
    if num_rows is not None:
        columns, places = (*columns, new_column("earlier", BIGINT)), (*places, num_rows)
    return Join(rows, ArrivalMarks(columns, places), JoinKind.CROSS)


def with_marks(plan: LogicalPlan, kept: Kept) -> LogicalPlan:
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
