"""Watermarks of streams: the columns that have one, and its value as a part of a state.

A stream with IDLE AFTER that has no rows for that time, by the clock, does not hold back the least watermark of several
streams.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from sharkpy.base.errors import InternalError
from sharkpy.base.records import dataclass
from sharkpy.plan.expr import AggregateCall, Alias, Call, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Aggregate, Join, JoinKind, LogicalPlan, Project, Scan, Union
from sharkpy.plan.session_windows import time_after
from sharkpy.sql.context import Context
from sharkpy.sql.incremental.state import NewColumn, StatePart, StoredState
from sharkpy.sql.incremental.stream_join import with_new_ids
from sharkpy.sql.queries.bind_table import watermark_column, with_computed_columns
from sharkpy.values.types import BIGINT, BOOLEAN, TIMESTAMP, Field, Schema


@dataclass(frozen=True, slots=True)
class StreamWatermark:
    """State of the watermark of a stream: its latest time."""

    stream: str
    times: LogicalPlan
    """Times of an epoch's rows."""
    delay: int
    new_column: NewColumn

    @property
    def schema(self) -> Schema:
        return Schema((Field("latest", TIMESTAMP),))

    def delta(self, _kept: StoredState) -> LogicalPlan:
        return self._latest(self.times)

    def read(self, rows: LogicalPlan, _kept: StoredState) -> LogicalPlan:
        """A row with the watermark; NULL if no time has arrived."""
        latest = self._latest(rows)
        mark = time_after(latest.output[0], -self.delay)
        return Project(latest, (self.new_column("watermark", TIMESTAMP).holding(mark),))

    def fold(self, rows: LogicalPlan, _kept: StoredState) -> LogicalPlan:
        return self._latest(rows)

    def _latest(self, rows: LogicalPlan) -> LogicalPlan:
        latest = AggregateCall("max", (rows.output[0],), TIMESTAMP)
        return Aggregate(rows, (), (self.new_column("latest", TIMESTAMP).holding(latest),))

    @property
    def label(self) -> str:
        return f"the latest time of {self.stream}"

    @property
    def growth(self) -> str | None:
        return None


def read_after_epoch(place: int, part: StatePart, kept: StoredState, new_column: NewColumn) -> LogicalPlan:
    """Read a part of the state as it will be after the epoch."""
    # Stored rows are folded separately, so that statistics may answer.
    before = part.fold(kept.rows(place), kept)
    columns = tuple(new_column(column.name, column.dtype) for column in before.output)
    return part.read(Union((before, with_new_ids(part.delta(kept), new_column)), columns), kept)


@dataclass(frozen=True, slots=True)
class Watermarks:
    """The watermarks of the streams that rows come from. The least one counts; NULL until all of them have one."""

    parts: tuple[tuple[int, StatePart], ...]
    """Parts, with their places in the state."""
    new_column: NewColumn

    @property
    def places(self) -> tuple[int, ...]:
        return tuple(place for place, _ in self.parts)

    @property
    def label(self) -> str:
        """Text that says when windows are closed."""
        return "the watermark closes their windows"

    def with_watermark(self, rows: LogicalPlan, kept: StoredState, mark: ColumnRef) -> LogicalPlan:
        """Append the current watermark to rows, as column `mark`."""
        return with_least_watermark(rows, [kept(place) for place, _ in self.parts], mark)

    def with_next_watermark(self, rows: LogicalPlan, kept: StoredState, mark: ColumnRef) -> LogicalPlan:
        """Append the watermark after the epoch to rows, as column `mark`."""
        return with_least_watermark(
            rows, [read_after_epoch(place, part, kept, self.new_column) for place, part in self.parts], mark
        )


def with_least_watermark(rows: LogicalPlan, marks: Sequence[LogicalPlan], mark: ColumnRef) -> LogicalPlan:
    """Append the least of some watermarks, each a row, to rows; NULL if one of them is NULL."""
    columns, found = rows.output, tuple(one.output[0] for one in marks)
    for one in marks:
        rows = Join(rows, one, JoinKind.CROSS)
    least = found[0] if len(found) == 1 else Call("least", found, TIMESTAMP)
    return Project(rows, (*columns, mark.holding(least)))


def stream_watermark(scan: Scan, context: Context) -> StreamWatermark:
    """The watermark of a scanned stream."""
    watermark = scan.table.watermark
    if watermark is None:
        raise InternalError(f"{scan.table.qualified_name} has no watermark")
    rows = scan if watermark.column in scan.names else with_computed_columns(context, scan, scan.table)
    time = next(column for column in rows.output if column.name == watermark.column)
    times = with_new_ids(Project(rows, (time,)), context.column)
    return StreamWatermark(scan.table.qualified_name, times, watermark.delay, context.column)


def has_watermark(time: Expr, rows: LogicalPlan) -> bool:
    """Return whether `time` is a column of `rows` on which a stream has a watermark, also if it was renamed."""
    return isinstance(time, ColumnRef) and time.column_id in _times_of(rows)


def _times_of(rows: LogicalPlan) -> set[int]:
    found = set[int]()
    for node in reversed(list(rows.walk())):
        if (time := watermark_column(node)) is not None:
            found.add(time.column_id)
        if isinstance(node, Project):
            found |= {
                item.column_id
                for item in node.items
                if isinstance(item, Alias) and isinstance(item.expr, ColumnRef) and item.expr.column_id in found
            }
        elif isinstance(node, Union):
            found |= {
                column.column_id
                for place, column in enumerate(node.columns)
                if all(side.output[place].column_id in found for side in node.inputs)
            }
    return found


NEVER = Literal(datetime.datetime(9999, 12, 31), TIMESTAMP)
"""A time after every other time."""
_NOTHING = Literal(None, TIMESTAMP)


@dataclass(frozen=True, slots=True)
class StreamArrivals:
    """State of the last arrival of a stream's rows: the time of the last epoch with some."""

    watermark: StreamWatermark
    now: Literal
    new_column: NewColumn

    @property
    def schema(self) -> Schema:
        return Schema((Field("arrived", TIMESTAMP),))

    def delta(self, _kept: StoredState) -> LogicalPlan:
        number = self.new_column("num_rows", BIGINT)
        counted = Aggregate(self.watermark.times, (), (number.holding(AggregateCall("count", (), BIGINT)),))
        has_rows = Call("gt", (number, Literal(0, BIGINT)), BOOLEAN)
        arrived = Call("case_when", (has_rows, self.now, _NOTHING), TIMESTAMP)
        return Project(counted, (self.new_column("arrived", TIMESTAMP).holding(arrived),))

    def read(self, rows: LogicalPlan, _kept: StoredState) -> LogicalPlan:
        return _extreme("max", rows, 0, self.new_column)

    def fold(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        return self.read(rows, kept)

    @property
    def label(self) -> str:
        return f"when rows of {self.watermark.stream} have come"

    @property
    def growth(self) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class ActiveStream:
    """A stream with its watermark and its arrivals. A stream without arrivals is never idle."""

    place: int
    watermark: StreamWatermark
    arrivals: tuple[int, StreamArrivals] | None = None
    idle: int = 0
    """Microseconds without rows after which the stream is idle."""


@dataclass(frozen=True, slots=True)
class ActiveWatermark:
    """State of the watermark of several streams: the least watermark of the streams that are not idle, as of each
    epoch.

    It never moves back, even if a stream that was idle resumes with an earlier time.
    """

    place: int
    streams: tuple[ActiveStream, ...]
    now: Literal
    new_column: NewColumn

    @property
    def schema(self) -> Schema:
        return Schema((Field("active_watermark", TIMESTAMP), Field("began", TIMESTAMP)))

    def delta(self, kept: StoredState) -> LogicalPlan:
        # For a stream that never had rows, the idle time begins with the first epoch.
        rows: LogicalPlan = _extreme("min", kept.rows(self.place), 1, self.new_column)
        began = Call("coalesce", (rows.output[0], self.now), TIMESTAMP)
        marks = list[Expr]()
        for one in self.streams:
            mark = read_after_epoch(one.place, one.watermark, kept, self.new_column)
            rows = Join(rows, mark, JoinKind.CROSS)
            found: Expr = mark.output[0]
            if one.arrivals is not None:
                place, arrivals = one.arrivals
                last = read_after_epoch(place, arrivals, kept, self.new_column)
                rows = Join(rows, last, JoinKind.CROSS)
                found = Call("case_when", (self._is_idle(one, last.output[0], began), NEVER, found), TIMESTAMP)
            marks.append(found)
        least = Call("least", tuple(marks), TIMESTAMP)
        is_none = Call("eq", (least, NEVER), BOOLEAN)
        active = Call("case_when", (is_none, _NOTHING, least), TIMESTAMP)
        names = [self.new_column(field.name, field.dtype) for field in self.schema]
        return Project(rows, tuple(name.holding(expr) for name, expr in zip(names, (active, self.now), strict=True)))

    def idle_streams(self, kept: StoredState) -> LogicalPlan:
        """A row with a column for each stream with IDLE AFTER, named after the stream: whether it is idle now."""
        rows: LogicalPlan = _extreme("min", kept.rows(self.place), 1, self.new_column)
        began, items = rows.output[0], list[Alias]()
        for one in self.streams:
            if one.arrivals is not None:
                last = kept(one.arrivals[0])
                rows = Join(rows, last, JoinKind.CROSS)
                name = self.new_column(one.watermark.stream, BOOLEAN)
                items.append(name.holding(self._is_idle(one, last.output[0], began)))
        return Project(rows, tuple(items))

    def _is_idle(self, one: ActiveStream, arrived: Expr, began: Expr) -> Expr:
        ends = time_after(Call("coalesce", (arrived, began), TIMESTAMP), one.idle)
        return Call("lt", (ends, self.now), BOOLEAN)

    def read(self, rows: LogicalPlan, _kept: StoredState) -> LogicalPlan:
        return _extreme("max", rows, 0, self.new_column)

    def fold(self, rows: LogicalPlan, _kept: StoredState) -> LogicalPlan:
        items = [
            self.new_column(column.name, TIMESTAMP).holding(AggregateCall(function, (column,), TIMESTAMP))
            for function, column in zip(("max", "min"), rows.output, strict=True)
        ]
        return Aggregate(rows, (), tuple(items))

    @property
    def label(self) -> str:
        return "the watermark of the streams that are not idle"

    @property
    def growth(self) -> str | None:
        return None


def _extreme(function: str, rows: LogicalPlan, place: int, new_column: NewColumn) -> LogicalPlan:
    """A row with `function`, min or max, of a column of times."""
    column = rows.output[place]
    call = AggregateCall(function, (column,), TIMESTAMP)
    return Aggregate(rows, (), (new_column(column.name, TIMESTAMP).holding(call),))
