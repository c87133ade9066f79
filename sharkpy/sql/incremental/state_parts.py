"""Collection of the parts of a query's state, with parts for joins of streams, row numbers and watermarks."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.catalog.continuous_query import EmitMode
from sharkpy.plan.expr import Literal
from sharkpy.plan.logical import LEFT_ONLY_JOINS, Join, JoinKind, LogicalPlan, Project, Scan, Window
from sharkpy.sql.context import Context
from sharkpy.sql.incremental.divided_query import DividedQuery
from sharkpy.sql.incremental.expiring_rows import ExpiringRows, time_bounds, with_arrival_marks
from sharkpy.sql.incremental.outer_join import (
    OUTER_JOINS,
    MatchedRows,
    MatchEnd,
    OuterJoinState,
    SemiJoinState,
    UnmatchedRows,
)
from sharkpy.sql.incremental.row_numbers import NumRows, RowNumbers
from sharkpy.sql.incremental.row_state import all_rows_state
from sharkpy.sql.incremental.row_wise import (
    Streams,
    changing_rows,
    has_subqueries,
    is_counted,
    subqueries_in,
    unsupported,
    varying_function,
)
from sharkpy.sql.incremental.state import StatePart
from sharkpy.sql.incremental.stream_join import JOIN_GROWTH, StreamJoin, stream_joins
from sharkpy.sql.incremental.watermarks import (
    ActiveStream,
    ActiveWatermark,
    StreamArrivals,
    StreamWatermark,
    Watermarks,
    has_watermark,
    stream_watermark,
)
from sharkpy.values.types import TIMESTAMP


class StateParts:
    """Parts of a query's state, in the order in which they are found, each with its node.

    `sink_mode` is the output mode of an insert or sink; None for a continuous table. `is_bounding`: emitted rows must
    not disappear. `expires`: rows of joins are kept only while watermarks allow a match.
    """

    def __init__(
        self, streams: Streams, context: Context, sink_mode: EmitMode | None, *, is_bounding: bool, expires: bool
    ) -> None:
        self._streams = streams
        self._new_column = context.column
        self._sink_mode = sink_mode
        self._is_bounding = is_bounding
        self._expires = expires
        self.parts = list[tuple[LogicalPlan, StatePart]]()
        self.unstored = set[int]()
        """Places of parts whose rows are emitted and not stored."""
        self.joins = list[StreamJoin]()
        self.numbers = dict[int, RowNumbers]()
        """By the id of the Window that numbers the rows."""
        self.marks = WatermarkParts(self.parts, context)

    def of(self, query: LogicalPlan) -> DividedQuery:
        """Divide the query into these parts."""
        numbers, unstored = list(self.numbers.values()), frozenset(self.unstored)
        return DividedQuery(query, self.parts, self.joins, numbers, self._new_column, unstored)

    def give_only(self) -> None:
        """Emit the rows of the next part without storing them, if the query is of an insert or sink."""
        if self._sink_mode is not None:
            self.unstored.add(len(self.parts))

    def add(self, node: LogicalPlan, part: StatePart, rows: LogicalPlan) -> None:
        self.parts.append((node, part))
        for join in stream_joins(rows, self._streams):
            self._add_sides(join, expires=self._expires)
        for window in filter(is_counted, rows.walk()):
            if not self._streams.below(window):
                continue
            if has_subqueries(rows) or any(True for _ in subqueries_in(node)):
                raise unsupported("a subquery together with row_number() OVER () of a stream")
            self.place_of_number(window)

    def place_of_number(self, window: Window) -> int:
        """Place of the part that counts the rows that a Window numbers."""
        if id(window) not in self.numbers:
            self.numbers[id(window)] = RowNumbers(window, len(self.parts))
            self.parts.append((window.child, NumRows(window.child, self._new_column)))
        return self.numbers[id(window)].place

    def _add_sides(self, join: Join, *, expires: bool) -> None:
        """Add the rows of both sides of an inner join of streams."""
        least, most = time_bounds(join) if expires else (None, None)
        are_both = least is not None and most is not None
        left = self._side(join.left, join.right, most, are_both=are_both)
        right = self._side(join.right, join.left, None if least is None else -least, are_both=are_both)
        place = len(self.parts)
        self.parts += [(join.left, left), (join.right, right)]
        self.joins.append(StreamJoin(join, place, place + 1))

    def _side(self, side: LogicalPlan, other: LogicalPlan, reach: int | None, *, are_both: bool) -> StatePart:
        """Part with the rows of one side of a join.

        Rows of the other side match rows whose time is at most `reach` before theirs. `are_both`: the other side has a
        reach, too, so the watermark of this side is stored.
        """
        rows = all_rows_state(side, "rows of a side of a join", JOIN_GROWTH, self._new_column)
        scans = [stream_scans(one) for one in (side, other)]
        # The rows of a join may have old times.
        if reach is None or any(len(one) > 1 for one in scans):
            return rows
        time = next(place for place, one in enumerate(side.output) if has_watermark(one, side))
        (own,), (of_other,) = scans
        watermark = self.marks.of_other(of_other, own)
        is_kept = are_both or own.table.table_id == of_other.table.table_id
        return ExpiringRows(rows, time, reach, watermark, self.marks.of_stream(own) if is_kept else None)

    def add_outer_join(self, node: Join) -> None:
        """Add the parts of an outer, semi or anti join of streams."""
        bounds = self._bounds_of(node)
        if self._is_bounding and bounds is None:
            raise changing_rows(self._sink_mode)
        left, right = node.children
        if bounds is not None:
            marks = tuple(dict.fromkeys(bound.watermark for bound in bounds))
            numbers = [self.marks.num_rows(stream_scans(side)[0]) if len(marks) > 1 else None for side in node.children]
            sides = zip(node.children, numbers, strict=True)
            left, right = (with_arrival_marks(side, marks, number, self._new_column) for side, number in sides)
        inner = Join(left, right, JoinKind.INNER, node.condition, node.hint)
        # Each side computes by itself whether its rows have a match.
        if node.condition is not None and (name := varying_function(node.condition.walk())) is not None:
            raise unsupported(f"{name} in the condition of an outer join of two streams")
        found = stream_joins(inner, self._streams)
        has_match, is_given = node.kind is JoinKind.SEMI, self._sink_mode is not None
        of_left, of_right = (
            MatchedRows(side, inner, given.output, end, has_match, self._new_column, is_given)
            for side, given, end in zip((left, right), node.children, bounds or (None, None), strict=True)
        )
        ends = bounds if bounds is not None and self._is_bounding else (None, None)
        if node.kind in LEFT_ONLY_JOINS:
            self.parts.append((node, SemiJoinState(node, of_left, ends[0])))
        else:
            has_left, has_right = OUTER_JOINS[node.kind]
            place = len(self.parts) + 1
            places = (place, place + has_left)
            joined = all_rows_state(Project(inner, node.output), "rows of a join", None, self._new_column)
            left_alone, right_alone = (
                UnmatchedRows(at, rows, end) if has else None
                for has, at, rows, end in zip((has_left, has_right), places, (of_left, of_right), ends, strict=True)
            )
            self.give_only()
            self.parts.append((node, OuterJoinState(node, joined, left_alone, right_alone, self._new_column)))
            self.parts += [(node.left, of_left)] if has_left else []
            self.parts += [(node.right, of_right)] if has_right else []
        for join in found:
            self._add_sides(join, expires=bounds is not None)

    def _bounds_of(self, node: Join) -> tuple[MatchEnd, MatchEnd] | None:
        """When rows of both sides of an outer join find no match any more; None if unknown, or if nothing expires."""
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
        after_right, after_left = self.marks.of_other(of_right, of_left), self.marks.of_other(of_left, of_right)
        return MatchEnd(left, most, after_right), MatchEnd(right, -least, after_left)


class WatermarkParts:
    """Builder that adds the parts with watermarks to the parts of a query."""

    def __init__(self, parts: list[tuple[LogicalPlan, StatePart]], context: Context) -> None:
        self._parts = parts
        self._context = context
        self._of_streams: dict[str, tuple[int, StreamWatermark]] = {}
        self._active: dict[frozenset[str], tuple[int, ActiveWatermark]] = {}

    def of_stream(self, scan: Scan) -> int:
        """Place of the part with the watermark of a stream."""
        return self._of_stream(scan)[0]

    def num_rows(self, scan: Scan) -> int:
        """Add a part with the number of rows of a stream that have arrived. Return its place."""
        times = stream_watermark(scan, self._context).times
        return self._add(scan, NumRows(times, self._context.column))

    def of_other(self, scan: Scan, waiting: Scan) -> int:
        """Place of the part with the watermark of a stream for which rows of another stream wait.

        If the stream may be idle, this is the watermark of both.
        """
        streams = {one.table.table_id: one for one in (scan, waiting)}
        watermark = scan.table.watermark
        if len(streams) == 1 or watermark is None or watermark.idle is None:
            return self.of_stream(scan)
        marks = ((stream, one.table.watermark) for stream, one in streams.items())
        idle = {stream: mark.idle for stream, mark in marks if mark is not None and mark.idle is not None}
        return self._of_active(list(streams.values()), idle)[0]

    def of_rows(self, rows: LogicalPlan, what: str) -> Watermarks:
        """The watermarks of the streams that some rows come from.

        Raise UnsupportedError if a stream has none. `what` names the feature that needs it.
        """
        scans = {scan.table.table_id: scan for scan in stream_scans(rows)}
        idle = dict[str, int]()
        for stream, scan in scans.items():
            watermark = scan.table.watermark
            if watermark is None:
                raise unsupported(f"{what} over {scan.table.qualified_name}, which has no WATERMARK,")
            if watermark.idle is not None:
                idle[stream] = watermark.idle
        found = tuple(map(self._of_stream, scans.values()))
        parts = (self._of_active(list(scans.values()), idle),) if idle and len(scans) > 1 else found
        return Watermarks(parts, self._context.column)

    def _of_stream(self, scan: Scan) -> tuple[int, StreamWatermark]:
        stream = scan.table.table_id
        if stream not in self._of_streams:
            part = stream_watermark(scan, self._context)
            self._of_streams[stream] = self._add(scan, part), part
        return self._of_streams[stream]

    def _of_active(self, scans: Sequence[Scan], idle: dict[str, int]) -> tuple[int, ActiveWatermark]:
        """The watermark of several streams. `idle` has the microseconds after which some of them are idle."""
        known = frozenset(scan.table.table_id for scan in scans)
        if known not in self._active:
            now = Literal(self._context.utc_now, TIMESTAMP)
            streams = list[ActiveStream]()
            for scan in scans:
                place, watermark = self._of_stream(scan)
                if (time := idle.get(scan.table.table_id)) is None:
                    streams.append(ActiveStream(place, watermark))
                    continue
                arrivals = StreamArrivals(stream_watermark(scan, self._context), now, self._context.column)
                streams.append(ActiveStream(place, watermark, (self._add(scan, arrivals), arrivals), time))
            part = ActiveWatermark(len(self._parts), tuple(streams), now, self._context.column)
            self._active[known] = self._add(scans[0], part), part
        return self._active[known]

    def _add(self, node: LogicalPlan, part: StatePart) -> int:
        self._parts.append((node, part))
        return len(self._parts) - 1


def stream_scans(plan: LogicalPlan) -> list[Scan]:
    return [node for node in plan.walk() if isinstance(node, Scan) and node.table.is_stream]
