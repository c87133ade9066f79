"""Source shared by several queries of a statement: read by each if that is cheap, else computed once.

The number of rows that UPDATE, DELETE or MERGE changes is derived from the rows that it writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from sharkpy.base.errors import UnsupportedError
from sharkpy.base.settings import BLOCK_ROWS
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.model import CACHE_PROPERTY, CacheMode, Table, TableKind
from sharkpy.execution.commands.storage import stored_type
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.queries.run_plan import query_rows
from sharkpy.execution.queries.write_query import write_blocks
from sharkpy.execution.statement import Statement
from sharkpy.execution.tables.block_lineage import is_repeatable
from sharkpy.execution.tables.snapshot import QuerySnapshot
from sharkpy.physical.stage_program import BlockSink
from sharkpy.plan.commands import ChangeRows
from sharkpy.plan.expr import ColumnRef, Literal
from sharkpy.plan.logical import (
    Aggregate,
    Distribute,
    Filter,
    LogicalPlan,
    Project,
    Scan,
    Sort,
    Step,
    Values,
    with_source,
)
from sharkpy.plan.references import column_ids
from sharkpy.plan.row_steps import CountChanges
from sharkpy.plan.subqueries import SUBQUERIES
from sharkpy.values.types import NULL, Field, Schema, is_interval

Resolve = Callable[[LogicalPlan], LogicalPlan]
"""Function from a query over SharedRows to a query that can be planned."""


@contextmanager
def shared_source(
    source: LogicalPlan | None, queries: Sequence[LogicalPlan], session: EngineSession, snapshot: QuerySnapshot
) -> Iterator[Resolve]:
    """Put the source into each query if it is a scan with filters and computed columns.

    Each query then prunes its own reads. Any other source, or one with random values, is computed once into blocks. The
    blocks have the columns that the queries use and live as long as the statement.
    """
    if source is None:
        yield lambda query: query
        return
    if is_read_by_each_query(source) or len(queries) == 1:
        yield lambda query: with_source(query, source)
        return
    clustering = _clustering(source) if any(isinstance(one, Step) for query in queries for one in query.walk()) else []
    keys = _columns_used(clustering)
    used = _used(queries) | keys
    kept = [column for column in source.output if column.column_id in used and column.dtype != NULL]
    kept = kept or [column for column in source.output if column.dtype != NULL][:1]
    is_storable = all(not is_interval(one.dtype) and stored_type(one.dtype) == one.dtype for one in kept)
    if not kept or not is_storable or not keys <= source.output_ids:
        if not is_repeatable(source):
            raise UnsupportedError(
                "several queries cannot share a source with random values and with columns that cannot be stored"
            )
        yield lambda query: with_source(query, source)
        return
    table = _table(kept)
    try:
        sink = BlockSink(table.schema, session.conf.value(BLOCK_ROWS), None)
        rows = Project(source, tuple(kept))
        session.table_cache.put(table, write_blocks(session, rows, sink, snapshot))
        scan = _scan(table, kept, source)
        for node in clustering:
            scan = node.map_children(lambda _: scan)  # noqa: B023  called immediately
        yield lambda query: with_source(query, scan)
    finally:
        session.table_cache.forget(table)


def is_read_by_each_query(source: LogicalPlan) -> bool:
    """True if each query computes the source itself."""
    is_plain = all(isinstance(node, (Scan, Filter, Project, Values)) for node in source.walk())
    has_subqueries = any(
        isinstance(part, SUBQUERIES) for node in source.walk() for expr in node.expressions for part in expr.walk()
    )
    return is_plain and not has_subqueries and is_repeatable(source)


def _clustering(source: LogicalPlan) -> list[Sort | Distribute]:
    """Distributions and sorts of the source, bottom up; later steps rely on them."""
    found: list[Sort | Distribute] = []
    while isinstance(source, (Project, Filter, Sort, Distribute)):
        if isinstance(source, (Sort, Distribute)):
            found.append(source)
        source = source.child
    return found[::-1]


def _used(queries: Iterable[LogicalPlan]) -> set[int]:
    """Return the ids of columns in expressions or in the output."""
    found: set[int] = set()
    for query in queries:
        found |= query.output_ids | _columns_used(query.walk())
    return found


def _columns_used(nodes: Iterable[LogicalPlan]) -> set[int]:
    return {used for node in nodes for expr in node.expressions for used in column_ids(expr)}


def _table(columns: list[ColumnRef]) -> Table:
    """Make a table that is only blocks and in no catalog."""
    return Table(
        new_table_id(),
        "",
        "source",
        TableKind.TEMPORARY,
        Schema(tuple(Field(f"c{column.column_id}", column.dtype) for column in columns)),
        properties=((CACHE_PROPERTY, CacheMode.MEMORY_ONLY.value),),
    )


def _scan(table: Table, columns: list[ColumnRef], source: LogicalPlan) -> LogicalPlan:
    """Scan the stored rows under the ids of `source`. Columns of type NULL become literals."""
    scan = Scan(table, tuple(columns), table.schema.names)
    void = tuple(one.holding(Literal(None, NULL)) for one in source.output if one.dtype == NULL)
    return replace(Project(scan, ()), items=(*columns, *void)) if void else scan


def with_update_count(rows: LogicalPlan, command: ChangeRows) -> LogicalPlan:
    """Return the rows to write; the tasks that write them count the updated ones."""
    if not command.marks_updates:
        return rows
    *columns, is_updated = rows.output
    return Step(rows, CountChanges(), (is_updated,), (), tuple(columns))


def num_changed_rows(
    before: Aggregate | None, statement: Statement, session: EngineSession, snapshot: QuerySnapshot
) -> int:
    """Return the number of rows that the last staged write updated or left out.

    `before` counts all rows before the write, mostly from statistics.
    """
    num_updated, num_kept = statement.changed_rows, statement.rows_written
    if before is None:
        return num_updated
    rows = query_rows(session, before, snapshot)
    num_before: int = sum(batch.column(0)[0].as_py() for batch in rows if batch.num_rows)
    return num_updated + max(num_before - num_kept, 0)
