"""Aggregate calls with the facts of the function registry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sharkpy.base.errors import InternalError, UnsupportedError
from sharkpy.physical.plan_context import FreshIds
from sharkpy.plan.expr import AggregateCall, Alias, ColumnRef
from sharkpy.udf import registry
from sharkpy.udf.aggregate_states import FormKind, form_row
from sharkpy.udf.function import AggregateFunction
from sharkpy.values.types import DataType


def aggregate_call(item: Alias) -> AggregateCall:
    if not isinstance(item.expr, AggregateCall):
        raise InternalError(f"{item} is not an aggregate")
    return item.expr


def aggregate_row(call: AggregateCall) -> AggregateFunction:
    form = call.form
    row = registry.aggregate_of(call.base, [arg.dtype for arg in call.args] if form is None else form.types)
    if row is None:
        raise UnsupportedError(f"aggregate function {call.base} cannot be computed")
    return row if form is None else form_row(row, form)


def without_state_form(call: AggregateCall) -> AggregateCall:
    """Return the call that makes the same states as `call`."""
    form = call.form
    if form is None or form.kind is not FormKind.STATE:
        return call
    return replace(call, function=form.function, dtype=form.result, form=None)


def is_distinct(call: AggregateCall) -> bool:
    """Whether DISTINCT changes the result of the call."""
    return call.distinct and not aggregate_row(call).ignores_distinct


def has_states(call: AggregateCall) -> bool:
    """Whether the call can be computed as partial states that merge."""
    return bool(aggregate_row(call).partials) and not is_distinct(call)


def state_types(call: AggregateCall) -> Sequence[DataType]:
    row = aggregate_row(call)
    if row.partial_types is None:
        return [call.dtype]
    return row.partial_types([arg.dtype for arg in call.args])


def new_states(item: Alias, ids: FreshIds) -> tuple[ColumnRef, ...]:
    """Make columns for the states of an aggregate."""
    types = state_types(aggregate_call(item))
    return tuple(ids.column(f"{item.name}_{index}", dtype) for index, dtype in enumerate(types))
