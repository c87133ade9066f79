"""Joins of streams: the rows that an epoch adds, computed from its own rows and the stored rows of both sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sharkpy.plan.logical import Join, LogicalPlan, Union
from sharkpy.plan.references import free_column_ids, renumbered
from sharkpy.plan.subqueries import SUBQUERIES
from sharkpy.sql.incremental.row_wise import (
    Streams,
    expressions_of,
    has_subqueries,
    is_stream_join,
    refused,
    varying_function,
)
from sharkpy.sql.incremental.state import NewColumn
from sharkpy.values.types import BOOLEAN

OF_JOINS = "the rows of both sides of a join of streams are kept"
"""Reason why the state of a join grows with the streams."""


@dataclass(frozen=True, slots=True)
class StreamJoin:
    """Inner join of streams. The rows of its sides are stored in the parts `left` and `right` of the state."""

    node: Join
    left: int
    right: int

    def added(self, join: LogicalPlan, kept: Callable[[int], LogicalPlan], new_column: NewColumn) -> LogicalPlan:
        """Rows that an epoch adds. `join` joins the epoch's own rows, `kept` reads the rows of earlier epochs."""
        left, right = join.children
        pairs = (left, right), (left, kept(self.right)), (kept(self.left), right)
        return Union(tuple(apart(join.with_children(*pair), new_column) for pair in pairs), join.output)


def stream_joins(rows: LogicalPlan, streams: Streams) -> list[Join]:
    """Joins of streams in a row-wise plan. Raise UnsupportedError if their sides cannot be computed twice."""
    found = [node for node in rows.walk() if is_stream_join(node, streams)]
    for side in (side for join in found for side in join.children):
        # A side is computed for the join and again for the state: both have to be equal.
        if (name := varying_function(expressions_of(side))) is not None:
            raise refused(f"{name} below a join of two streams", "compute it above the join")
    if any(map(has_subqueries, found)):
        raise refused("a subquery in a side of a join of two streams")
    # The plan of a correlated subquery would need the new ids of the columns.
    if found and any(isinstance(part, SUBQUERIES) and free_column_ids(part.plan) for part in expressions_of(rows)):
        raise refused("a correlated subquery together with a join of two streams")
    return found


def apart(plan: LogicalPlan, new_column: NewColumn) -> LogicalPlan:
    """Copy of the plan with new column ids."""
    known: dict[int, int] = {}

    def new_id(column_id: int) -> int:
        if column_id not in known:
            known[column_id] = new_column("", BOOLEAN).column_id
        return known[column_id]

    return renumbered(plan, new_id)
