"""What the registry says of an aggregate call."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.errors import UnsupportedError
from sharkpy.expr import AggregateCall
from sharkpy.types import DataType
from sharkpy.udf import registry
from sharkpy.udf.function import AggregateFunction


def aggregate_row(call: AggregateCall) -> AggregateFunction:
    row = registry.aggregate(call.function)
    if row is None:
        raise UnsupportedError(f"aggregate function {call.function} cannot be computed")
    return row


def is_distinct(call: AggregateCall) -> bool:
    """Whether DISTINCT makes a difference to the call."""
    return call.distinct and not aggregate_row(call).ignores_distinct


def has_states(call: AggregateCall) -> bool:
    """Whether the call can be computed as partial states that merge."""
    return bool(aggregate_row(call).partials) and not is_distinct(call)


def state_types(call: AggregateCall) -> Sequence[DataType]:
    row = aggregate_row(call)
    if row.partial_types is None:
        return [call.dtype]
    return row.partial_types([arg.dtype for arg in call.args])
