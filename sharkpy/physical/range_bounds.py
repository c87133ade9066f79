"""Boundaries of a range exchange, from a sample of its keys."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from sharkpy.base.errors import InternalError
from sharkpy.physical.distribution import RangePartitioning
from sharkpy.physical.operators import Exchange, Project
from sharkpy.physical.plan import PhysicalPlan, column_name
from sharkpy.udf.ordering import order_term

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

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
