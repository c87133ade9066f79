"""Execution of WITH RECURSIVE, step by step, each over the rows of the step before."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import ExecutionError
from sharkpy.base.settings import BLOCK_ROWS, RECURSION_LIMIT
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.model import Table
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.statistics_table import PackedStatistics
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.queries.write_plan import write_blocks
from sharkpy.execution.tables.snapshot import QuerySnapshot
from sharkpy.physical.sinks import BlockSink
from sharkpy.plan.expr import Call, ColumnRef, conjunction
from sharkpy.plan.logical import Aggregate, Join, JoinKind, LogicalPlan, Scan, Union
from sharkpy.plan.subqueries import RecursiveTable
from sharkpy.values.types import BOOLEAN

Blocks = Sequence[tuple[BlockHandle, PackedStatistics]]


def write_recursive_table(session: EngineSession, table: RecursiveTable, snapshot: QuerySnapshot) -> Blocks:
    """Compute all rows of a recursive query. Raise ExecutionError 42836 if it exceeds the limit of steps."""
    limit = session.conf.value(RECURSION_LIMIT)
    found: list[Table] = []
    try:
        new = table.query if not table.is_distinct else Aggregate(table.query, table.query.output, ())
        while (rows := _kept(session, table, new, snapshot)) is not None:
            check_cancelled()
            found.append(rows)
            if len(found) > limit:
                message = f'the recursive query "{table.name}" has not ended after {limit} steps'
                hint = f"end it by a condition in its second part, or SET {RECURSION_LIMIT.key} to allow more steps"
                raise ExecutionError(message, hint=hint, sqlstate="42836")
            new = _next(table, found)
        return write_blocks(session, _all(table, found), _sink(session, table), snapshot)
    finally:
        for rows in found:
            session.table_cache.forget(rows)


def _sink(session: EngineSession, table: Table) -> BlockSink:
    return BlockSink(table.schema, session.conf.value(BLOCK_ROWS), None)


def _kept(session: EngineSession, table: RecursiveTable, plan: LogicalPlan, snapshot: QuerySnapshot) -> Table | None:
    """Store the rows of a step in a table. Return None if there are none."""
    blocks = write_blocks(session, plan, _sink(session, table), snapshot)
    if not any(handle.num_rows for handle, _ in blocks):
        return None
    rows = Table(new_table_id(), "", table.name, table.kind, table.schema, properties=table.properties)
    session.table_cache.put(rows, blocks)
    return rows


def _next(table: RecursiveTable, found: Sequence[Table]) -> LogicalPlan:
    """Return the query for the rows of the next step."""

    def over_last(node: LogicalPlan) -> LogicalPlan:
        if isinstance(node, Scan) and node.table.table_id == table.last.table_id:
            return replace(node, table=found[-1])
        return node

    step = table.step.transform_up(over_last)
    if not table.is_distinct:
        return step
    known = _all(table, found, max((one for node in step.walk() for one in node.output_ids), default=0))
    pairs = zip(step.output, known.output, strict=True)
    equal = conjunction(Call("eq_null_safe", pair, BOOLEAN) for pair in pairs)
    return Join(Aggregate(step, step.output, ()), known, JoinKind.ANTI, equal)


def _all(table: RecursiveTable, found: Sequence[Table], last_id: int = 0) -> LogicalPlan:
    """Return a query of all rows found so far, with column ids after `last_id`."""
    if not found:
        return table.query
    ids = itertools.count(last_id + 1)

    def columns() -> tuple[ColumnRef, ...]:
        return tuple(ColumnRef(next(ids), one.name, one.dtype) for one in table.schema)

    return Union(tuple(Scan(rows, columns(), table.schema.names) for rows in found), columns())
