"""Watermarks of several streams of which some have IDLE AFTER.

A stream without rows for that time, by the clock, does not hold back the watermark.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from sharkpy.plan.expr import AggregateCall, Call, Expr, Literal
from sharkpy.plan.logical import Aggregate, Join, JoinKind, LogicalPlan, Project
from sharkpy.plan.session_windows import time_after
from sharkpy.sql.incremental.state import Kept, NewColumn
from sharkpy.sql.incremental.watermarks import StreamWatermark, read_next
from sharkpy.values.types import BIGINT, BOOLEAN, TIMESTAMP, Field, Schema

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

    def delta(self, _kept: Kept) -> LogicalPlan:
        number = self.new_column("num_rows", BIGINT)
        counted = Aggregate(self.watermark.times, (), (number.holding(AggregateCall("count", (), BIGINT)),))
        has_rows = Call("gt", (number, Literal(0, BIGINT)), BOOLEAN)
        arrived = Call("case_when", (has_rows, self.now, _NOTHING), TIMESTAMP)
        return Project(counted, (self.new_column("arrived", TIMESTAMP).holding(arrived),))

    def read(self, rows: LogicalPlan, _kept: Kept) -> LogicalPlan:
        return _extreme("max", rows, 0, self.new_column)

    def fold(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
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

    def delta(self, kept: Kept) -> LogicalPlan:
        # For a stream that never had rows, the idle time begins with the first epoch.
        rows: LogicalPlan = _extreme("min", kept.rows(self.place), 1, self.new_column)
        began = Call("coalesce", (rows.output[0], self.now), TIMESTAMP)
        marks = list[Expr]()
        for one in self.streams:
            mark = read_next(one.place, one.watermark, kept, self.new_column)
            rows = Join(rows, mark, JoinKind.CROSS)
            found: Expr = mark.output[0]
            if one.arrivals is not None:
                place, arrivals = one.arrivals
                last = read_next(place, arrivals, kept, self.new_column)
                rows = Join(rows, last, JoinKind.CROSS)
                ends = time_after(Call("coalesce", (last.output[0], began), TIMESTAMP), one.idle)
                found = Call("case_when", (Call("lt", (ends, self.now), BOOLEAN), NEVER, found), TIMESTAMP)
            marks.append(found)
        least = Call("least", tuple(marks), TIMESTAMP)
        is_none = Call("eq", (least, NEVER), BOOLEAN)
        active = Call("case_when", (is_none, _NOTHING, least), TIMESTAMP)
        names = [self.new_column(field.name, field.dtype) for field in self.schema]
        return Project(rows, tuple(name.holding(expr) for name, expr in zip(names, (active, self.now), strict=True)))

    def read(self, rows: LogicalPlan, _kept: Kept) -> LogicalPlan:
        return _extreme("max", rows, 0, self.new_column)

    def fold(self, rows: LogicalPlan, _kept: Kept) -> LogicalPlan:
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
