"""GROUP BY session_window over streams: a state for each pane as long as the gap, from which sessions are put together
when the table is read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sharkpy.plan.expr import AggregateCall
from sharkpy.plan.logical import Aggregate, LogicalPlan, Project
from sharkpy.plan.references import column_ids
from sharkpy.plan.sessions import Sessions, in_sessions, sessions_of
from sharkpy.sql.incremental.aggregate_state import AggregateState, aggregate_state, label_of
from sharkpy.sql.incremental.panes import pane_begin
from sharkpy.sql.incremental.resumed_state import resumed, resuming_fault
from sharkpy.sql.incremental.state import Kept, NewColumn
from sharkpy.values.types import TIMESTAMP, Schema


@dataclass(frozen=True, slots=True)
class SessionState:
    """State of an Aggregate by sessions: that of any other one, with the first and the last time of its rows. Which
    session they are in, other rows may change, so that is told when the table is read.
    """

    node: Aggregate
    sessions: Sessions
    paned: AggregateState
    """By panes as long as the gap, at `place` among the groups: rows of a pane are of one session, whatever comes. The
    times are the last two columns.
    """
    numbered: AggregateState
    """The same by sessions."""
    place: int
    schema: Schema
    new_column: NewColumn

    def delta(self, kept: Kept) -> LogicalPlan:
        return _without(self.place, self.paned.delta(kept))

    def read(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        return Project(self.numbered.read(self._with_numbers(rows), kept), self.node.output)

    def fold(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        return _without(self.place, self.numbered.fold(self._with_numbers(rows), kept))

    @property
    def label(self) -> str:
        return f"{label_of(self.node, self.sessions.groups)} of sessions"

    @property
    def growth(self) -> str | None:
        return self.numbered.growth

    def _with_numbers(self, rows: LogicalPlan) -> LogicalPlan:
        columns = rows.output
        first, last = columns[-2:]
        groups = columns[: len(self.node.groups) - 1]
        found = in_sessions(rows, (first, last), groups, self.sessions.gap, self.new_column)
        return Project(found.plan, (*columns[: self.place], found.number, *columns[self.place :]))


def sessions_below(node: Aggregate) -> Sessions | None:
    """Sessions that an Aggregate is of: one of its groups is their number, the others are the groups that they are
    in; None for others.
    """
    found = sessions_of(node.child)
    if found is None or found.number not in node.groups:
        return None
    others = [group for group in node.groups if group != found.number]
    own = {found.before.column_id, found.begins.column_id, found.number.column_id}
    is_alone = not any(own & column_ids(item) for item in (*others, *node.aggregates))
    return found if is_alone and set(others) == set(found.groups) else None


def session_state(node: Aggregate, sessions: Sessions, new_column: NewColumn, *, is_bounded: bool) -> SessionState:
    """State for an Aggregate by sessions of rows of epochs. UnsupportedError for an aggregate that has no state."""
    times = (("min", "first_time"), ("max", "last_time"))
    added = [
        new_column(name, TIMESTAMP).holding(AggregateCall(function, (sessions.first,), TIMESTAMP))
        for function, name in times
    ]
    timed = replace(node, aggregates=(*node.aggregates, *added))
    numbered = aggregate_state(timed, new_column, is_bounded=is_bounded)
    if resumed(numbered):
        raise resuming_fault(numbered, "of sessions")
    place = node.groups.index(sessions.number)
    pane = new_column(sessions.number.name, TIMESTAMP).holding(pane_begin(sessions.first, sessions.gap))
    groups = (*node.groups[:place], pane, *node.groups[place + 1 :])
    paned = aggregate_state(replace(timed, child=sessions.rows, groups=groups), new_column)
    fields = numbered.schema.fields
    schema = Schema((*fields[:place], *fields[place + 1 :]))
    return SessionState(node, sessions, paned, numbered, place, schema, new_column)


def _without(place: int, rows: LogicalPlan) -> LogicalPlan:
    columns = rows.output
    return Project(rows, (*columns[:place], *columns[place + 1 :]))
