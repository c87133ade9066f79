"""Splitting of physical plans into stages at their Exchanges.

The runner calls, in order: `next_exchange`; for a range exchange, `sample_plan` and `range_bounds`;
`lower_stage(exchange.child, sink_of(...))`, which it runs; `replace_exchange` by `read_of(...)`; `replan`. It repeats
this until no Exchange is left, then calls `lower_stage` for the rest with its own sink.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from sharkpy.base.errors import InternalError
from sharkpy.physical.operators import Exchange, ExchangeRead, Project
from sharkpy.physical.plan import (
    BroadcastPartitioning,
    ExchangeStatistics,
    HashPartitioning,
    PhysicalPlan,
    RangePartitioning,
    SinglePartitioning,
    column_name,
)
from sharkpy.physical.replan.use_small_sides import reducible_exchanges
from sharkpy.physical.stage_program import BroadcastSink, HashSink, RangeSink, SingleSink, StageSink
from sharkpy.udf.ordering import order_term
from sharkpy.values.types import is_nested

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection


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


# Boundaries of a range exchange


SAMPLE_ROWS = 2_000
"""Number of sample rows per task."""


def sample_plan(exchange: Exchange) -> PhysicalPlan:
    """Return the plan to run before a range exchange: its keys only, at most SAMPLE_ROWS per task."""
    partitioning = _range(exchange)
    keys = tuple({key.expr: None for key in partitioning.keys})
    return Project(exchange.child, keys)  # type: ignore[arg-type]


def range_bounds(sample: pa.Table, partitioning: RangePartitioning) -> bytes:
    """Return at most num_buckets - 1 rows, as Arrow IPC bytes, that divide the sorted sample into equal parts.

    The columns are the sort keys. A row that equals a boundary, or follows it, goes to the bucket after it.
    """
    import pyarrow as pa

    with _database().cursor() as connection:
        connection.register("sample", sample)
        names = [column_name(key.expr.column_id) for key in partitioning.keys]  # type: ignore[attr-defined]
        order = ", ".join(
            order_term(f'"{name}"', key.dtype, ascending=key.ascending, nulls_first=key.nulls_first)
            for name, key in zip(names, partitioning.keys, strict=True)
        )
        ordered = connection.sql(f"SELECT * FROM sample ORDER BY {order}").to_arrow_table()
    count = ordered.num_rows
    cuts = sorted({count * index // partitioning.num_buckets for index in range(1, partitioning.num_buckets)})
    bounds = ordered.take(pa.array([cut for cut in cuts if 0 < cut < count], pa.int64()))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, bounds.schema) as writer:
        writer.write_table(bounds)
    return sink.getvalue().to_pybytes()


@functools.cache
def _database() -> DuckDBPyConnection:
    """Return the process's database for sorting samples; opening one takes longer than a sort."""
    import duckdb

    return duckdb.connect(config={"threads": 1})


def _range(exchange: Exchange) -> RangePartitioning:
    if not isinstance(exchange.partitioning, RangePartitioning):
        raise InternalError(f"{exchange.label} is not a range exchange")
    return exchange.partitioning
