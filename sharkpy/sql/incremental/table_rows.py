"""UNION ALL of rows of streams and of tables.

Epochs add only the rows of streams to the state. A reader computes the rows of tables again, from their current
versions. So the result is always the one of the query over both, even if tables change.
"""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.plan.logical import LogicalPlan, Union
from sharkpy.sql.incremental.row_wise import Streams
from sharkpy.sql.incremental.state import Kept, NewColumn, StatePart, under
from sharkpy.values.types import Schema


@dataclass(frozen=True, slots=True)
class BesideTables:
    """State of an operator over rows of streams and of tables. The rows of tables are not in the state."""

    kept: StatePart
    """State of the rows of streams."""
    tables: StatePart
    """State of the rows of tables."""
    new_column: NewColumn

    @property
    def schema(self) -> Schema:
        return self.kept.schema

    def delta(self, kept: Kept) -> LogicalPlan:
        return self.kept.delta(kept)

    def read(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        both = tuple(self.new_column(column.name, column.dtype) for column in rows.output)
        return self.kept.read(Union((rows, self.tables.delta(kept)), both), kept)

    def fold(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        return self.kept.fold(rows, kept)

    @property
    def label(self) -> str:
        return f"{self.kept.label}, of the streams; who reads the table adds the rows of tables as they are then"

    @property
    def growth(self) -> str | None:
        return self.kept.growth


def apart_from_tables(rows: LogicalPlan, streams: Streams) -> tuple[LogicalPlan, LogicalPlan | None]:
    """Split row-wise rows into rows from streams, and rows that come only from tables, or None.

    Both have the columns of `rows`.
    """
    of_streams = _of_streams(rows, streams)
    return of_streams, None if of_streams is rows else _of_tables(rows, streams)


def _of_streams(plan: LogicalPlan, streams: Streams) -> LogicalPlan:
    if not streams.below(plan):
        return plan
    if not isinstance(plan, Union) or all(map(streams.below, plan.inputs)):
        return plan.map_children(lambda child: _of_streams(child, streams))
    return _united(plan, [_of_streams(one, streams) for one in plan.inputs if streams.below(one)])


def _of_tables(plan: LogicalPlan, streams: Streams) -> LogicalPlan | None:
    if not streams.below(plan):
        return plan
    if isinstance(plan, Union):
        found = [rows for one in plan.inputs if (rows := _of_tables(one, streams)) is not None]
        return _united(plan, found) if found else None
    # A row-wise node can be applied to parts of its input. Empty input has empty output.
    children = [_of_tables(child, streams) for child in plan.children]
    known = [child for child in children if child is not None]
    return plan.with_children(*known) if known and len(known) == len(children) else None


def _united(union: Union, inputs: list[LogicalPlan]) -> LogicalPlan:
    return under(union.columns, inputs[0]) if len(inputs) == 1 else Union(tuple(inputs), union.columns)
