"""GROUP BY session_window over streams.

The state has a group for each pane as long as the gap. Sessions are made of panes when the table is read.
"""

from __future__ import annotations

from dataclasses import replace

from sharkpy.base.records import dataclass
from sharkpy.plan.expr import AggregateCall, Call, ColumnRef, Expr
from sharkpy.plan.logical import Aggregate, Filter, Join, JoinKind, LogicalPlan, Project
from sharkpy.plan.references import column_ids
from sharkpy.plan.session_windows import SessionWindows, in_session_windows, session_windows_of, time_after
from sharkpy.sql.incremental.aggregate_state import AggregateState, States, aggregate_state, label_of
from sharkpy.sql.incremental.closed_windows import ClosingWatermark, is_null
from sharkpy.sql.incremental.resumed_state import resumed, resuming_error
from sharkpy.sql.incremental.state import EpochState, NewColumn, StoredState
from sharkpy.sql.incremental.time_windows import pane_begin
from sharkpy.values.types import BOOLEAN, TIMESTAMP, Schema


@dataclass(frozen=True, slots=True)
class SessionState:
    """State of an Aggregate by sessions: an aggregate state, with the first and the last time of its rows.

    Later rows may change sessions, so sessions are made when the table is read. With `closing`, a session is emitted
    when the watermark is past its end. Rows older than the watermark are late even if their session is still open, so
    rows in time never touch an emitted session.
    """

    node: Aggregate
    sessions: SessionWindows
    paned: AggregateState
    """State by panes as long as the gap, at `place` among the groups.

    The rows of a pane are always in one session.
    """
    numbered: AggregateState
    """The same state by sessions."""
    place: int
    schema: Schema
    new_column: NewColumn

    def delta(self, kept: StoredState) -> LogicalPlan:
        return _without(self.place, self.paned.delta(kept))

    def read(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        found = self._read(rows, kept)
        if self.closing is not None:
            mark = self.new_column("watermark", TIMESTAMP)
            is_closed = _is_before(self._end(found), mark)
            found = Filter(self.closing.with_watermark(found, kept, mark), is_closed)
        return Project(found, self.node.output)

    def closed_within(self, rows: LogicalPlan, spans: LogicalPlan, kept: StoredState) -> LogicalPlan:
        """The operator's rows of sessions that were closed within one of the spans."""
        found = self._read(rows, kept)
        (after, until), end = spans.output, self._end(found)
        is_within = Call("and", (Call("ge", (end, after), BOOLEAN), _is_before(end, until)), BOOLEAN)
        return Project(Filter(Join(found, spans, JoinKind.CROSS), is_within), self.node.output)

    def emitted(self, place: int, epoch: EpochState) -> LogicalPlan:
        """The operator's rows of sessions that an epoch closes."""
        assert self.closing is not None  # without it, later rows may change sessions
        spans = self.closing.span_of(epoch, self.new_column)
        return self.closed_within(epoch.after.rows(place), spans, epoch.after)

    def late_rows(self, kept: StoredState) -> LogicalPlan | None:
        """Rows of an epoch that are older than the watermark; None if no row can be late."""
        found, rows = self.paned.late_rows(kept), self.sessions.rows
        # The projection above the input rows computes the groups.
        return Project(found, rows.child.output) if found is not None and isinstance(rows, Project) else found

    def num_late(self, rows: LogicalPlan) -> LogicalPlan:
        """A row with the number of late rows. The state must have `closing`."""
        return self.paned.num_late(rows)

    def fold(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        closing = self.closing
        if closing is None or closing.sink_mode is None or not kept.is_first:
            return self._folded(rows, kept)
        in_time = self._folded(self._in_time(rows), kept)
        end = time_after(in_time.output[self._times[1]], self.sessions.gap)
        # All rows of open sessions are among these: any other row of them would have been late.
        live = closing.unclosed(in_time, kept, self.new_column, lambda mark: Call("ge", (end, mark), BOOLEAN))
        return closing.with_late(live, rows, self._num_groups, self.new_column)

    @property
    def closing(self) -> ClosingWatermark | None:
        return self.paned.closing

    @property
    def label(self) -> str:
        closed = "" if self.closing is None else ", given when the watermark closes them"
        return f"{label_of(self.node, self.sessions.groups)} of sessions{closed}"

    @property
    def growth(self) -> str | None:
        return self.numbered.growth

    def _read(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        """The sessions of rows in time. The last two columns are the first and the last time of each session."""
        return self.numbered.read(self._with_numbers(self._in_time(rows)), kept)

    def _folded(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        return _without(self.place, self.numbered.fold(self._with_numbers(rows), kept))

    def _in_time(self, rows: LogicalPlan) -> LogicalPlan:
        """Rows of the state without late rows."""
        return rows if self.closing is None else Filter(rows, is_null(rows.output[self._num_groups]))

    def _end(self, found: LogicalPlan) -> Expr:
        return time_after(found.output[-1], self.sessions.gap)

    @property
    def _num_groups(self) -> int:
        """Number of groups other than the session. In the state, the watermark of late rows follows them."""
        return len(self.node.groups) - 1

    @property
    def _times(self) -> tuple[int, int]:
        """Places of the first and the last time among the columns of the state, which lack the session."""
        first, last = self.numbered.kept[len(self.node.aggregates) :][:2]
        assert isinstance(first, States)  # min and max have states
        assert isinstance(last, States)
        return first.first - 1, last.first - 1

    def _with_numbers(self, rows: LogicalPlan) -> LogicalPlan:
        columns, is_closing = rows.output, self.closing is not None
        first, last = (columns[place] for place in self._times)
        # Late rows are not in a session with other rows.
        groups = columns[: self._num_groups + is_closing]
        found = in_session_windows(rows, (first, last), groups, self.sessions.gap, self.new_column)
        return Project(found.plan, (*columns[: self.place], found.number, *columns[self.place :]))


def sessions_below(node: Aggregate) -> SessionWindows | None:
    """Sessions by which an Aggregate groups, or None.

    One of its groups is the number of the session. The remaining ones are the groups that sessions are in.
    """
    found = session_windows_of(node.child)
    if found is None or found.number not in node.groups:
        return None
    others = [group for group in node.groups if group != found.number]
    own = {found.before.column_id, found.begins.column_id, found.number.column_id}
    is_alone = not any(own & column_ids(item) for item in (*others, *node.aggregates))
    return found if is_alone and set(others) == set(found.groups) else None


def session_state(
    node: Aggregate,
    sessions: SessionWindows,
    new_column: NewColumn,
    *,
    is_bounded: bool,
    closing: ClosingWatermark | None = None,
) -> SessionState:
    """Build the state for an Aggregate by sessions over the rows of epochs.

    `closing` closes the sessions. Raise UnsupportedError for an aggregate that has no state.
    """
    times = (("min", "first_time"), ("max", "last_time"))
    added = [
        new_column(name, TIMESTAMP).holding(AggregateCall(function, (sessions.first,), TIMESTAMP))
        for function, name in times
    ]
    timed = replace(node, aggregates=(*node.aggregates, *added))
    numbered = aggregate_state(timed, new_column, is_bounded=is_bounded, closing=closing)
    if resumed(numbered):
        raise resuming_error(numbered, "of sessions")
    place = node.groups.index(sessions.number)
    pane = new_column(sessions.number.name, TIMESTAMP).holding(pane_begin(sessions.first, sessions.gap))
    groups = (*node.groups[:place], pane, *node.groups[place + 1 :])
    in_panes = replace(timed, child=sessions.rows, groups=groups)
    paned = aggregate_state(in_panes, new_column, closing=closing)
    fields = numbered.schema.fields
    schema = Schema((*fields[:place], *fields[place + 1 :]))
    return SessionState(node, sessions, paned, numbered, place, schema, new_column)


def _is_before(time: Expr, mark: ColumnRef) -> Expr:
    return Call("lt", (time, mark), BOOLEAN)


def _without(place: int, rows: LogicalPlan) -> LogicalPlan:
    columns = rows.output
    return Project(rows, (*columns[:place], *columns[place + 1 :]))
