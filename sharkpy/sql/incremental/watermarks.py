"""Watermarks of streams: the columns that have one, and its value as a part of a state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sharkpy.base.errors import InternalError
from sharkpy.plan.expr import AggregateCall, Alias, Call, ColumnRef, Expr
from sharkpy.plan.logical import Aggregate, Join, JoinKind, LogicalPlan, Project, Scan, Union
from sharkpy.plan.session_windows import time_after
from sharkpy.sql.context import Context
from sharkpy.sql.incremental.state import Kept, NewColumn, StatePart
from sharkpy.sql.incremental.stream_join import apart
from sharkpy.sql.queries.computed_columns import marked_time, with_computed
from sharkpy.values.types import TIMESTAMP, Field, Schema


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

    def delta(self, _kept: Kept) -> LogicalPlan:
        return self._latest(self.times)

    def read(self, rows: LogicalPlan, _kept: Kept) -> LogicalPlan:
        """A row with the watermark; NULL if no time has arrived."""
        latest = self._latest(rows)
        mark = time_after(latest.output[0], -self.delay)
        return Project(latest, (self.new_column("watermark", TIMESTAMP).holding(mark),))

    def fold(self, rows: LogicalPlan, _kept: Kept) -> LogicalPlan:
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


def read_next(place: int, part: StatePart, kept: Kept, new_column: NewColumn) -> LogicalPlan:
    """Read a part of the state as it will be after the epoch."""
    # Stored rows are folded separately, so that statistics may answer.
    before = part.fold(kept.rows(place), kept)
    columns = tuple(new_column(column.name, column.dtype) for column in before.output)
    return part.read(Union((before, apart(part.delta(kept), new_column)), columns), kept)


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

    def beside(self, rows: LogicalPlan, kept: Kept, mark: ColumnRef) -> LogicalPlan:
        """Append the current watermark to rows, as column `mark`."""
        return beside_least(rows, [kept(place) for place, _ in self.parts], mark)

    def beside_next(self, rows: LogicalPlan, kept: Kept, mark: ColumnRef) -> LogicalPlan:
        """Append the watermark after the epoch to rows, as column `mark`."""
        return beside_least(rows, [read_next(place, part, kept, self.new_column) for place, part in self.parts], mark)


def beside_least(rows: LogicalPlan, marks: Sequence[LogicalPlan], mark: ColumnRef) -> LogicalPlan:
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
    rows = scan if watermark.column in scan.names else with_computed(context, scan, scan.table)
    time = next(column for column in rows.output if column.name == watermark.column)
    times = apart(Project(rows, (time,)), context.column)
    return StreamWatermark(scan.table.qualified_name, times, watermark.delay, context.column)


def has_watermark(time: Expr, rows: LogicalPlan) -> bool:
    """Return whether `time` is a column of `rows` on which a stream has a watermark, also if it was renamed."""
    return isinstance(time, ColumnRef) and time.column_id in _times_of(rows)


def _times_of(rows: LogicalPlan) -> set[int]:
    found = set[int]()
    for node in reversed(list(rows.walk())):
        if (time := marked_time(node)) is not None:
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
