"""Aggregations that a fragment would compute several times: a CTE or view used twice, or similar subqueries."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from sharkpy.base.tree import TreeNode, field_names
from sharkpy.physical.operators import BlockSet, ExchangeRead, HashAggregate
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.expr import Alias, Call, ColumnRef, Literal
from sharkpy.udf import registry


def shared_queries(fragment: PhysicalPlan) -> Mapping[int, Hashable]:
    """Return, by id(), the shapes of HashAggregates that equal another one except for column numbers.

    Operators below a repeated aggregate are computed with it and not examined again. Sharing pays because an aggregate
    has fewer rows than its input.
    """
    aggregates = [node for node in fragment.walk() if isinstance(node, HashAggregate)]
    if len(aggregates) < 2:
        return {}
    places: dict[Hashable, list[int]] = {}
    _collect(fragment, places)
    return {place: shape for shape, found in places.items() if len(found) > 1 for place in found}


def _collect(plan: PhysicalPlan, places: dict[Hashable, list[int]]) -> None:
    if isinstance(plan, HashAggregate) and (shape := _shape(plan)) is not None:
        places.setdefault(shape, []).append(id(plan))
        if len(places[shape]) > 1:
            return
    for child in plan.children:
        _collect(child, places)


class _NotShareableError(Exception):
    """Error for a plan whose rows may differ each time it is computed."""


def _shape(plan: PhysicalPlan) -> Hashable | None:
    """Return a shape, equal for plans with the same rows; None for a plan that is not deterministic."""
    numbers: dict[int, int] = {}
    try:
        shape = _part(plan, numbers)
        hash(shape)
    except (_NotShareableError, TypeError):
        return None
    return shape


def _part(value: object, numbers: dict[int, int]) -> object:
    """Return `value` with columns numbered by first occurrence, and without their names."""
    match value:
        case ColumnRef(column_id=column_id, dtype=dtype):
            return "column", numbers.setdefault(column_id, len(numbers)), dtype
        case Alias(expr=expr, column_id=column_id):
            return "alias", _part(expr, numbers), numbers.setdefault(column_id, len(numbers))
        case Literal(value=constant, dtype=dtype):
            return "literal", repr(constant), dtype
        case BlockSet(table_id, sequence):
            # For one version, the predicate determines the blocks that are read, unless other blocks were removed too.
            return "blocks", table_id, sequence, tuple(block.block_id for block in value.blocks) if value.is_cut else ()
        case Call(function=function) if (row := registry.scalar(function)) is None or not row.is_deterministic:
            raise _NotShareableError(function)
        case ExchangeRead():
            return "exchange", value.exchange_id, _part(value.columns, numbers)
        case tuple():
            return tuple(_part(item, numbers) for item in value)
        case TreeNode():
            names = field_names(type(value))
            return type(value).__name__, *(_part(getattr(value, name), numbers) for name in names)
    return value
