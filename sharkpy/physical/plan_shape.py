"""Shapes of plans: equal for plans that compute the same rows, whatever the numbers of their columns."""

from __future__ import annotations

from collections.abc import Hashable

from sharkpy.base.tree import TreeNode, field_names
from sharkpy.physical.operators import BlockSet, Exchange, ExchangeRead
from sharkpy.physical.plan import (
    BroadcastPartitioning,
    HashPartitioning,
    PhysicalPlan,
    RangePartitioning,
    SinglePartitioning,
)
from sharkpy.plan.expr import Alias, Call, ColumnRef, Literal
from sharkpy.udf import registry


class _NotShareableError(Exception):
    """Error for a plan whose rows may differ each time it is computed."""


def plan_shape(plan: PhysicalPlan) -> Hashable | None:
    """Return a shape, equal for plans with the same rows; None for a plan that is not deterministic."""
    return _hashable(plan)


def equal_exchanges(plan: PhysicalPlan, exchange: Exchange) -> list[Exchange]:
    """Return the other exchanges that put the same rows, column by column, into the same buckets.

    Exchanges that may spread heavy keys equal no other one: their buckets suit one join.
    """
    shape = _exchange_shape(exchange)
    if shape is None:
        return []
    others = (node for node in plan.walk() if isinstance(node, Exchange) and node.exchange_id != exchange.exchange_id)
    return [other for other in others if _exchange_shape(other) == shape]


def _exchange_shape(exchange: Exchange) -> Hashable | None:
    match exchange.partitioning:
        case HashPartitioning(keys, num_buckets, None):
            where: tuple[object, ...] = ("hash", keys, num_buckets)
        case RangePartitioning(keys, num_buckets):
            where = ("range", keys, num_buckets)
        case SinglePartitioning() | BroadcastPartitioning():
            where = (str(exchange.partitioning),)
        case _:
            return None
    return _hashable((exchange.child, where, exchange.output))


def _hashable(value: object) -> Hashable | None:
    try:
        shape = _part(value, {})
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
