"""Builder of a query's state: each operator that needs more than the rows of an epoch gets a part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeGuard

from sharkpy.base.errors import InternalError, SharkError, UnsupportedError
from sharkpy.catalog.continuous_query import EmitMode
from sharkpy.plan.expr import Expr, Literal
from sharkpy.plan.logical import (
    Aggregate,
    Distribute,
    Filter,
    Generate,
    Join,
    LogicalPlan,
    Project,
    Sort,
    Union,
    Window,
)
from sharkpy.plan.session_windows import SessionWindows, time_after
from sharkpy.sql.context import Context
from sharkpy.sql.incremental.aggregate_state import AggregateState, aggregate_state, rows_of
from sharkpy.sql.incremental.closed_windows import ClosingWatermark, CountedRows
from sharkpy.sql.incremental.divided_query import DividedQuery
from sharkpy.sql.incremental.outer_join import is_outer_stream_join
from sharkpy.sql.incremental.resumed_state import (
    Clock,
    ResumedState,
    Timeout,
    in_clock_time,
    resumed,
    resumed_state,
    resumes,
    resuming_error,
    timeout_of,
)
from sharkpy.sql.incremental.row_numbers import is_numbering
from sharkpy.sql.incremental.row_state import (
    RowState,
    UnionWithTables,
    all_rows_state,
    replace_rows,
    row_state,
    split_tables,
)
from sharkpy.sql.incremental.row_wise import (
    RECOMPUTE,
    WITH_TABLES,
    Streams,
    changing_rows,
    changing_tables,
    expressions_of,
    has_subqueries,
    is_counted,
    is_table_function,
    is_union_with_tables,
    node_error,
    operator_name,
    reading_error,
    row_wise_error,
    subqueries_in,
    unsupported,
    varying_function,
)
from sharkpy.sql.incremental.running_totals import totals_state
from sharkpy.sql.incremental.session_state import session_state, sessions_below
from sharkpy.sql.incremental.state import StatePart
from sharkpy.sql.incremental.state_parts import StateParts, stream_scans
from sharkpy.sql.incremental.stream_window import APPEND_HINT, StreamWindow, look_back
from sharkpy.sql.incremental.time_windows import Panes, emits_closed_windows, panes_of
from sharkpy.sql.incremental.watermarks import has_watermark
from sharkpy.sql.incremental.window_state import LastRows, NumLateRows, PassedRows, RunningTotals, WaitingRows
from sharkpy.values.types import INT, TIMESTAMP

_OF_READERS = "all rows of the streams are kept, and looked at by whoever reads the table"
_KEEPING = (Project, Filter, Generate, Union, Distribute)


def build_state(
    queries: Sequence[LogicalPlan],
    streams: Streams,
    context: Context,
    emit: EmitMode | None,
    *,
    expires: bool,
    emits: bool = False,
) -> DividedQuery:
    """Divide a query that reads streams and is not row-wise, or several queries that share a state.

    With RECOMPUTE, all input rows are kept for an operator that has no state. `expires`: see `divide_query`. `emits`:
    see `divide_emitting_queries`. Raise UnsupportedError, which names the operator, if the state of earlier epochs
    cannot be kept, or if `emit` is impossible.
    """
    return _StateBuilder(streams, context, emit, expires=expires, emits=emits).of(queries)


class _StateBuilder:
    """Builder of the parts of a query's state."""

    def __init__(
        self, streams: Streams, context: Context, emit: EmitMode | None, *, expires: bool, emits: bool
    ) -> None:
        self._streams = streams
        self._new_column = context.column
        self._recomputes = emit is EmitMode.RECOMPUTE
        self._appends = emit is EmitMode.APPEND
        self._sink_mode = emit if emits else None
        self._is_bounding = self._appends or emits
        """True if emitted rows cannot be withdrawn, and so must not disappear."""
        times = context.times_read
        self._clock = None if times is None else Clock(*(Literal(time, TIMESTAMP) for time in times))
        self._expires = expires
        self._state = StateParts(streams, context, self._sink_mode, is_bounding=self._is_bounding, expires=expires)

    def of(self, queries: Sequence[LogicalPlan]) -> DividedQuery:
        for query in queries:
            # The rows of a row-wise query are emitted as they are.
            if not self._sink_mode or row_wise_error(query, self._streams) is not None:
                self._of_query(query)
        if not self._state.parts:
            raise InternalError("a query that needs state has no part with state")
        return self._state.of(queries[0])

    def _of_query(self, query: LogicalPlan) -> None:
        waiting: list[tuple[LogicalPlan, LogicalPlan | None]] = [(query, None)]
        while waiting:
            node, above = waiting.pop()
            if not self._streams.below(node):
                continue
            if (fault := reading_error(node, self._streams)) is not None:
                raise fault
            if not self._divide(node, above):
                if self._is_bounding and not _keeps_rows(node, self._streams):
                    raise changing_node(node, self._streams, self._sink_mode)
                waiting += [(child, node) for child in reversed(node.children)]

    def _divide(self, node: LogicalPlan, above: LogicalPlan | None) -> bool:
        """Add the part of the state that replaces a node. Return False if there is none."""
        if _is_aggregate(node) and (rows := _rows_of(node, self._streams)) is not None:
            self._add_aggregate(node, rows)
        elif self._is_bounding and (window := _window_below(node, self._streams)) is not None:
            self._add_window(node, window)
        elif (kept := row_state(node, self._streams, self._new_column)) is not None:
            if self._is_bounding:
                raise changing_rows(self._sink_mode)
            self._add_rows(node, kept)
        elif row_wise_error(node, self._streams, with_joins=True, with_tables=True) is None:
            # Without an operator above, the rows are the result.
            if above is not None and not (self._recomputes or self._is_bounding):
                raise operator_error(above, node, self._streams)
            growth = None if above is None or self._is_bounding else _OF_READERS
            self._state.give_only()
            self._add_rows(node, all_rows_state(node, "all rows", growth, self._new_column))
        elif is_outer_stream_join(node, self._streams):
            self._state.add_outer_join(node)
        else:
            return False
        return True

    def _add_rows(self, node: LogicalPlan, kept: RowState) -> None:
        """Add a part that keeps rows, in place of a node."""
        of_streams, part = self._with_tables(kept.rows, kept.over)
        self._state.add(node, part, of_streams)

    def _with_tables(
        self, rows: LogicalPlan, part_of: Callable[[LogicalPlan], StatePart]
    ) -> tuple[LogicalPlan, StatePart]:
        """The rows that come from streams, and the part of the state of all rows.

        `part_of` makes the part of some of the rows.
        """
        of_streams, of_tables = split_tables(rows, self._streams)
        part = part_of(of_streams)
        if of_tables is None:
            return of_streams, part
        if self._is_bounding:
            raise changing_tables(self._sink_mode)
        if isinstance(part, ResumedState):
            raise resuming_error(part.states, "together with rows of tables")
        return of_streams, UnionWithTables(part, part_of(of_tables), self._new_column)

    def _add_window(self, node: LogicalPlan, window: Window) -> None:
        """Add the parts of a Window. `node` is the Window, or the topmost operator over it."""
        first, rows = self._new_column("first", INT), window.child
        back = look_back(window, first)
        if has_subqueries(window):
            raise unsupported("a subquery in, or below, a window function over a stream")
        if (name := varying_function(expressions_of(window))) is not None:
            raise unsupported(f"{name} below a window function over a stream")
        marks, parts = self._state.marks.of_rows(rows, "EMIT APPEND of window functions"), self._state.parts
        waiting = len(parts) + 1
        last = waiting + 1 if back.by_rows else None
        totals = waiting + 1 + bool(back.by_rows) if back.running else None
        found = StreamWindow(window, back, marks, waiting, last, totals, first, self._new_column)
        self._state.give_only()
        parts += [(node, PassedRows(node, found)), (rows, WaitingRows(found))]
        parts += [(rows, LastRows(found))] if last is not None else []
        if totals is not None:
            counted = Project(rows, (*rows.output, first.holding(Literal(None, INT))))
            states = totals_state(counted, back.running, back.partition_by, self._new_column)
            parts.append((rows, RunningTotals(found, states)))
        parts.append((rows, NumLateRows(found)))

    def _add_aggregate(self, node: Aggregate, rows: LogicalPlan) -> None:
        """Add the state of an Aggregate, or of all its input rows with RECOMPUTE."""
        try:
            of_streams, part = self._with_tables(rows, lambda some: self._of_aggregate(node, rows, some))
        except UnsupportedError:
            if not self._recomputes:
                raise
            self._add_rows(rows, all_rows_state(rows, "all rows", _OF_READERS, self._new_column))
        else:
            self._state.add(node, part, of_streams)

    def _of_aggregate(self, node: Aggregate, every: LogicalPlan, rows: LogicalPlan) -> StatePart:
        """State of an Aggregate over `rows`, which are some of its input rows `every`."""
        node = node.map_children(lambda child: replace_rows(child, every, rows))
        sessions, panes = sessions_below(node), panes_of(node)
        time = sessions.first if sessions is not None else panes.time if panes is not None else None
        counts_rows = panes is not None and panes.counts_rows
        is_bounded = counts_rows or (time is not None and has_watermark(time, rows))
        closing = None
        if self._closes(node, is_bounded=is_bounded):
            closing = self._closing(rows, *_ends(sessions, panes), counts_rows)
        if sessions is not None:
            if self._sink_mode is EmitMode.UPDATE:
                raise changing_rows(self._sink_mode)
            return session_state(node, sessions, self._new_column, is_bounded=is_bounded, closing=closing)
        timed = node if self._clock is None else in_clock_time(node, self._clock)
        # Readers of a continuous table want old groups, too. After an insert or sink has emitted a group, only closing
        # forgets it.
        is_bounded = is_bounded if self._sink_mode is None else closing is not None
        state = aggregate_state(timed, self._new_column, is_bounded=is_bounded, closing=closing)
        return self._resumed(state, rows) if resumed(state) else state

    def _closes(self, node: Aggregate, *, is_bounded: bool) -> bool:
        """Return whether windows or sessions are closed.

        Raise UnsupportedError if emitted rows have to be final and nothing tells when they are.
        """
        if not self._appends:
            return self._sink_mode is not None and self._expires and is_bounded and not resumes(node)
        # Groups without aggregates do not change.
        if not is_bounded and (self._sink_mode is None or node.aggregates or sessions_below(node) is not None):
            raise changing_rows(self._sink_mode)
        return is_bounded

    def _resumed(self, state: AggregateState, rows: LogicalPlan) -> StatePart:
        """State of aggregates that resume from their latest state, with the watermark or clock of their timeout."""
        timeout = None
        if (found := timeout_of(state)) is not None:
            length, time = found
            scans = stream_scans(rows)
            if self._clock is not None and time == self._clock.utc:
                timeout = Timeout(length, self._clock.utc)
            elif len(scans) > 1 or not has_watermark(time, rows):
                raise resuming_error(state, "with a timeout by a time that is not known to be that of a WATERMARK")
            else:
                timeout = Timeout(length, self._state.marks.of_stream(scans[0]))
        return resumed_state(state, len(self._state.parts), timeout, self._new_column)

    def _closing(self, rows: LogicalPlan, first_end: Expr, last_end: Expr, counts_rows: bool) -> ClosingWatermark:
        """How windows of some rows are closed: by the watermarks of all their streams, or by their number."""
        mark = self._new_column("watermark", TIMESTAMP)
        if not counts_rows:
            what = "EMIT APPEND of windows" if self._appends else "windows without WITH UNBOUNDED STATE"
            return ClosingWatermark(self._state.marks.of_rows(rows, what), mark, first_end, last_end, self._sink_mode)
        window = next(node for node in rows.walk() if is_counted(node) and self._streams.below(node))
        marks = CountedRows(self._state.place_of_number(window), self._new_column)
        return ClosingWatermark(marks, mark, first_end, last_end, self._sink_mode)


def _window_below(node: LogicalPlan, streams: Streams) -> Window | None:
    """The Window at `node`, or below its projections and filters, if the input of the Window is row-wise."""
    while isinstance(node, (Project, Filter)) and _keeps_rows(node, streams):
        node = node.child
    if not isinstance(node, Window) or is_numbering(node):
        return None
    return node if row_wise_error(node.child, streams) is None else None


def _is_aggregate(node: LogicalPlan) -> TypeGuard[Aggregate]:
    """Return whether `node` is an Aggregate to whose groups several epochs may add."""
    return isinstance(node, Aggregate) and not emits_closed_windows(node)


def _rows_of(node: Aggregate, streams: Streams) -> LogicalPlan | None:
    """Input rows of an Aggregate, before they are in sessions; None if they need other epochs."""
    sessions = sessions_below(node)
    rows = rows_of(node) if sessions is None else sessions.rows
    return rows if row_wise_error(rows, streams, with_joins=True, with_tables=True) is None else None


def _ends(sessions: SessionWindows | None, panes: Panes | None) -> tuple[Expr, Expr]:
    """Ends of the first and the last window that a row is in.

    For sessions both are right after the row's own time: a row in time then never touches a closed session.
    """
    if sessions is not None:
        after = time_after(sessions.first, 1)
        return after, after
    if panes is None:
        raise InternalError("windows that a watermark closes have ends")
    return panes.end, panes.last_end


def _keeps_rows(node: LogicalPlan, streams: Streams) -> bool:
    """Return whether the output of a node is final if its input is."""
    has_queries = any(True for _ in subqueries_in(node))
    is_sort_by = isinstance(node, Sort) and not node.is_global
    is_keeping = isinstance(node, _KEEPING) or is_sort_by or is_table_function(node)
    return is_keeping and all(map(streams.below, node.children)) and not has_queries


def operator_error(node: LogicalPlan, rows: LogicalPlan, streams: Streams) -> SharkError:
    """Error for an operator that cannot be computed from `rows`, its input in one epoch."""
    if isinstance(node, Join) and _has_tables(rows, streams):
        return unsupported(f"{WITH_TABLES}, in a side of a join of streams,", RECOMPUTE)
    if is_numbering(node) and _has_tables(rows, streams):
        return unsupported(f"{WITH_TABLES}, below row_number() OVER (),", RECOMPUTE)
    if isinstance(node, Union):
        return unsupported(operator_name(node), RECOMPUTE)
    fault = node_error(node, streams) or unsupported(operator_name(node))
    fault.hint = fault.hint or (f"{APPEND_HINT}; {RECOMPUTE}" if isinstance(node, Window) else RECOMPUTE)
    return fault


def _has_tables(rows: LogicalPlan, streams: Streams) -> bool:
    """Return whether rows come from streams and, by UNION ALL, from tables."""
    if row_wise_error(rows, streams, with_joins=True) is None:
        return False
    return row_wise_error(rows, streams, with_joins=True, with_tables=True) is None


def changing_node(node: LogicalPlan, streams: Streams, sink_mode: EmitMode | None) -> SharkError:
    """Error for a node whose rows may change although the output mode does not allow it.

    `sink_mode`: see `changing_rows`.
    """
    below = (child for child in node.children if streams.below(child))
    is_of_tables = is_union_with_tables(node, streams) or any(_has_tables(child, streams) for child in below)
    return changing_tables(sink_mode) if is_of_tables else changing_rows(sink_mode)
