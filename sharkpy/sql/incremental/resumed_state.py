"""Aggregates whose states do not merge. An epoch resumes from the latest state of each group."""

from __future__ import annotations

from dataclasses import replace

from sharkpy.base.errors import SharkError
from sharkpy.base.records import dataclass
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, Literal, conjunction
from sharkpy.plan.logical import Aggregate, Join, JoinKind, LogicalPlan, Project, Values
from sharkpy.sql.incremental.aggregate_state import AggregateState, DistinctValues, States, as_group, call_in
from sharkpy.sql.incremental.expiring_rows import rows_in_reach
from sharkpy.sql.incremental.row_wise import RECOMPUTE, unsupported
from sharkpy.sql.incremental.state import EpochState, NewColumn, StoredState
from sharkpy.udf import registry
from sharkpy.udf.user.function import shown_name
from sharkpy.values.types import BOOLEAN, TIMESTAMP, Schema


@dataclass(frozen=True, slots=True)
class Clock:
    """The time of a statement, as returned by CURRENT_TIMESTAMP, and in UTC.

    A reader of a state may use another time zone than the epochs that add to it.
    """

    local: Literal
    utc: Literal


@dataclass(frozen=True, slots=True)
class Timeout:
    """How long a group is kept without a row: `length` microseconds, by the watermark of a part of the state or by the
    clock.
    """

    length: int
    mark: int | Literal


@dataclass(frozen=True, slots=True)
class ResumedState:
    """State of an Aggregate of which only the latest state of each group counts.

    An epoch reads the latest states of the groups of its rows, and adds the states that follow from these rows. With a
    timeout, groups are forgotten if the watermark or clock is that far past their last time.
    """

    states: AggregateState
    place: int
    """Place of this part in the state."""
    timeout: Timeout | None
    new_column: NewColumn

    @property
    def schema(self) -> Schema:
        return self.states.schema

    def delta(self, kept: StoredState) -> LogicalPlan:
        added, before = self.states.added, self.fold(kept.rows(self.place), kept)
        keys = [self.new_column(key.name, key.dtype) for key in added.groups]
        values = map(_value, added.groups)
        items = (key.holding(value) for key, value in zip(keys, values, strict=True))
        keyed = Project(added.child, (*added.child.output, *items))
        terms = [Call("eq_null_safe", pair, BOOLEAN) for pair in zip(keys, before.output, strict=False)]
        beside = Join(keyed, before, JoinKind.LEFT if terms else JoinKind.CROSS, conjunction(terms))
        return Aggregate(beside, tuple(map(as_group, keys, added.groups)), self._going_on(before.output))

    def _going_on(self, before: tuple[ColumnRef, ...]) -> tuple[Alias, ...]:
        """The aggregates that start states, changed to resume from the state columns `before`."""
        items, num_keys = list(self.states.added.aggregates), len(self.states.added.groups)
        for one in resumed(self.states):
            known = before[one.first : one.first + one.num_parts]
            for place in range(one.first - num_keys, one.first - num_keys + one.num_parts):
                call = call_in(items[place])
                args = (*known, *call.args[one.num_parts :])
                items[place] = replace(items[place], expr=replace(call, args=args))
        return tuple(items)

    def read(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        return self.states.read(self._live(rows, kept), kept)

    def emitted(self, place: int, epoch: EpochState) -> LogicalPlan:
        """The operator's rows of groups that an epoch adds to."""
        return self.states.changed(self._live(epoch.after.rows(place), epoch.after), epoch.added(place))

    def fold(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        return self.states.fold(self._live(rows, kept), kept)

    def _live(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        """Rows of the state whose groups are not forgotten."""
        if self.timeout is None:
            return rows
        columns = rows.output
        times = tuple(columns[one.first + one.num_parts - 1] for one in resumed(self.states))
        # A NULL time does not count: its aggregate has had no row of the group.
        known = [Call("coalesce", (*times[place:], *times[:place]), TIMESTAMP) for place in range(len(times))]
        latest = times[0] if len(times) == 1 else Call("greatest", tuple(known), TIMESTAMP)
        timed = Project(rows, (*columns, self.new_column("latest", TIMESTAMP).holding(latest)))
        return Project(rows_in_reach(timed, -1, self.timeout.length, self._mark(self.timeout.mark, kept)), columns)

    def _mark(self, mark: int | Literal, kept: StoredState) -> LogicalPlan:
        """A row with the time to which a timeout is compared."""
        if isinstance(mark, int):
            return kept(mark)
        return Values((self.new_column("now", TIMESTAMP),), ((mark,),))

    @property
    def label(self) -> str:
        seconds = "" if self.timeout is None else f", for {self.timeout.length / 1e6:g} s without a row"
        return f"{self.states.label}, each the latest one{seconds}"

    @property
    def growth(self) -> str | None:
        return self.states.growth if self.timeout is None else None


def resumes(node: Aggregate) -> bool:
    """Return whether some functions of an Aggregate resume from their latest state."""
    calls = map(call_in, node.aggregates)
    rows = (registry.aggregate_of(call.function, [arg.dtype for arg in call.args]) for call in calls)
    return any(row is not None and row.resumes for row in rows)


def resumed(state: AggregateState) -> list[States]:
    """Aggregates of a state that resume from their latest state."""
    return [one for one in state.kept if isinstance(one, States) and one.row.resumes]


def resumed_state(state: AggregateState, place: int, timeout: Timeout | None, new_column: NewColumn) -> ResumedState:
    """State of `resumed` aggregates, as part `place` of a query's state.

    Raise UnsupportedError if it cannot be kept.
    """
    if state.closing is not None:
        raise resuming_error(state, "with EMIT APPEND")
    if state.panes is not None and state.panes.column is not None:
        raise resuming_error(state, "of overlapping windows")
    if any(isinstance(one, DistinctValues) for one in state.kept):
        raise resuming_error(state, "together with an aggregate of distinct values")
    return ResumedState(state, place, timeout, new_column)


def in_clock_time(node: Aggregate, clock: Clock) -> Aggregate:
    """Replace CURRENT_TIMESTAMP in aggregates with a timeout by the time in UTC."""
    items = []
    for item in node.aggregates:
        call = call_in(item)
        row = registry.aggregate_of(call.function, [arg.dtype for arg in call.args])
        if row is not None and row.timeout is not None and call.args[0] == clock.local:
            item = replace(item, expr=replace(call, args=(clock.utc, *call.args[1:])))
        items.append(item)
    return replace(node, aggregates=tuple(items))


def timeout_of(state: AggregateState) -> tuple[int, Expr] | None:
    """Timeout of a state's aggregates, and the time that it uses; None if there is none.

    Raise UnsupportedError if the aggregates differ in it.
    """
    found = {(one.row.timeout, one.call.args[:1]) for one in resumed(state)}
    if all(length is None for length, _ in found):
        return None
    if len(found) > 1 or len(resumed(state)) < len(state.kept):
        raise resuming_error(state, "with a timeout, together with an aggregate without a timeout")
    ((length, (time,)),) = found
    assert length is not None  # one of them has it
    return length, time


def resuming_error(state: AggregateState, where: str) -> SharkError:
    name = shown_name(resumed(state)[0].call.function)
    return unsupported(f"{name}, an aggregate without merge, {where}", RECOMPUTE)


def _value(key: Alias | ColumnRef) -> Expr:
    return key.expr if isinstance(key, Alias) else key
