"""Division of a query: for each operator that needs more than the rows of an epoch, a part of the state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeGuard

from sharkpy.base.errors import InternalError, UnsupportedError
from sharkpy.catalog.continuous_query import EmitMode
from sharkpy.plan.expr import Expr, Literal
from sharkpy.plan.logical import (
    LEFT_ONLY_JOINS,
    Aggregate,
    Distribute,
    Filter,
    Generate,
    Join,
    JoinKind,
    LogicalPlan,
    Project,
    Union,
    Window,
)
from sharkpy.plan.sessions import Sessions, behind
from sharkpy.sql.context import Context
from sharkpy.sql.incremental.aggregate_state import AggregateState, aggregate_state, rows_of
from sharkpy.sql.incremental.arrival import arrived
from sharkpy.sql.incremental.changing import changing, changing_tables
from sharkpy.sql.incremental.closed_spans import gives_closed_windows
from sharkpy.sql.incremental.closing import Closing
from sharkpy.sql.incremental.counted_rows import CountedRows
from sharkpy.sql.incremental.divided_query import DividedQuery
from sharkpy.sql.incremental.expiring_rows import ExpiringRows
from sharkpy.sql.incremental.faults import changing_fault, fault_of
from sharkpy.sql.incremental.kept_rows import KeptRows, all_rows, kept_rows, with_rows
from sharkpy.sql.incremental.look_back import look_back
from sharkpy.sql.incremental.outer_join import (
    OUTER_JOINS,
    End,
    MatchedRows,
    OuterJoinState,
    SemiJoinState,
    WithoutMatch,
    is_outer_stream_join,
)
from sharkpy.sql.incremental.panes import Panes, panes_of
from sharkpy.sql.incremental.resumed_state import (
    Clock,
    ResumedState,
    Timeout,
    in_clock_time,
    resumed,
    resumed_state,
    resumes,
    resuming_fault,
    timeout_of,
)
from sharkpy.sql.incremental.row_numbers import NumRows, RowNumbers, is_numbering
from sharkpy.sql.incremental.row_wise import (
    Streams,
    expressions_of,
    has_subqueries,
    is_counted,
    is_table_function,
    queries_in,
    reading_fault,
    refused,
    row_wise_fault,
    varying_function,
)
from sharkpy.sql.incremental.running_totals import totals_state
from sharkpy.sql.incremental.session_state import session_state, sessions_below
from sharkpy.sql.incremental.state import StatePart
from sharkpy.sql.incremental.stream_join import OF_JOINS, StreamJoin, stream_joins
from sharkpy.sql.incremental.stream_window import StreamWindow
from sharkpy.sql.incremental.table_rows import BesideTables, apart_from_tables
from sharkpy.sql.incremental.time_bounds import time_bounds
from sharkpy.sql.incremental.watermark_parts import WatermarkParts, stream_scans
from sharkpy.sql.incremental.watermarks import has_watermark
from sharkpy.sql.incremental.window_state import (
    LastRows,
    NumLateRows,
    PassedRows,
    RunningTotals,
    WaitingRows,
)
from sharkpy.values.types import INT, TIMESTAMP

_OF_READERS = "all rows of the streams are kept, and looked at by whoever reads the table"
_KEEPING = (Project, Filter, Generate, Union, Distribute)


def divided(
    queries: Sequence[LogicalPlan],
    streams: Streams,
    context: Context,
    emit: EmitMode | None,
    *,
    expires: bool,
    gives: bool = False,
) -> DividedQuery:
    """Divide a query that reads streams and is not row-wise, or several whose state is one. UnsupportedError, naming
    the operator, where what they need of earlier epochs cannot be kept, or `emit` of it be given; to RECOMPUTE all rows
    are kept for such an operator. `expires`: see `division`; `gives`: see `division_to_give`.
    """
    return _Division(streams, context, emit, expires=expires, gives=gives).of(queries)


class _Division:
    """Parts of the state of a query, as they are found."""

    def __init__(
        self, streams: Streams, context: Context, emit: EmitMode | None, *, expires: bool, gives: bool
    ) -> None:
        self._streams = streams
        self._new_column = context.column
        self._recomputes = emit is EmitMode.RECOMPUTE
        self._appends = emit is EmitMode.APPEND
        self._gives = emit if gives else None
        self._is_bounding = self._appends or gives
        """True where rows are given that no reader takes back, and so may not go."""
        times = context.times_read
        self._clock = None if times is None else Clock(*(Literal(time, TIMESTAMP) for time in times))
        self._expires = expires
        self._parts = list[tuple[LogicalPlan, StatePart]]()
        self._unkept = set[int]()
        self._joins = list[StreamJoin]()
        self._numbers = dict[int, RowNumbers]()
        """By the id of the Window that they are the numbers of."""
        self._marks = WatermarkParts(self._parts, context)

    def of(self, queries: Sequence[LogicalPlan]) -> DividedQuery:
        for query in queries:
            # Rows of a row-wise one are given as they are.
            if not self._gives or row_wise_fault(query, self._streams) is not None:
                self._of_query(query)
        if not self._parts:
            raise InternalError("a query that needs state has no part with state")
        numbers, unkept = list(self._numbers.values()), frozenset(self._unkept)
        return DividedQuery(queries[0], self._parts, self._joins, numbers, self._new_column, unkept)

    def _of_query(self, query: LogicalPlan) -> None:
        waiting: list[tuple[LogicalPlan, LogicalPlan | None]] = [(query, None)]
        while waiting:
            node, above = waiting.pop()
            if not self._streams.below(node):
                continue
            if (fault := reading_fault(node, self._streams)) is not None:
                raise fault
            if not self._divide(node, above):
                if self._is_bounding and not _keeps_rows(node, self._streams):
                    raise changing_fault(node, self._streams, self._gives)
                waiting += [(child, node) for child in reversed(node.children)]

    def _divide(self, node: LogicalPlan, above: LogicalPlan | None) -> bool:
        """Add the part of the state that comes in the place of a node; False where there is none."""
        if _is_aggregate(node) and (rows := _rows_of(node, self._streams)) is not None:
            self._add_aggregate(node, rows)
        elif self._is_bounding and (window := _window_below(node, self._streams)) is not None:
            self._add_window(node, window)
        elif (kept := kept_rows(node, self._streams, self._new_column)) is not None:
            if self._is_bounding:
                raise changing(self._gives)
            self._add_rows(node, kept)
        elif row_wise_fault(node, self._streams, with_joins=True, beside_tables=True) is None:
            # Without an operator above, the rows are the answer.
            if above is not None and not (self._recomputes or self._is_bounding):
                raise fault_of(above, node, self._streams)
            growth = None if above is None or self._is_bounding else _OF_READERS
            self._give_only()
            self._add_rows(node, all_rows(node, "all rows", growth, self._new_column))
        elif is_outer_stream_join(node, self._streams):
            self._add_outer_join(node)
        else:
            return False
        return True

    def _give_only(self) -> None:
        """Let the rows of the next part be given and not kept, where there is somebody to give them to."""
        if self._gives is not None:
            self._unkept.add(len(self._parts))

    def _add_rows(self, node: LogicalPlan, kept: KeptRows) -> None:
        """Add a part that keeps rows, in the place of a node."""
        of_streams, part = self._beside_tables(kept.rows, kept.over)
        self._add(node, part, of_streams)

    def _beside_tables(
        self, rows: LogicalPlan, part_of: Callable[[LogicalPlan], StatePart]
    ) -> tuple[LogicalPlan, StatePart]:
        """Those of some rows that come from streams, and the part of the state of all; `part_of` gives that of some."""
        of_streams, of_tables = apart_from_tables(rows, self._streams)
        part = part_of(of_streams)
        if of_tables is None:
            return of_streams, part
        if self._is_bounding:
            raise changing_tables(self._gives)
        if isinstance(part, ResumedState):
            raise resuming_fault(part.states, "beside rows of tables")
        return of_streams, BesideTables(part, part_of(of_tables), self._new_column)

    def _add(self, node: LogicalPlan, part: StatePart, rows: LogicalPlan) -> None:
        self._parts.append((node, part))
        for join in stream_joins(rows, self._streams):
            self._add_sides(join, expires=self._expires)
        for window in filter(is_counted, rows.walk()):
            if not self._streams.below(window):
                continue
            if has_subqueries(rows) or any(True for _ in queries_in(node)):
                raise refused("a subquery beside row_number() OVER () of a stream")
            self._place_of_number(window)

    def _place_of_number(self, window: Window) -> int:
        """Place of the part with the number of rows that a Window numbers."""
        if id(window) not in self._numbers:
            self._numbers[id(window)] = RowNumbers(window, len(self._parts))
            self._parts.append((window.child, NumRows(window.child, self._new_column)))
        return self._numbers[id(window)].place

    def _add_sides(self, join: Join, *, expires: bool) -> None:
        """Add the rows of both sides of an inner join of streams."""
        least, most = time_bounds(join) if expires else (None, None)
        are_both = least is not None and most is not None
        left = self._side(join.left, join.right, most, are_both=are_both)
        right = self._side(join.right, join.left, None if least is None else -least, are_both=are_both)
        place = len(self._parts)
        self._parts += [(join.left, left), (join.right, right)]
        self._joins.append(StreamJoin(join, place, place + 1))

    def _side(self, side: LogicalPlan, other: LogicalPlan, reach: int | None, *, are_both: bool) -> StatePart:
        """Rows of a side of a join: those of the other side match ones whose time is up to `reach` before theirs.
        `are_both`: the other side has a reach, too, and so the watermark of this one is kept.
        """
        rows = all_rows(side, "rows of a side of a join", OF_JOINS, self._new_column)
        scans = [stream_scans(one) for one in (side, other)]
        # Rows of a join come with times of rows that are there already.
        if reach is None or any(len(one) > 1 for one in scans):
            return rows
        time = next(place for place, one in enumerate(side.output) if has_watermark(one, side))
        (own,), (of_other,) = scans
        watermark = self._marks.of_other(of_other, own)
        is_kept = are_both or own.table.table_id == of_other.table.table_id
        return ExpiringRows(rows, time, reach, watermark, self._marks.of_stream(own) if is_kept else None)

    def _add_outer_join(self, node: Join) -> None:
        bounds = self._bounds_of(node)
        if self._is_bounding and bounds is None:
            raise changing(self._gives)
        left, right = node.children
        if bounds is not None:
            marks = tuple(dict.fromkeys(bound.watermark for bound in bounds))
            numbers = [
                self._marks.num_rows(stream_scans(side)[0]) if len(marks) > 1 else None for side in node.children
            ]
            sides = zip(node.children, numbers, strict=True)
            left, right = (arrived(side, marks, number, self._new_column) for side, number in sides)
        inner = Join(left, right, JoinKind.INNER, node.condition, node.hint)
        # Both sides keep whether they have a match, each by itself.
        if node.condition is not None and (name := varying_function(node.condition.walk())) is not None:
            raise refused(f"{name} in the condition of an outer join of two streams")
        found = stream_joins(inner, self._streams)
        has_match, is_given = node.kind is JoinKind.SEMI, self._gives is not None
        of_left, of_right = (
            MatchedRows(side, inner, given.output, end, has_match, self._new_column, is_given)
            for side, given, end in zip((left, right), node.children, bounds or (None, None), strict=True)
        )
        ends = bounds if bounds is not None and self._is_bounding else (None, None)
        if node.kind in LEFT_ONLY_JOINS:
            self._parts.append((node, SemiJoinState(node, of_left, ends[0])))
        else:
            has_left, has_right = OUTER_JOINS[node.kind]
            place = len(self._parts) + 1
            places = (place, place + has_left)
            joined = all_rows(Project(inner, node.output), "rows of a join", None, self._new_column)
            left_alone, right_alone = (
                WithoutMatch(at, rows, end) if has else None
                for has, at, rows, end in zip((has_left, has_right), places, (of_left, of_right), ends, strict=True)
            )
            self._give_only()
            self._parts.append((node, OuterJoinState(node, joined, left_alone, right_alone, self._new_column)))
            self._parts += [(node.left, of_left)] if has_left else []
            self._parts += [(node.right, of_right)] if has_right else []
        for join in found:
            self._add_sides(join, expires=bounds is not None)

    def _add_window(self, node: LogicalPlan, window: Window) -> None:
        """Add the parts of a Window; `node` is that, or what makes its rows the answer."""
        first, rows = self._new_column("first", INT), window.child
        back = look_back(window, first)
        if has_subqueries(window):
            raise refused("a subquery in, or below, a window function over a stream")
        if (name := varying_function(expressions_of(window))) is not None:
            raise refused(f"{name} below a window function over a stream")
        marks = self._marks.of_rows(rows, "EMIT APPEND of window functions")
        waiting = len(self._parts) + 1
        last = waiting + 1 if back.by_rows else None
        totals = waiting + 1 + bool(back.by_rows) if back.running else None
        found = StreamWindow(window, back, marks, waiting, last, totals, first, self._new_column)
        self._give_only()
        self._parts += [(node, PassedRows(node, found)), (rows, WaitingRows(found))]
        self._parts += [(rows, LastRows(found))] if last is not None else []
        if totals is not None:
            counted = Project(rows, (*rows.output, first.holding(Literal(None, INT))))
            states = totals_state(counted, back.running, back.partition_by, self._new_column)
            self._parts.append((rows, RunningTotals(found, states)))
        self._parts.append((rows, NumLateRows(found)))

    def _bounds_of(self, node: Join) -> tuple[End, End] | None:
        """When rows of both sides of an outer join find no match any more; None where nothing tells, or no rows are to
        be forgotten.
        """
        if not self._expires:
            return None
        least, most = time_bounds(node)
        scans = [stream_scans(side) for side in node.children]
        if least is None or most is None or any(len(one) > 1 for one in scans):
            return None
        left, right = (
            next(place for place, one in enumerate(side.output) if has_watermark(one, side)) for side in node.children
        )
        (of_left,), (of_right,) = scans
        after_right, after_left = self._marks.of_other(of_right, of_left), self._marks.of_other(of_left, of_right)
        return End(left, most, after_right), End(right, -least, after_left)

    def _add_aggregate(self, node: Aggregate, rows: LogicalPlan) -> None:
        """Add the state of an Aggregate, or of all rows that it is of."""
        try:
            of_streams, part = self._beside_tables(rows, lambda some: self._of_aggregate(node, rows, some))
        except UnsupportedError:
            if not self._recomputes:
                raise
            self._add_rows(rows, all_rows(rows, "all rows", _OF_READERS, self._new_column))
        else:
            self._add(node, part, of_streams)

    def _of_aggregate(self, node: Aggregate, every: LogicalPlan, rows: LogicalPlan) -> StatePart:
        """State of an Aggregate over some of its rows, which are `every`."""
        node = node.map_children(lambda child: with_rows(child, every, rows))
        sessions, panes = sessions_below(node), panes_of(node)
        time = sessions.first if sessions is not None else panes.time if panes is not None else None
        counts_rows = panes is not None and panes.counts_rows
        is_bounded = counts_rows or (time is not None and has_watermark(time, rows))
        closing = None
        if self._closes(node, is_bounded=is_bounded):
            closing = self._closing(rows, *_ends(sessions, panes), counts_rows)
        if sessions is not None:
            if self._gives is EmitMode.UPDATE:
                raise changing(self._gives)
            return session_state(node, sessions, self._new_column, is_bounded=is_bounded, closing=closing)
        timed = node if self._clock is None else in_clock_time(node, self._clock)
        # Who reads a table wants groups that nothing is added to any more; when others have been given them, it is
        # closing that lets them go.
        is_bounded = is_bounded if self._gives is None else closing is not None
        state = aggregate_state(timed, self._new_column, is_bounded=is_bounded, closing=closing)
        return self._resumed(state, rows) if resumed(state) else state

    def _closes(self, node: Aggregate, *, is_bounded: bool) -> bool:
        """True if windows, or sessions, are closed. UnsupportedError where rows have to be given that do not change,
        and nothing tells which.
        """
        if not self._appends:
            return self._gives is not None and self._expires and is_bounded and not resumes(node)
        # Groups of which nothing but themselves is told do not change.
        if not is_bounded and (self._gives is None or node.aggregates or sessions_below(node) is not None):
            raise changing(self._gives)
        return is_bounded

    def _resumed(self, state: AggregateState, rows: LogicalPlan) -> StatePart:
        """State of aggregates that go on from the latest one, with the watermark, or clock, that a timeout is by."""
        timeout = None
        if (found := timeout_of(state)) is not None:
            length, time = found
            scans = stream_scans(rows)
            if self._clock is not None and time == self._clock.utc:
                timeout = Timeout(length, self._clock.utc)
            elif len(scans) > 1 or not has_watermark(time, rows):
                raise resuming_fault(state, "with a timeout by a time that is not known to be that of a WATERMARK")
            else:
                timeout = Timeout(length, self._marks.of_stream(scans[0]))
        return resumed_state(state, len(self._parts), timeout, self._new_column)

    def _closing(self, rows: LogicalPlan, first_end: Expr, last_end: Expr, counts_rows: bool) -> Closing:
        """What closes windows of some rows: the watermarks of all streams that they come from, or their number."""
        mark = self._new_column("watermark", TIMESTAMP)
        if not counts_rows:
            what = "EMIT APPEND of windows" if self._appends else "windows without WITH UNBOUNDED STATE"
            return Closing(self._marks.of_rows(rows, what), mark, first_end, last_end, self._gives)
        window = next(node for node in rows.walk() if is_counted(node) and self._streams.below(node))
        marks = CountedRows(self._place_of_number(window), self._new_column)
        return Closing(marks, mark, first_end, last_end, self._gives)


def _window_below(node: LogicalPlan, streams: Streams) -> Window | None:
    """The Window that a node is, or that is below projections and filters, of the rows of each epoch."""
    while isinstance(node, (Project, Filter)) and _keeps_rows(node, streams):
        node = node.child
    if not isinstance(node, Window) or is_numbering(node):
        return None
    return node if row_wise_fault(node.child, streams) is None else None


def _is_aggregate(node: LogicalPlan) -> TypeGuard[Aggregate]:
    """True for an Aggregate to which other epochs may add."""
    return isinstance(node, Aggregate) and not gives_closed_windows(node)


def _rows_of(node: Aggregate, streams: Streams) -> LogicalPlan | None:
    """Rows that an Aggregate is of, in no sessions yet; None where they need other epochs."""
    sessions = sessions_below(node)
    rows = rows_of(node) if sessions is None else sessions.rows
    return rows if row_wise_fault(rows, streams, with_joins=True, beside_tables=True) is None else None


def _ends(sessions: Sessions | None, panes: Panes | None) -> tuple[Expr, Expr]:
    """Ends of the first and the last window that a row is in. Of sessions it is that of its own moment: rows in time
    then touch no session that is closed.
    """
    if sessions is not None:
        after = behind(sessions.first, 1)
        return after, after
    if panes is None:
        raise InternalError("windows that a watermark closes have ends")
    return panes.end, panes.last_end


def _keeps_rows(node: LogicalPlan, streams: Streams) -> bool:
    """True if a node leaves rows as they are that do not change any more."""
    has_queries = any(True for _ in queries_in(node))
    is_keeping = isinstance(node, _KEEPING) or is_table_function(node)
    return is_keeping and all(map(streams.below, node.children)) and not has_queries
