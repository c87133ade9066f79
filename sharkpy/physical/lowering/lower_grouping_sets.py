"""Lowering of grouping sets: each set's groups are made of the groups of the smallest set that contains it.

A ROLLUP is a chain of ever smaller groupings. The rows themselves are grouped once, by all columns.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

from sharkpy.physical.aggregate_calls import aggregate_call
from sharkpy.physical.column_bounds import ColumnRange
from sharkpy.physical.lowering.lower_aggregate import finished_aggregate, merged_states
from sharkpy.physical.lowering.lower_expr import lower
from sharkpy.physical.lowering.select import Builder, Select, select_item, united
from sharkpy.physical.lowering.value import HUGE, Value
from sharkpy.physical.operators import AggregateMode, GroupingSets
from sharkpy.physical.plan import column_name
from sharkpy.plan.expr import ColumnRef, Expr, Literal
from sharkpy.udf.duckdb_sql import lower_literal
from sharkpy.values.types import DataType

Keys = frozenset[int]


def lower_grouping_sets(plan: GroupingSets, groups: Select, empty: Sequence[Select], builder: Builder) -> Select:
    """Lower the sets over `groups`, the child's rows. `empty` has the states of no rows."""
    sets = [frozenset(expr.column_id for expr in row if isinstance(expr, ColumnRef)) for row in plan.projections]
    child = [column.column_id for column in plan.child.output]
    states = {column.column_id for state in plan.states for column in state}
    levels = {frozenset(child) - states: builder.kept(_narrowed(groups))}
    for keys in sorted(dict.fromkeys(sets), key=len, reverse=True):
        if keys not in levels:
            parent = min((known for known in levels if keys <= known), key=len)
            is_read_again = any(other < keys for other in sets)
            made = _narrowed(_grouped(plan, keys, levels[parent]))
            if not keys:
                made = _with_empty(plan, made, empty, builder)
            levels[keys] = builder.kept(made) if is_read_again else builder.wrapped(made)
    rows = [_row(plan, row, levels[keys]) for row, keys in zip(plan.projections, sets, strict=True)]
    columns = [_united(values, ref.dtype) for ref, *values in zip(plan.output, *rows, strict=True)]
    parts = [
        Select(levels[keys].source, {}).text(
            f'{column[place].sql} AS "{column_name(ref.column_id)}"'
            for ref, column in zip(plan.output, columns, strict=True)
        )
        for place, keys in enumerate(sets)
    ]
    scope = {
        ref.column_id: column[0].renamed(column_name(ref.column_id))
        for ref, column in zip(plan.output, columns, strict=True)
    }
    return Select(builder.query(united(parts)), scope)


def _grouped(plan: GroupingSets, keys: Keys, parent: Select) -> Select:
    scope = {key: parent.scope[key] for key in parent.scope if key in keys}
    group_by = tuple(value.sql for value in scope.values())
    for item, states in zip(plan.aggregates, plan.states, strict=True):
        merged = merged_states(aggregate_call(item), [parent.scope[state.column_id] for state in states], 1)
        scope |= {state.column_id: value for state, value in zip(states, merged, strict=True)}
    return Select(parent.source, scope, group_by=group_by)


def _with_empty(plan: GroupingSets, total: Select, empty: Sequence[Select], builder: Builder) -> Select:
    """Return the states of all rows, or the states of no rows."""
    if not empty:
        return total
    count, states = builder.name("n"), [column for state in plan.states for column in state]
    some = builder.wrapped(total, [f"count(*) AS {count}"]).filtered(f"{count} > 0")
    parts = [
        select.text(
            select_item(ref.column_id, Value(select.scope[ref.column_id].logical(), ref.dtype)) for ref in states
        )
        for select in (some, *empty)
    ]
    scope = {ref.column_id: Value(f'"{column_name(ref.column_id)}"', ref.dtype) for ref in states}
    return _grouped(plan, frozenset(), Select(builder.query(united(parts)), scope))


def _narrowed(select: Select) -> Select:
    """Return sums as BIGINT if they fit."""
    scope = {
        key: replace(value, sql=f"CAST({value.sql} AS BIGINT)", integer_type="BIGINT")
        if value.integer_type == HUGE and value.range is not None and value.range.sql_type is not None
        else value
        for key, value in select.scope.items()
    }
    return select.with_scope(scope)


def _row(plan: GroupingSets, projection: Sequence[Expr], level: Select) -> list[Value | None]:
    """Return the output's values for the groups of one set; None for NULL."""
    row = [
        None if isinstance(expr, Literal) and expr.value is None else lower(expr, level.scope) for expr in projection
    ]
    for item, columns in zip(plan.aggregates, plan.states, strict=True):
        states = [level.scope[column.column_id] for column in columns]
        row += states if plan.mode is AggregateMode.MERGE else [finished_aggregate(aggregate_call(item), states)]
    return row


def _united(values: Sequence[Value | None], dtype: DataType) -> list[Value]:
    """Return one column's values for each set: integers or indexes if all are of one kind, else of the logical type."""
    known = [value for value in values if value is not None]
    forms = {(value.integer_type, value.values) for value in known}
    ranges = [value.range for value in known if value.range is not None]
    integer_type, texts = forms.pop() if len(forms) == 1 else (None, ())
    if integer_type is None or len(ranges) < len(known) or (texts and texts[-1] is not None):
        return [Value(lower_literal(None, dtype) if one is None else one.logical(), dtype) for one in values]
    null = f"CAST({len(texts) - 1 if texts else 'NULL'} AS {integer_type})"
    whole = functools.reduce(ColumnRange.joined, ranges)
    form = Value(null, dtype, whole, integer_type, values=texts)
    return [form if value is None else replace(form, sql=value.sql) for value in values]
