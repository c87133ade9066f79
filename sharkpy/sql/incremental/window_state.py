"""Parts of the state of window functions over streams.

They store emitted rows, rows that wait or are looked back to, totals of functions over all rows before, and the number
of late rows.
"""

from __future__ import annotations

from dataclasses import replace

from sharkpy.base.records import dataclass
from sharkpy.plan.expr import AggregateCall, Call, ColumnRef, Expr, Literal, SortKey, WindowCall
from sharkpy.plan.logical import Aggregate, Filter, LogicalPlan, Project, Window
from sharkpy.plan.references import substitute
from sharkpy.sql.incremental.aggregate_state import AggregateState
from sharkpy.sql.incremental.row_state import replace_rows
from sharkpy.sql.incremental.state import EpochState, StoredState, schema_of, with_ids_of
from sharkpy.sql.incremental.stream_join import with_new_ids
from sharkpy.sql.incremental.stream_window import StreamWindow, is_from
from sharkpy.values.types import BIGINT, BOOLEAN, INT, Field, Schema


@dataclass(frozen=True, slots=True)
class PassedRows:
    """State of rows that the watermark has passed, with the results of the functions and of operators above.

    These rows are final.
    """

    node: LogicalPlan
    """The Window, or a row-wise operator above it."""
    window: StreamWindow

    @property
    def schema(self) -> Schema:
        return schema_of(self.node.output)

    def delta(self, kept: StoredState) -> LogicalPlan:
        rows = replace_rows(self.node, self.window.node, self.window.passed(kept))
        return self.window.as_state(rows, self.schema)

    def read(self, rows: LogicalPlan, _kept: StoredState) -> LogicalPlan:
        return with_ids_of(self.node.output, rows)

    def emitted(self, place: int, epoch: EpochState) -> LogicalPlan:
        """The rows that an epoch's watermark passes."""
        return self.read(epoch.added(place), epoch.before)

    def fold(self, rows: LogicalPlan, _kept: StoredState) -> LogicalPlan:
        return rows

    @property
    def label(self) -> str:
        return "rows with the values of window functions, given when the watermark has passed them"

    @property
    def growth(self) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class WaitingRows:
    """State of rows that the watermark has not passed, or not by the time that functions look back and ahead."""

    window: StreamWindow

    @property
    def schema(self) -> Schema:
        return schema_of(self.window.columns)

    def delta(self, kept: StoredState) -> LogicalPlan:
        rows = self.window.new_rows()
        marked, mark = self.window.with_mark(rows, kept)
        in_time = Filter(marked, is_from(self.window.time_of(rows.output), mark))
        return self.window.as_state(Project(in_time, rows.output), self.schema)

    def read(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        marked, mark = self.window.with_mark(rows, kept)
        reached = self.window.reached(self.window.time_of(rows.output))
        return Project(Filter(marked, is_from(reached, mark)), rows.output)

    def fold(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        """Fold rows that may still be needed.

        `kept` has the watermark of the folded rows, which is at most the watermark of all rows.
        """
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
    """State of the last rows of each partition that the watermark has passed.

    These are the rows that wait for later rows, and as many rows before them as functions look back.
    """

    window: StreamWindow

    @property
    def schema(self) -> Schema:
        return schema_of(self.window.columns)

    def delta(self, kept: StoredState) -> LogicalPlan:
        rows = self._last(self.window.left_behind(kept), self.window.columns)
        return self.window.as_state(rows, self.schema)

    def read(self, rows: LogicalPlan, _kept: StoredState) -> LogicalPlan:
        return self._last(rows, rows.output)

    def fold(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        return self.read(rows, kept)

    @property
    def label(self) -> str:
        names = self.window.partition
        return f"the last {self.window.back.by_rows} rows{f' of each {names}' if names else ''} behind the watermark"

    @property
    def growth(self) -> str | None:
        names = self.window.partition
        return f"the state of the last rows by {names} grows with the values of these" if names else None

    def _last(self, rows: LogicalPlan, columns: tuple[ColumnRef, ...]) -> LogicalPlan:
        """The last rows of each partition. `columns` match the columns of the Window's child."""
        known: dict[int, Expr] = {own.column_id: given for own, given in zip(self.window.columns, columns, strict=True)}
        partition = tuple(substitute(expr, known) for expr in self.window.back.partition_by)
        order = (SortKey(self.window.time_of(columns), ascending=False, nulls_first=False),)
        back, new_column = self.window.back, self.window.new_column
        place, rank, waiting = new_column("place", INT), new_column("rank", INT), new_column("waiting", BIGINT)
        numbers = {place: "row_number", rank: "rank"}
        ranked = Window(
            rows,
            tuple(one.holding(WindowCall(name, (), partition, order, None, INT)) for one, name in numbers.items()),
        )
        # Rows with the same time wait together, and each of them looks back.
        is_waiting = Call("le", (rank, Literal(back.rows_ahead, INT)), BOOLEAN)
        one = Call("case_when", (is_waiting, Literal(1, INT), Literal(0, INT)), INT)
        number = WindowCall("sum", (one,), partition, (), None, BIGINT)
        counted = Window(ranked, (waiting.holding(number),))
        most = Call("add", (waiting, Literal(back.rows, BIGINT)), BIGINT)
        return Project(Filter(counted, Call("le", (place, most), BOOLEAN)), columns)


@dataclass(frozen=True, slots=True)
class RunningTotals:
    """State of the totals of functions over all rows before, for each partition.

    It covers the rows that the watermark has passed.
    """

    window: StreamWindow
    states: AggregateState

    @property
    def schema(self) -> Schema:
        return self.states.schema

    def delta(self, kept: StoredState) -> LogicalPlan:
        return with_new_ids(replace(self.states.added, child=self.window.passing(kept)), self.window.new_column)

    def read(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        return self.states.read(rows, kept)

    def fold(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
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
    """State of the number of rows that were older than the watermark at their arrival."""

    window: StreamWindow

    @property
    def schema(self) -> Schema:
        return Schema((Field("late", BIGINT),))

    def delta(self, kept: StoredState) -> LogicalPlan:
        return self._aggregated(self.late_rows(kept), "count", ())

    def late_rows(self, kept: StoredState) -> LogicalPlan:
        """Rows of an epoch that are older than the watermark."""
        rows = self.window.new_rows()
        marked, mark = self.window.with_mark(rows, kept)
        return Project(Filter(marked, Call("lt", (self.window.time_of(rows.output), mark), BOOLEAN)), rows.output)

    def read(self, rows: LogicalPlan, _kept: StoredState) -> LogicalPlan:
        return self.num_late(rows)

    def fold(self, rows: LogicalPlan, _kept: StoredState) -> LogicalPlan:
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
