"""Lowering of aggregates: complete, partial, merged and final, by the registry's rows or on integers."""

from __future__ import annotations

from dataclasses import replace

from sharkpy.physical.aggregates import (
    aggregate_call,
    aggregate_row,
    has_states,
    is_distinct,
    state_types,
    without_state_form,
)
from sharkpy.physical.lowering.integer_aggregates import integer_complete, integer_partials
from sharkpy.physical.lowering.lower_expr import lower, lower_logical
from sharkpy.physical.lowering.packed_keys import pack_keys
from sharkpy.physical.lowering.select import Builder, Select
from sharkpy.physical.lowering.value import Scope, Value
from sharkpy.physical.operators import (
    AggregateMode,
    BlockScan,
    Filter,
    HashAggregate,
    HashJoin,
    Project,
    SortOperator,
)
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.expr import AggregateCall, Alias, ColumnRef
from sharkpy.plan.logical import LEFT_ONLY_JOINS
from sharkpy.udf.aggregate_forms import FormKind
from sharkpy.udf.lower import lower_complete, lower_finish, lower_merges, lower_partials
from sharkpy.values.types import DOUBLE, FLOAT, INTEGER_TYPES


def lower_aggregate(plan: HashAggregate, select: Select, builder: Builder) -> Select:
    """Lower groups and aggregates. Merged states are finished in an outer query over their columns."""
    lowering = _Lowering(select.scope, most_rows(plan.child), builder)
    keys = {item.column_id: _group(lower(item, select.scope)) for item in plan.groups}
    packed = pack_keys(keys)
    if packed is None:
        lowering.values.update(keys)
        group_by = [value.sql for value in keys.values()]
    else:
        name = builder.name("k")
        lowering.columns.append(f'{packed.sql} AS "{name}"')
        lowering.finished.update(packed.unpacked(f'"{name}"'))
        group_by = [packed.sql]
    for index, item in enumerate(plan.aggregates):
        lowering.add(plan.mode, item, plan.states[index] if plan.states else ())
    grouped = replace(select, scope=lowering.values, group_by=tuple(group_by))
    if not lowering.finished:
        return grouped
    inner = builder.wrapped(grouped, lowering.columns)
    return inner.with_scope({**inner.scope, **lowering.finished})


def _group(value: Value) -> Value:
    """Return a group key; -0.0 and 0.0 are one key, written 0.0. A bare number would mean a position in the list."""
    if value.dtype in (FLOAT, DOUBLE) or (value.constant is not None and value.dtype in INTEGER_TYPES):
        return Value(f"({value.sql} + 0)", value.dtype, value.range)
    return value


def most_rows(plan: PhysicalPlan) -> int | None:
    """Return the largest possible number of rows of `plan`, or None if unknown."""
    match plan:
        case BlockScan():
            return plan.bounds.most_rows
        case Filter() | Project() | SortOperator():
            return most_rows(plan.child)
        case HashJoin(kind=kind) if kind in LEFT_ONLY_JOINS:
            return most_rows(plan.left)
    return None


class _Lowering:
    """Aggregates of one operator.

    `values` are the values of the grouped query, `columns` its further columns, and `finished` are computed over these.
    """

    def __init__(self, scope: Scope, num_rows: int | None, builder: Builder) -> None:
        self.values: dict[int, Value] = {}
        self.columns: list[str] = []
        self.finished: dict[int, Value] = {}
        self._scope = scope
        self._num_rows = num_rows
        self._builder = builder

    def add(self, mode: AggregateMode, item: Alias, states: tuple[ColumnRef, ...]) -> None:
        call = aggregate_call(item)
        match mode:
            case AggregateMode.COMPLETE:
                self._complete(call, item.column_id)
            case AggregateMode.PARTIAL | AggregateMode.MERGE:
                is_partial = mode is AggregateMode.PARTIAL or is_distinct(call)
                values = self._states(call) if is_partial else self._merged(call, states)
                for state, value in zip(states, values, strict=True):
                    self.values[state.column_id] = value
            case AggregateMode.FINAL:
                self._finish(call, self._merged(call, states), item.column_id)

    def _complete(self, call: AggregateCall, column_id: int) -> None:
        if call.form is not None and call.form.kind is FormKind.STATE:
            self.values[column_id] = self._states(call)[call.form.part]
            return
        args = [lower(arg, self._scope) for arg in call.args]
        if not is_distinct(call):
            value = integer_complete(call, args, self._over(call), self._num_rows)
            if value is not None:
                self.values[column_id] = value
                return
            if has_states(call) and aggregate_row(call).finish != "{0}":
                self._finish(call, self._states(call), column_id)
                return
        sql = lower_complete(
            aggregate_row(call),
            [arg.logical() for arg in args],
            [arg.dtype for arg in call.args],
            call.dtype,
            distinct=is_distinct(call),
            over=self._over(call),
        )
        self.values[column_id] = Value(sql, call.dtype)

    def _states(self, call: AggregateCall) -> list[Value]:
        call = without_state_form(call)
        args = [lower(arg, self._scope) for arg in call.args]
        over, distinct = self._over(call), is_distinct(call)
        if not distinct and (values := integer_partials(call, args, over, self._num_rows)) is not None:
            return values
        row, types = aggregate_row(call), [arg.dtype for arg in call.args]
        logical = [arg.logical() for arg in args]
        texts = lower_partials(row, logical, types, call.dtype, distinct=distinct, over=over)
        return [Value(text, dtype) for text, dtype in zip(texts, state_types(call), strict=True)]

    def _merged(self, call: AggregateCall, states: tuple[ColumnRef, ...]) -> list[Value]:
        types = state_types(call)
        merged = lower_merges(aggregate_row(call), [self._scope[state.column_id].logical() for state in states], types)
        return [Value(sql, dtype) for sql, dtype in zip(merged, types, strict=True)]

    def _finish(self, call: AggregateCall, states: list[Value], column_id: int) -> None:
        row = aggregate_row(call)
        if row.finish == "{0}":
            self.values[column_id] = replace(states[0], dtype=call.dtype)
            return
        named = []
        for state in states:
            name = self._builder.name("m")
            self.columns.append(f'{state.sql} AS "{name}"')
            named.append(state.renamed(name).logical())
        sql = lower_finish(row, named, [arg.dtype for arg in call.args], call.dtype)
        self.finished[column_id] = Value(sql, call.dtype)

    def _over(self, call: AggregateCall) -> str:
        return f" FILTER (WHERE {lower_logical(call.filter, self._scope)})" if call.filter is not None else ""
