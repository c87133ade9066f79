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
"""Rows of the sample that one task gives."""


def sample_plan(exchange: Exchange) -> PhysicalPlan:
    """The plan to run before a range exchange: its keys alone; each task gives at most SAMPLE_ROWS of them."""
    partitioning = _range(exchange)
    keys = tuple({key.expr: None for key in partitioning.keys})
    return Project(exchange.child, keys)  # type: ignore[arg-type]


def range_bounds(sample: pa.Table, partitioning: RangePartitioning) -> bytes:
    """Arrow IPC bytes of at most num_buckets - 1 rows that cut the sorted sample into equal parts.

    Columns are the sort keys; a row goes behind a boundary that it does not precede.
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
    """Database of the process that sorts samples: opening one takes longer than a sort."""
    import duckdb

    return duckdb.connect(config={"threads": 1})


def _range(exchange: Exchange) -> RangePartitioning:
    if not isinstance(exchange.partitioning, RangePartitioning):
        raise InternalError(f"{exchange.label} is not a range exchange")
    return exchange.partitioning
