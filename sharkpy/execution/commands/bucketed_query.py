"""Queries that write bucketed tables: rows are grouped by bucket, and sorted if the table says so."""

from __future__ import annotations

from dataclasses import replace

from sharkpy.catalog.model import BucketSpec
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.queries.plan_query import plan_query
from sharkpy.execution.tables.snapshot import QuerySnapshot
from sharkpy.optimizer.replan.choose_buckets import choose_table_buckets
from sharkpy.physical.estimate import estimated_bytes
from sharkpy.plan.expr import SortKey
from sharkpy.plan.logical import Distribute, LogicalPlan, Sort
from sharkpy.values.types import Schema


def chosen_buckets(
    spec: BucketSpec | None, query: LogicalPlan | None, session: EngineSession, snapshot: QuerySnapshot
) -> BucketSpec | None:
    """Return the table's buckets. If no number is given, choose one that suits the query's size."""
    if spec is None or spec.num_buckets or query is None:
        return spec
    estimate = estimated_bytes(plan_query(session, query, snapshot).root)
    return replace(spec, num_buckets=choose_table_buckets(session.engine.parallelism, estimate))


def bucketed_query(query: LogicalPlan, schema: Schema, spec: BucketSpec | None) -> LogicalPlan:
    """Return `query`, with the columns of `schema` and each bucket's rows in one task, which writes few files."""
    if spec is None:
        return query
    columns = dict(zip(schema.names, query.output, strict=True))
    order = tuple(SortKey(columns[name], ascending, ascending) for name, ascending in spec.sort_columns)
    # The table's distribution and order replace the query's.
    if order and isinstance(query, Sort) and not query.is_global:
        query = query.child
    if isinstance(query, Distribute):
        query = query.child
    moved = Distribute(query, tuple(columns[name] for name in spec.columns), spec.num_buckets)
    return Sort(moved, order, is_global=False) if order else moved
