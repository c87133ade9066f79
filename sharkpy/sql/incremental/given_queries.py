"""Queries of a continuous insert or sink with state: its epochs give others the rows that have come, or changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sharkpy.catalog.continuous_query import EmitMode
from sharkpy.plan.logical import LogicalPlan, Union
from sharkpy.sql.incremental.aggregate_state import AggregateState
from sharkpy.sql.incremental.divided_query import DividedQuery, replaced
from sharkpy.sql.incremental.kept_rows import KeptRows
from sharkpy.sql.incremental.outer_join import OuterJoinState, SemiJoinState
from sharkpy.sql.incremental.resumed_state import ResumedState
from sharkpy.sql.incremental.session_state import SessionState
from sharkpy.sql.incremental.state import EpochState, Kept
from sharkpy.sql.incremental.window_state import PassedRows

_GIVING_PARTS = (AggregateState, SessionState, ResumedState, KeptRows, PassedRows, SemiJoinState, OuterJoinState)


@dataclass(frozen=True, slots=True)
class GivenQueries:
    """Queries with the state that they have together.

    1. An epoch computes the rows of `state.delta`, of which it adds `state.kept_of` to the state.
    2. `given` gives the rows of each query that others get with that epoch.
    """

    state: DividedQuery
    queries: tuple[LogicalPlan, ...]
    emit: EmitMode

    def given(self, scan: Callable[[], LogicalPlan], added: Callable[[], LogicalPlan]) -> list[LogicalPlan]:
        """Rows that an epoch gives, of each query. `scan` gives a new scan of the state before the epoch, and `added`
        one of what the epoch computes, with the columns of `state.added_schema`.
        """
        parts, new_column, columns = self.state.parts, self.state.new_column, self.state.columns
        before = self.state.kept(scan)

        def added_to(place: int) -> LogicalPlan:
            return columns.rows_of(place, added())

        def rows(place: int) -> LogicalPlan:
            known = before.rows(place)
            both = tuple(new_column(column.name, column.dtype) for column in known.output)
            return Union((known, added_to(place)), both)

        def read(place: int) -> LogicalPlan:
            return parts[place][1].read(rows(place), after)

        after = Kept(read, rows)
        epoch = EpochState(self.emit, before, after, added_to)

        def given(place: int) -> LogicalPlan:
            part = parts[place][1]
            assert isinstance(part, _GIVING_PARTS)  # others are in no operator's place
            return part.given(place, epoch)

        return [replaced(query, self.state.places, given) for query in self.queries]
