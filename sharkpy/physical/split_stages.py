"""Splitting of physical plans into stages at their Exchanges.

The runner calls, in order: `next_exchange`; for a range exchange, `sample_plan` and `range_bounds`;
`lower_stage(exchange.child, sink_of(...))`, which it runs; `replace_exchange` by `read_of(...)`; `replan`. It repeats
this until no Exchange is left, then calls `lower_stage` for the rest with its own sink.
"""

from __future__ import annotations

from sharkpy.base.errors import InternalError
from sharkpy.physical.distribution import (
    BroadcastPartitioning,
    ExchangeStatistics,
    HashPartitioning,
    RangePartitioning,
    SinglePartitioning,
)
from sharkpy.physical.operators import Exchange, ExchangeRead
from sharkpy.physical.plan import PhysicalPlan, column_name
from sharkpy.physical.replan.reduce_sides import reducible_exchanges
from sharkpy.physical.sinks import BroadcastSink, HashSink, RangeSink, SingleSink, StageSink
from sharkpy.values.types import is_nested


def next_exchange(plan: PhysicalPlan) -> Exchange | None:
    """Return an Exchange with none below it, the one expected to move the fewest bytes, or None.

    Sides that another side may reduce wait for it.
    """
    waiting = reducible_exchanges(plan)
    ready = [
        node
        for node in plan.walk()
        if isinstance(node, Exchange) and not any(isinstance(below, Exchange) for below in node.child.walk())
    ]
    return min(ready, key=lambda exchange: (exchange.exchange_id in waiting, *_order(exchange)), default=None)


def _order(exchange: Exchange) -> tuple[int, int]:
    size = exchange.estimated_bytes
    return (size if size is not None else 1 << 62, exchange.exchange_id)


def read_of(exchange: Exchange, observed: ExchangeStatistics | None) -> ExchangeRead:
    return ExchangeRead(exchange.exchange_id, exchange.output, exchange.partitioning, observed)


def replace_exchange(plan: PhysicalPlan, exchange_id: int, read: ExchangeRead) -> PhysicalPlan:
    """Replace an Exchange that has run by the read of its output."""

    def replace(node: PhysicalPlan) -> PhysicalPlan:
        return read if isinstance(node, Exchange) and node.exchange_id == exchange_id else node

    return plan.transform_up(replace)


def replace_node(plan: PhysicalPlan, old: PhysicalPlan, new: PhysicalPlan) -> PhysicalPlan:
    """Replace the node `old`, compared by identity."""
    return new if plan is old else plan.map_children(lambda child: replace_node(child, old, new))


def sink_of(exchange: Exchange, bounds: bytes = b"") -> StageSink:
    """Return the sink of the exchange's map stage; a range exchange needs its `bounds`."""
    match exchange.partitioning:
        case HashPartitioning(keys, num_buckets, spread):
            return HashSink(tuple(column_name(key.column_id) for key in keys), num_buckets, spread)
        case RangePartitioning(keys, num_buckets):
            names = (
                (column_name(key.expr.column_id), key.ascending, key.nulls_first)  # type: ignore[attr-defined]
                for key in keys
            )
            types = tuple(key.dtype for key in keys)
            return RangeSink(tuple(names), bounds, num_buckets, types if any(map(is_nested, types)) else ())
        case SinglePartitioning():
            return SingleSink()
        case BroadcastPartitioning():
            return BroadcastSink()
    raise InternalError(f"{exchange.label} has no sink")
