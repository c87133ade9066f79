"""Rows of a query cached as blocks of the memory store, under a table that is in no catalog."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from sharkpy.base import settings
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.model import BucketSpec, Table, TableKind
from sharkpy.execution.commands.storage import stored_query, stored_schema
from sharkpy.execution.queries.write_query import bucketed_query, write_blocks
from sharkpy.execution.tasks.buckets import bucketing
from sharkpy.ml.rdd.key_buckets import plan_in_buckets
from sharkpy.physical.stage_program import BlockSink
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import LogicalPlan, Scan
from sharkpy.values.types import Field, Schema

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.execution.tables.snapshot import QuerySnapshot

_numbers = itertools.count(1)


def keep_rows(
    session: EngineSession, plan: LogicalPlan, snapshot: QuerySnapshot
) -> tuple[LogicalPlan, Callable[[], None]]:
    """Run `plan` into blocks. Return the scan of the blocks, with the same columns, and the function that frees them.

    Lost blocks are recomputed by the tasks that made them. If the query keeps its rows in the buckets of a table, the
    blocks have the same buckets. Raise UnsupportedError for types that cannot be stored.
    """
    # Names of a query's columns may be equal.
    named = Schema(tuple(Field(f"c{place}", column.dtype) for place, column in enumerate(plan.output)))
    schema = stored_schema(named)
    buckets = _buckets(session, plan, snapshot)
    table = Table(new_table_id(), "rdd", f"rows_{next(_numbers)}", TableKind.TEMPORARY, schema, buckets=buckets)
    query = bucketed_query(stored_query(plan, schema), schema, buckets)
    sink = BlockSink(schema, session.conf.value(settings.BLOCK_ROWS), None, bucketing(buckets, schema))
    blocks = write_blocks(session, query, sink, snapshot)
    session.table_cache.put(table, blocks)
    columns = tuple(
        ColumnRef(column.column_id, column.name, field.dtype) for column, field in zip(plan.output, schema, strict=True)
    )
    return Scan(table, columns, schema.names), partial(session.table_cache.forget, table)


def _buckets(session: EngineSession, plan: LogicalPlan, snapshot: QuerySnapshot) -> BucketSpec | None:
    """Return the buckets of a source table, if the query keeps its rows in them and has the bucket columns."""
    places = {column.column_id: place for place, column in reversed([*enumerate(plan.output)])}
    for scan in plan.walk():
        if not isinstance(scan, Scan) or scan.table.buckets is None:
            continue
        ids = dict(zip(scan.names, (column.column_id for column in scan.columns), strict=True))
        found = [places.get(ids.get(name, -1)) for name in scan.table.buckets.columns]
        known = [place for place in found if place is not None]
        if len(known) < len(found):
            continue
        planned = plan_in_buckets(session, plan, [plan.output[place] for place in known], snapshot)
        if planned is not None and planned[2].num_buckets == scan.table.buckets.num_buckets:
            return BucketSpec(tuple(f"c{place}" for place in known), planned[2].num_buckets)
    return None
