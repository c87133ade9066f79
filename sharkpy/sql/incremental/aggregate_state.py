"""State of GROUP BY, DISTINCT and aggregates over streams: the partial aggregates of each group.

Calls of the registry start, merge and finish the state columns of an aggregate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sharkpy.base.errors import InternalError
from sharkpy.base.records import dataclass
from sharkpy.catalog.continuous_query import EmitMode
from sharkpy.plan.expr import AggregateCall, Alias, Call, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Aggregate, Expand, Filter, JoinKind, LogicalPlan, Project, Union, Values
from sharkpy.sql.incremental.closed_windows import ClosingWatermark, is_null
from sharkpy.sql.incremental.row_wise import RECOMPUTE, unsupported, varying_function
from sharkpy.sql.incremental.state import EpochState, Names, NewColumn, StoredState, with_ids_of
from sharkpy.sql.incremental.time_windows import Panes, StateGroups, Wanted, closed_within, panes_of
from sharkpy.udf import registry
from sharkpy.udf.aggregate_states import AggregateForm, FormKind, state_types
from sharkpy.udf.function import AggregateFunction
from sharkpy.udf.user.function import shown_name
from sharkpy.values.types import BIGINT, BOOLEAN, TIMESTAMP, ArrayType, DataType, Field, MapType, Schema


@dataclass(frozen=True, slots=True)
class AggregateState:
    """State of an Aggregate. Its keys are the groups, and the arguments of DISTINCT aggregates."""

    node: Aggregate
    schema: Schema
    added: Aggregate
    """Aggregate of an epoch's rows. Its groups are the keys, its aggregates the state columns."""
    kept: tuple[States | DistinctValues, ...]
    """One entry for each aggregate of the node and, with `closing`, one for the number of late rows."""
    panes: Panes | None
    summary: LogicalPlan | None
    """State row for empty input, if that has a result: without groups, or with an empty grouping set."""
    new_column: NewColumn
    is_bounded: bool = False
    """True if a watermark bounds the groups that may still get rows."""
    closing: ClosingWatermark | None = None
    """How windows are closed; None if their rows are emitted before that.

    With `closing`, the key after the groups is the watermark at which late rows arrived. The last column is the number
    of rows that were too late for all of their windows.
    """

    def delta(self, kept: StoredState) -> LogicalPlan:
        if self.closing is None:
            return self.added
        return replace(self.added, child=self.closing.with_watermark(self.added.child, kept, self.closing.mark))

    def late_rows(self, kept: StoredState) -> LogicalPlan | None:
        """Rows of an epoch whose windows are all closed already; None if no row can be late."""
        if self.closing is None or not self.closing.leaves_out:
            return None
        rows = self.added.child
        marked = self.closing.with_watermark(rows, kept, self.closing.mark)
        return Project(Filter(marked, self.closing.is_late), rows.output)

    def num_late(self, rows: LogicalPlan) -> LogicalPlan:
        """A row with the number of rows that were too late for all of their windows. The state must have `closing`."""
        counted = AggregateCall("sum", (rows.output[-1],), BIGINT)
        return Aggregate(rows, (), (self.new_column("late", BIGINT).holding(counted),))

    def read(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        closing, panes = self.closing, self.panes
        if closing is None or panes is None:
            return self._read(rows)

        def closed(found: LogicalPlan, values: Sequence[Expr], columns: Sequence[ColumnRef]) -> LogicalPlan:
            return closing.closed(found, values[panes.place], columns[len(values)], kept, self.new_column)

        return self._read(rows, closed)

    def closed_within(self, rows: LogicalPlan, spans: LogicalPlan, _kept: StoredState) -> LogicalPlan:
        """The operator's rows for windows that were closed within one of the spans."""
        panes = self.panes
        assert panes is not None  # they are closed

        def closed(found: LogicalPlan, values: Sequence[Expr], columns: Sequence[ColumnRef]) -> LogicalPlan:
            return closed_within(found, values[panes.place], columns[len(values)], spans)

        return self._read(rows, closed)

    def emitted(self, place: int, epoch: EpochState) -> LogicalPlan:
        """The operator's rows that an epoch emits.

        These are the rows of windows that the epoch closes, or of groups that it updates. Without aggregates, they are
        the new groups.
        """
        if self.closing is not None and epoch.emit is EmitMode.APPEND:
            return self.closed_within(
                epoch.after.rows(place), self.closing.span_of(epoch, self.new_column), epoch.after
            )
        if not self.node.aggregates:
            return self._new_groups(epoch.added(place), epoch.before.rows(place))
        return self.changed(epoch.after.rows(place), epoch.added(place))

    def changed(self, rows: LogicalPlan, added: LogicalPlan) -> LogicalPlan:
        """The operator's rows for the groups of the `added` rows of the state."""
        return self._read(rows, self._groups.among(added, JoinKind.SEMI) if self.node.groups else None)

    def _new_groups(self, added: LogicalPlan, before: LogicalPlan) -> LogicalPlan:
        """The operator's rows for `added` groups that did not exist before."""
        return replace(self, summary=None)._read(added, self._groups.among(before, JoinKind.ANTI))

    @property
    def _groups(self) -> StateGroups:
        return StateGroups(self.node.groups, self.panes, self.closing is not None, self.new_column)

    def _read(self, rows: LogicalPlan, wanted: Wanted | None = None) -> LogicalPlan:
        """The operator's rows, computed from the `wanted` rows of the state."""
        if self.summary is not None:
            both = tuple(self.new_column(column.name, column.dtype) for column in rows.output)
            rows = Union((rows, self.summary), both)
        columns = rows.output
        found, values = self._groups.in_windows(rows, None if self.panes is None else self.panes.column)
        if wanted is not None:
            found = wanted(found, values, columns)
        groups = tuple(map(as_group, values, self.node.groups))
        kept_of_node = self.kept[: len(self.node.aggregates)]
        return Aggregate(found, groups, tuple(self._answer(one, columns) for one in kept_of_node))

    def fold(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        closing, panes = self.closing, self.panes
        if closing is None or closing.sink_mode is None or panes is None or not kept.is_first:
            return self._folded(rows)
        begin, seen = (rows.output[place] for place in (panes.place, len(self.node.groups)))
        end = panes.last_end_at(begin)

        def is_open(mark: ColumnRef) -> Expr:
            is_behind = Call("gt", (end, mark), BOOLEAN)
            if closing.sink_mode is EmitMode.APPEND:
                return is_behind
            # Rows without a time form a group of their own, which is never closed.
            is_timeless = Call("and", (is_null(begin), is_null(seen)), BOOLEAN)
            return Call("or", (is_behind, is_timeless), BOOLEAN)

        live = self._folded(closing.unclosed(rows, kept, self.new_column, is_open))
        return closing.with_late(live, rows, len(self.node.groups), self.new_column)

    def _folded(self, rows: LogicalPlan) -> LogicalPlan:
        columns, num_keys = rows.output, len(self.added.groups)
        items = []
        # Equal aggregates have one state.
        for one in {one.first: one for one in self.kept if isinstance(one, States)}.values():
            states = columns[one.first : one.first + one.num_parts]
            for part, state in enumerate(states):
                call = aggregate_call(one.form(FormKind.FOLD, part), states, state.dtype)
                items.append(self.new_column(state.name, state.dtype).holding(call))
        return Aggregate(rows, columns[:num_keys], tuple(items))

    @property
    def label(self) -> str:
        panes = "" if self.panes is None else f", in panes of {self.panes.label}"
        closed = "" if self.closing is None else f", {self.closing.label}"
        return f"{label_of(self.node, self.node.groups)}{panes}{closed}"

    @property
    def growth(self) -> str | None:
        if self.is_bounded:
            return None
        if self.added.groups:
            names = ", ".join(group.name for group in self.added.groups)
            return f"the state of an aggregate by {names} grows with the values of these"
        for one in self.kept:
            if isinstance(one, States) and any(map(_grows, self.schema.fields[one.first :][: one.num_parts])):
                return f"the state of {shown_name(one.call.function)} grows with the rows"
        return None

    @staticmethod
    def _answer(one: States | DistinctValues, columns: Sequence[ColumnRef]) -> Alias:
        if isinstance(one, States):
            states = columns[one.first : one.first + one.num_parts]
            call = aggregate_call(one.form(FormKind.MERGE), states, one.call.dtype)
        else:
            known = call_in(one.item)
            args = [arg if place is None else columns[place] for arg, place in zip(known.args, one.places, strict=True)]
            where = None if one.filter_place is None else columns[one.filter_place]
            call = replace(known, args=tuple(args), filter=where)
        return Alias(call, one.item.column_id, one.item.name)


def aggregate_state(
    node: Aggregate, new_column: NewColumn, *, is_bounded: bool = False, closing: ClosingWatermark | None = None
) -> AggregateState:
    """Build the state for an Aggregate over the rows of epochs.

    `closing` closes the windows or sessions of the Aggregate. Raise UnsupportedError for an aggregate that has no
    state.
    """
    names, keys, panes = Names(set()), list[Alias](), panes_of(node)

    def key_of(expr: Expr, name: str) -> int:
        for place, key in enumerate(keys[num_groups:], num_groups):
            if key.expr == expr:
                return place
        keys.append(new_column(names.take(name), expr.dtype).holding(expr))
        return len(keys) - 1

    for place, group in enumerate(node.groups):
        expr = group.expr if isinstance(group, Alias) else group
        if panes is not None and place == panes.place:
            expr = panes.begin
        keys.append(new_column(names.take(group.name), expr.dtype).holding(expr))
    num_groups = len(keys)
    items = list(node.aggregates)
    if closing is not None:
        keys.append(new_column(names.take("watermark"), TIMESTAMP).holding(closing.seen))
        items.append(new_column("late", BIGINT).holding(closing.num_late))
    found: list[tuple[Alias, AggregateFunction | DistinctValues]] = []
    for item in items:
        call, row = call_in(item), aggregate_row(call_in(item))
        if (row.partials or row.resumes) and not (call.distinct and not row.ignores_distinct):
            found.append((item, row))
        elif call.distinct or row.ignores_distinct:
            name = shown_name(call.function)
            # Empty input has a state row, too. Its keys are NULL, and so do not count.
            is_of_rows = not node.groups and all(isinstance(arg, Literal) for arg in call.args)
            places = [
                None if isinstance(arg, Literal) and not is_of_rows else key_of(arg, f"{name}_of") for arg in call.args
            ]
            where = None if call.filter is None else key_of(call.filter, f"{name}_where")
            found.append((item, DistinctValues(item, tuple(places), where)))
        else:
            what = f"{shown_name(call.function)}, an aggregate without a state that merges, over a stream"
            raise unsupported(what, RECOMPUTE)
    kept, states = _states_of(found, len(keys), names, new_column)
    given, summary = _parts_of(node.child if panes is None else panes.child)
    added = Aggregate(given, tuple(keys), tuple(states))
    schema = Schema(tuple(Field(column.name, column.dtype) for column in added.output))
    more: LogicalPlan | None = None if summary is None else replace(added, child=summary)
    if not node.groups:
        more = _of_no_rows(added)
    return AggregateState(node, schema, added, tuple(kept), panes, more, new_column, is_bounded, closing)


def _states_of(
    found: Sequence[tuple[Alias, AggregateFunction | DistinctValues]],
    num_keys: int,
    names: Names,
    new_column: NewColumn,
) -> tuple[list[States | DistinctValues], list[Alias]]:
    """Return how each aggregate is kept, and the columns of the states."""
    kept, states, known = list[States | DistinctValues](), list[Alias](), dict[AggregateCall, States]()
    for item, row in found:
        if isinstance(row, DistinctValues):
            kept.append(row)
            continue
        call = call_in(item)
        equal = known.get(call)
        one = States(item, row, num_keys + len(states) if equal is None else equal.first)
        kept.append(one)
        if equal is not None:
            continue
        if not row.resumes and varying_function(call.walk()) is None:
            known[call] = one
        calls = one.initial_calls()
        for part, initial in enumerate(calls):
            name = item.name if len(calls) == 1 else f"{item.name}_{part}"
            states.append(new_column(names.take(name), initial.dtype).holding(initial))
    return kept, states


def label_of(node: Aggregate, groups: Sequence[Alias | ColumnRef]) -> str:
    """Text that describes the state of an Aggregate by `groups`."""
    functions = dict.fromkeys(shown_name(call_in(item).function) for item in node.aggregates)
    states = f"states of {', '.join(functions)}" if functions else "values"
    return f"{states} by {', '.join(group.name for group in groups)}" if groups else states


def rows_of(node: Aggregate) -> LogicalPlan:
    """Input rows of an Aggregate. GROUPING SETS add a row, which no aggregate counts and which is left out."""
    match node.child:
        case Union((Expand() as rows, Values())):
            return rows
    return node.child


def _of_no_rows(added: Aggregate) -> LogicalPlan:
    """State row for empty input."""
    states = Aggregate(Values(added.child.output, ()), (), added.aggregates)
    keys = (replace(key, expr=Literal(None, key.dtype)) for key in added.groups if isinstance(key, Alias))
    return Project(states, (*keys, *states.output))


def _parts_of(child: LogicalPlan) -> tuple[LogicalPlan, LogicalPlan | None]:
    """Input rows of an Aggregate, and the row that GROUPING SETS add, both with the column ids of `child`."""
    match child:
        case Union((Expand() as rows, Values() as added), columns):
            return with_ids_of(columns, rows), with_ids_of(columns, added)
    return child, None


def as_group(value: Expr, group: Alias | ColumnRef) -> Alias | ColumnRef:
    """Return the value as this group of an Aggregate, under the group's column id."""
    if isinstance(value, ColumnRef) and value.column_id == group.column_id:
        return value
    return Alias(value, group.column_id, group.name)


def _grows(field: Field) -> bool:
    return isinstance(field.dtype, (ArrayType, MapType))


@dataclass(frozen=True, slots=True)
class States:
    """An aggregate with a state in columns of the state table, from column `first` on, which equal aggregates share."""

    item: Alias
    row: AggregateFunction
    first: int

    @property
    def call(self) -> AggregateCall:
        return call_in(self.item)

    def form(self, kind: FormKind, part: int = 0) -> AggregateForm:
        types = tuple(arg.dtype for arg in self.call.args)
        return AggregateForm(kind, self.call.function, types, self.call.dtype, part)

    @property
    def num_parts(self) -> int:
        return len(self.row.merges)

    def initial_calls(self) -> list[AggregateCall]:
        """Calls that compute each state column from only the rows of an epoch."""
        types = state_types(self.row, self.form(FormKind.STATE).types, self.call.dtype)
        # States that do not merge resume from a state, here from NULL.
        before = tuple(Literal(None, dtype) for dtype in types) if self.row.resumes else ()
        kind = FormKind.RESUME if before else FormKind.STATE
        forms = [(self.form(kind, part), dtype) for part, dtype in enumerate(types)]
        args = (*before, *self.call.args)
        return [
            replace(self.call, function=form.name, args=args, dtype=dtype, distinct=False, form=form)
            for form, dtype in forms
        ]


@dataclass(frozen=True, slots=True)
class DistinctValues:
    """An aggregate of DISTINCT arguments, which are keys of the state.

    `places` are the places of the arguments, None for constants.
    """

    item: Alias
    places: tuple[int | None, ...]
    filter_place: int | None


def aggregate_call(form: AggregateForm, args: Sequence[ColumnRef], dtype: DataType) -> AggregateCall:
    return AggregateCall(form.name, tuple(args), dtype, form=form)


def call_in(item: Alias) -> AggregateCall:
    if not isinstance(item.expr, AggregateCall):
        raise InternalError(f"{item} is not an aggregate")
    return item.expr


def aggregate_row(call: AggregateCall) -> AggregateFunction:
    row = registry.aggregate_of(call.function, [arg.dtype for arg in call.args])
    if row is None:
        raise unsupported(f"{shown_name(call.function)} over a stream")
    return row
