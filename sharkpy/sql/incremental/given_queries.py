"""Queries of a continuous insert or sink with state. Their epochs emit new or changed rows."""

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
    """Queries that share a state.

    1. An epoch computes the rows of `state.delta`, and adds `state.kept_of` of them to the state.
    2. `given` returns the rows of each query that the epoch emits.
    """

    state: DividedQuery
    queries: tuple[LogicalPlan, ...]
    emit: EmitMode

    def given(self, scan: Callable[[], LogicalPlan], added: Callable[[], LogicalPlan]) -> list[LogicalPlan]:
        """Rows of each query that an epoch emits.

        Each call of `scan` returns a new scan of the state before the epoch. Each call of `added` returns a new scan of
        the epoch's rows, with the columns of `state.added_schema`.
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
            assert isinstance(part, _GIVING_PARTS)  # other parts replace no operator
            return part.given(place, epoch)

        return [replaced(query, self.state.places, given) for query in self.queries]
