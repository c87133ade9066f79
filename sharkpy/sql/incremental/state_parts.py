"""Collection of the parts of a query's state. Joins of streams and row numbers add further parts."""

from __future__ import annotations

from sharkpy.catalog.continuous_query import EmitMode
from sharkpy.plan.logical import LEFT_ONLY_JOINS, Join, JoinKind, LogicalPlan, Project, Window
from sharkpy.sql.context import Context
from sharkpy.sql.incremental.arrival import arrived
from sharkpy.sql.incremental.changing import changing
from sharkpy.sql.incremental.divided_query import DividedQuery
from sharkpy.sql.incremental.expiring_rows import ExpiringRows
from sharkpy.sql.incremental.kept_rows import all_rows
from sharkpy.sql.incremental.outer_join import (
    OUTER_JOINS,
    End,
    MatchedRows,
    OuterJoinState,
    SemiJoinState,
    WithoutMatch,
)
from sharkpy.sql.incremental.row_numbers import NumRows, RowNumbers
from sharkpy.sql.incremental.row_wise import (
    Streams,
    has_subqueries,
    is_counted,
    queries_in,
    refused,
    varying_function,
)
from sharkpy.sql.incremental.state import StatePart
from sharkpy.sql.incremental.stream_join import OF_JOINS, StreamJoin, stream_joins
from sharkpy.sql.incremental.time_bounds import time_bounds
from sharkpy.sql.incremental.watermark_parts import WatermarkParts, stream_scans
from sharkpy.sql.incremental.watermarks import has_watermark


class StateParts:
    """Parts of a query's state, in the order in which they are found, each with its node.

    `gives` is the output mode of an insert or sink; None for a continuous table. `is_bounding`: emitted rows must not
    disappear. `expires`: rows of joins are kept only while watermarks allow a match.
    """

    def __init__(
        self, streams: Streams, context: Context, gives: EmitMode | None, *, is_bounding: bool, expires: bool
    ) -> None:
        self._streams = streams
        self._new_column = context.column
        self._gives = gives
        self._is_bounding = is_bounding
        self._expires = expires
        self.parts = list[tuple[LogicalPlan, StatePart]]()
        self.unkept = set[int]()
        """Places of parts whose rows are emitted and not stored."""
        self.joins = list[StreamJoin]()
        self.numbers = dict[int, RowNumbers]()
        """By the id of the Window that numbers the rows."""
        self.marks = WatermarkParts(self.parts, context)

    def of(self, query: LogicalPlan) -> DividedQuery:
        """Divide the query into these parts."""
        numbers, unkept = list(self.numbers.values()), frozenset(self.unkept)
        return DividedQuery(query, self.parts, self.joins, numbers, self._new_column, unkept)

    def give_only(self) -> None:
        """Emit the rows of the next part without storing them, if the query is of an insert or sink."""
        if self._gives is not None:
            self.unkept.add(len(self.parts))

    def add(self, node: LogicalPlan, part: StatePart, rows: LogicalPlan) -> None:
        self.parts.append((node, part))
        for join in stream_joins(rows, self._streams):
            self._add_sides(join, expires=self._expires)
        for window in filter(is_counted, rows.walk()):
            if not self._streams.below(window):
                continue
            if has_subqueries(rows) or any(True for _ in queries_in(node)):
                raise refused("a subquery together with row_number() OVER () of a stream")
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
        rows = all_rows(side, "rows of a side of a join", OF_JOINS, self._new_column)
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
            raise changing(self._gives)
        left, right = node.children
        if bounds is not None:
            marks = tuple(dict.fromkeys(bound.watermark for bound in bounds))
            numbers = [self.marks.num_rows(stream_scans(side)[0]) if len(marks) > 1 else None for side in node.children]
            sides = zip(node.children, numbers, strict=True)
            left, right = (arrived(side, marks, number, self._new_column) for side, number in sides)
        inner = Join(left, right, JoinKind.INNER, node.condition, node.hint)
        # Each side computes by itself whether its rows have a match.
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
            self.parts.append((node, SemiJoinState(node, of_left, ends[0])))
        else:
            has_left, has_right = OUTER_JOINS[node.kind]
            place = len(self.parts) + 1
            places = (place, place + has_left)
            joined = all_rows(Project(inner, node.output), "rows of a join", None, self._new_column)
            left_alone, right_alone = (
                WithoutMatch(at, rows, end) if has else None
                for has, at, rows, end in zip((has_left, has_right), places, (of_left, of_right), ends, strict=True)
            )
            self.give_only()
            self.parts.append((node, OuterJoinState(node, joined, left_alone, right_alone, self._new_column)))
            self.parts += [(node.left, of_left)] if has_left else []
            self.parts += [(node.right, of_right)] if has_right else []
        for join in found:
            self._add_sides(join, expires=bounds is not None)

    def _bounds_of(self, node: Join) -> tuple[End, End] | None:
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
        return End(left, most, after_right), End(right, -least, after_left)
