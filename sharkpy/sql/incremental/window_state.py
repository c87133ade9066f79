"""Window functions over streams, in the order of a time with a WATERMARK: an epoch gives the rows that the watermark
passes, with what the functions find of these and of the rows that they look back to, and ahead to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sharkpy.plan.expr import AggregateCall, Alias, Call, ColumnRef, Expr, Literal, SortKey, WindowCall, disjunction
from sharkpy.plan.logical import Aggregate, Filter, LogicalPlan, Project, Union, Window
from sharkpy.plan.references import substitute
from sharkpy.plan.sessions import behind
from sharkpy.sql.incremental.aggregate_state import AggregateState
from sharkpy.sql.incremental.kept_rows import shown, with_rows
from sharkpy.sql.incremental.look_back import LookBack
from sharkpy.sql.incremental.running_totals import with_running
from sharkpy.sql.incremental.state import EpochState, Kept, NewColumn, as_state, schema_of, under
from sharkpy.sql.incremental.stream_join import apart
from sharkpy.sql.incremental.watermarks import Watermarks
from sharkpy.values.types import BIGINT, BOOLEAN, INT, TIMESTAMP, Field, Schema

_NEW, _WAITING, _LAST = range(3)
"""Where rows come from that an epoch looks at: from the streams, or from the parts of the state."""


@dataclass(frozen=True, slots=True)
class StreamWindow:
    """A Window over rows of epochs, and the parts of the state that its rows wait in.

    Rows wait until the watermark has passed their time, by as much as functions look ahead: then all rows before them,
    and within that time, are there, for those that come behind the watermark are late, and left out, as are rows
    without a time. Rows of one time are given together.
    """

    node: Window
    back: LookBack
    marks: Watermarks
    waiting: int
    """Part with rows that wait, or that are within the time that functions look back."""
    last: int | None
    """Part with the last rows of each partition; None where no function looks back by rows."""
    totals: int | None
    """Part with what functions over all rows before have come to; None where there are none."""
    new_column: NewColumn

    @property
    def partition(self) -> str:
        """What functions that look back by rows, or at all, are by, for people."""
        return ", ".join(map(shown, self.back.partition_by))

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        return self.node.child.output

    def new_rows(self) -> LogicalPlan:
        """Rows of an epoch, under ids of their own."""
        return apart(self.node.child, self.new_column)

    def beside_mark(self, rows: LogicalPlan, kept: Kept) -> tuple[LogicalPlan, ColumnRef]:
        """Rows with the watermark that is kept as their last column, which is given too."""
        mark = self._new_mark()
        return self.marks.beside(rows, kept, mark), mark

    def time_of(self, columns: Sequence[ColumnRef]) -> ColumnRef:
        return columns[self.back.time]

    def reached(self, time: Expr) -> Expr:
        """Until when no watermark may be, so that a row of a time is looked back to by rows that wait."""
        return behind(time, self.back.microseconds + self.back.ahead)

    def passed(self, kept: Kept) -> LogicalPlan:
        """The rows of the Window that an epoch's watermark passes."""
        rows, before, after = self._looked_at(kept, with_last=True)
        if self.totals is None:
            return self._passing(Window(rows, self.node.windows), before, after, self.node.output)
        running, partition_by = self.back.running, self.back.partition_by
        at_all = {one.item.column_id for one in running}
        bounded = [item for item in self.node.windows if item.column_id not in at_all]
        time, place = self.time_of(rows.output), self.new_column("place", INT)
        # Rows of one time are in one order for all functions.
        numbers = WindowCall("row_number", (), partition_by, (SortKey(time),), None, INT)
        columns = (*self.columns, *(item.ref for item in bounded), place)
        passed = self._passing(Window(rows, (*bounded, place.holding(numbers))), before, after, columns)
        totals = kept(self.totals)
        passed, values = with_running(passed, (time, place), totals, running, partition_by, self.new_column)
        items = (
            Alias(values[item.column_id], item.column_id, item.name) if item.column_id in values else item.ref
            for item in self.node.windows
        )
        return Project(passed, (*self.columns, *items))

    def passing(self, kept: Kept) -> LogicalPlan:
        """As `passed`, without the functions."""
        rows, before, after = self._looked_at(kept, with_last=False)
        return self._passing(rows, before, after, self.columns)

    def as_state(self, rows: LogicalPlan, schema: Schema) -> LogicalPlan:
        """Rows as those of a part of the state, under ids of their own."""
        return apart(as_state(rows, rows.output, schema, self.new_column), self.new_column)

    def _passing(
        self, rows: LogicalPlan, before: ColumnRef, after: ColumnRef, columns: Sequence[ColumnRef]
    ) -> LogicalPlan:
        time = self.time_of(rows.output)
        seen = behind(time, self.back.ahead) if self.back.ahead else time
        is_passed = Call("and", (_is_from(seen, before), Call("lt", (seen, after), BOOLEAN)), BOOLEAN)
        return Project(Filter(rows, is_passed), tuple(columns))

    def _looked_at(self, kept: Kept, *, with_last: bool) -> tuple[LogicalPlan, ColumnRef, ColumnRef]:
        """Rows that wait, are new, or are looked back to, under the ids of the Window's child; and the columns behind
        them with the watermark before the epoch and the one that it comes to.
        """
        given = {_NEW: self.new_rows(), _WAITING: kept.rows(self.waiting)}
        if with_last and self.last is not None:
            given[_LAST] = kept(self.last)
        source = self.new_column("source", INT)
        inputs = [
            Project(rows, (*rows.output, self.new_column("source", INT).holding(Literal(place, INT))))
            for place, rows in given.items()
        ]
        rows: LogicalPlan = Union(tuple(inputs), (*self.columns, source))
        before, after = self._new_mark(), self._new_mark()
        rows = self.marks.beside_next(self.marks.beside(rows, kept, before), kept, after)
        time = self.time_of(rows.output)
        reached = self.reached(time)
        wanted = {
            _NEW: _is_from(time, before),
            _WAITING: _is_from(reached, before),
            # The others are among those that wait.
            _LAST: Call("lt", (reached, before), BOOLEAN),
        }
        terms = [
            Call("and", (Call("eq", (source, Literal(place, INT)), BOOLEAN), wanted[place]), BOOLEAN) for place in given
        ]
        is_wanted = disjunction(terms)
        assert is_wanted is not None  # there are new rows
        return Project(Filter(rows, is_wanted), (*self.columns, before, after)), before, after

    def _new_mark(self) -> ColumnRef:
        return self.new_column("watermark", TIMESTAMP)


@dataclass(frozen=True, slots=True)
class PassedRows:
    """State of rows that the watermark has passed, with what the functions have found and the operators above have made
    of them. They do not change any more.
    """

    node: LogicalPlan
    """The Window, or a row-wise operator above it."""
    window: StreamWindow

    @property
    def schema(self) -> Schema:
        return schema_of(self.node.output)

    def delta(self, kept: Kept) -> LogicalPlan:
        rows = with_rows(self.node, self.window.node, self.window.passed(kept))
        return self.window.as_state(rows, self.schema)

    def read(self, rows: LogicalPlan, _kept: Kept) -> LogicalPlan:
        return under(self.node.output, rows)

    def given(self, place: int, epoch: EpochState) -> LogicalPlan:
        """The rows that an epoch's watermark passes."""
        return self.read(epoch.added(place), epoch.before)

    def fold(self, rows: LogicalPlan, _kept: Kept) -> LogicalPlan:
        return rows

    @property
    def label(self) -> str:
        return "rows with the values of window functions, given when the watermark has passed them"

    @property
    def growth(self) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class WaitingRows:
    """State of rows that the watermark has not passed, or only by less than the time that functions look."""

    window: StreamWindow

    @property
    def schema(self) -> Schema:
        return schema_of(self.window.columns)

    def delta(self, kept: Kept) -> LogicalPlan:
        rows = self.window.new_rows()
        beside, mark = self.window.beside_mark(rows, kept)
        in_time = Filter(beside, _is_from(self.window.time_of(rows.output), mark))
        return self.window.as_state(Project(in_time, rows.output), self.schema)

    def read(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        beside, mark = self.window.beside_mark(rows, kept)
        reached = self.window.reached(self.window.time_of(rows.output))
        return Project(Filter(beside, _is_from(reached, mark)), rows.output)

    def fold(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        """`kept` has the watermark of the folded rows, which is not beyond that of all."""
        return self.read(rows, kept)

    @property
    def label(self) -> str:
        seconds = (self.window.back.microseconds + self.window.back.ahead) / 1e6
        return f"rows until the watermark has passed them{f' by {seconds:g} s' if seconds else ''}"

    @property
    def growth(self) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class LastRows:
    """State of the last rows of each partition that the watermark has passed, as many as functions look back to."""

    window: StreamWindow

    @property
    def schema(self) -> Schema:
        return schema_of(self.window.columns)

    def delta(self, kept: Kept) -> LogicalPlan:
        rows = self._last(self.window.passing(kept), self.window.columns)
        return self.window.as_state(rows, self.schema)

    def read(self, rows: LogicalPlan, _kept: Kept) -> LogicalPlan:
        return self._last(rows, rows.output)

    def fold(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        return self.read(rows, kept)

    @property
    def label(self) -> str:
        names = self.window.partition
        return f"the last {self.window.back.rows} rows{f' of each {names}' if names else ''} behind the watermark"

    @property
    def growth(self) -> str | None:
        names = self.window.partition
        return f"the state of the last rows by {names} grows with the values of these" if names else None

    def _last(self, rows: LogicalPlan, columns: tuple[ColumnRef, ...]) -> LogicalPlan:
        """The last rows of each partition; `columns` are those of the Window's child."""
        known: dict[int, Expr] = {own.column_id: given for own, given in zip(self.window.columns, columns, strict=True)}
        partition = tuple(substitute(expr, known) for expr in self.window.back.partition_by)
        order = (SortKey(self.window.time_of(columns), ascending=False, nulls_first=False),)
        place = self.window.new_column("place", INT)
        ranked = Window(rows, (place.holding(WindowCall("row_number", (), partition, order, None, place.dtype)),))
        kept = Call("le", (place, Literal(self.window.back.rows, INT)), BOOLEAN)
        return Project(Filter(ranked, kept), columns)


@dataclass(frozen=True, slots=True)
class RunningTotals:
    """State of what functions over all rows before have come to, in each partition, of rows that the watermark has
    passed.
    """

    window: StreamWindow
    states: AggregateState

    @property
    def schema(self) -> Schema:
        return self.states.schema

    def delta(self, kept: Kept) -> LogicalPlan:
        return apart(replace(self.states.added, child=self.window.passing(kept)), self.window.new_column)

    def read(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        return self.states.read(rows, kept)

    def fold(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        return self.states.fold(rows, kept)

    @property
    def label(self) -> str:
        names = self.window.partition
        return f"what window functions have come to{f' of each {names}' if names else ''}"

    @property
    def growth(self) -> str | None:
        names = self.window.partition
        return f"the state of window functions by {names} grows with the values of these" if names else None


@dataclass(frozen=True, slots=True)
class NumLateRows:
    """State of the number of rows that came behind the watermark."""

    window: StreamWindow

    @property
    def schema(self) -> Schema:
        return Schema((Field("late", BIGINT),))

    def delta(self, kept: Kept) -> LogicalPlan:
        return self._aggregated(self.late_rows(kept), "count", ())

    def late_rows(self, kept: Kept) -> LogicalPlan:
        """Rows of an epoch that come behind the watermark."""
        rows = self.window.new_rows()
        beside, mark = self.window.beside_mark(rows, kept)
        return Project(Filter(beside, Call("lt", (self.window.time_of(rows.output), mark), BOOLEAN)), rows.output)

    def read(self, rows: LogicalPlan, _kept: Kept) -> LogicalPlan:
        return self.num_late(rows)

    def fold(self, rows: LogicalPlan, _kept: Kept) -> LogicalPlan:
        return self.num_late(rows)

    def num_late(self, rows: LogicalPlan) -> LogicalPlan:
        """A row with the number of late rows."""
        return self._aggregated(rows, "sum", rows.output[:1])

    @property
    def label(self) -> str:
        return "the number of rows that came behind the watermark"

    @property
    def growth(self) -> str | None:
        return None

    def _aggregated(self, rows: LogicalPlan, function: str, args: tuple[ColumnRef, ...]) -> LogicalPlan:
        call = AggregateCall(function, args, BIGINT)
        return Aggregate(rows, (), (self.window.new_column("late", BIGINT).holding(call),))


def _is_from(time: Expr, mark: ColumnRef) -> Expr:
    """Whether a time is not before a watermark, if there is one yet."""
    is_first = Call("and", (Call("is_null", (mark,), BOOLEAN), Call("is_not_null", (time,), BOOLEAN)), BOOLEAN)
    return Call("or", (Call("ge", (time, mark), BOOLEAN), is_first), BOOLEAN)
