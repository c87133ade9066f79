"""Writes of a query's rows into files or blocks, for commands and machine learning.

A bucketed table's rows are grouped by bucket. WITH RECURSIVE writes a table, step by step, each over the rows of the
step before.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import ExecutionError
from sharkpy.base.settings import (
    BLOCK_ROWS,
    COMPRESS_OUTPUT,
    OUTPUT_CODEC,
    OUTPUT_COMPRESSION_TYPE,
    RECURSION_LIMIT,
    TEXT_TORN,
    Conf,
)
from sharkpy.catalog.avro_schema import with_schema_text
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.model import BucketSpec, Table
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.statistics_table import PackedStatistics
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.queries.plan_query import plan_query, plan_stage
from sharkpy.execution.queries.run_plan import new_runner, run_to_sink
from sharkpy.execution.tables.block_lineage import Contents, Recipe, in_source_order, is_repeatable, is_row_wise
from sharkpy.execution.tables.snapshot import QuerySnapshot
from sharkpy.execution.tasks.report import BlockResult, FileResult
from sharkpy.optimizer.buckets import choose_table_buckets
from sharkpy.physical.estimate import estimated_bytes
from sharkpy.physical.stage_program import BlockSink, FileSink
from sharkpy.plan.expr import Call, ColumnRef, SortKey, conjunction
from sharkpy.plan.logical import Aggregate, Distribute, Join, JoinKind, LogicalPlan, Scan, Sort, Union
from sharkpy.plan.subqueries import QueryTable, RecursiveTable
from sharkpy.sources.folders.staged_writes import STAGED
from sharkpy.sources.layout import DataFile
from sharkpy.values.types import BOOLEAN, Schema


def write_files(
    session: EngineSession, plan: LogicalPlan, sink: FileSink, snapshot: QuerySnapshot
) -> Sequence[tuple[str, int, int]]:
    """Write files; return (path, rows, bytes) of each when all tasks are done.

    Raise the error of a failed task.
    """
    sink = replace(sink, properties=_with_output_settings(sink.properties, session.conf))
    sink = _with_schema_texts(sink, session.catalog.schema_text)
    if not sink.access:
        sink = replace(sink, access=session.catalog.access_id(sink.directory))
    physical, stage = plan_stage(session, plan, snapshot)
    results = run_to_sink(session, new_runner(session, physical, plan.label), sink, stage)
    files = [one for one in results if isinstance(one, FileResult)]
    if sink.access:
        # Other files in the folder are from failed attempts of tasks.
        STAGED.report(sink.directory, (_staged(file, sink.access) for file in files))
    return [(one.path, one.num_rows, one.encoded_bytes) for one in files]


def stage_files(
    session: EngineSession, plan: LogicalPlan, sink: FileSink, snapshot: QuerySnapshot
) -> Sequence[tuple[str, int, int]]:
    """`write_files` into the staging folder of a write, whose end forgets the numbers of rows that this notes."""
    files = write_files(session, plan, sink, snapshot)
    STAGED.note_counts(sink.directory, {path: num_rows for path, num_rows, _ in files})
    return files


def _staged(file: FileResult, access: str) -> DataFile:
    return DataFile(file.path, file.encoded_bytes, file.modified_ns, tag=file.tag, access=access)


def _with_schema_texts(sink: FileSink, schema_text: Callable[[str], str]) -> FileSink:
    """Return the sink with the texts of remote schemas, which its tasks do not read."""
    forms = tuple(
        (name, replace(storage, properties=with_schema_text(storage.properties, schema_text)), columns)
        for name, storage, columns in sink.forms
    )
    return replace(sink, properties=with_schema_text(sink.properties, schema_text), forms=forms)


def write_blocks(
    session: EngineSession, plan: LogicalPlan, sink: BlockSink, snapshot: QuerySnapshot, table: str = ""
) -> Sequence[tuple[BlockHandle, PackedStatistics]]:
    """Write the blocks of a query. Its plan is stored, so that lost blocks can be rebuilt. `table` is the name that
    WITH gives it.
    """
    contents = _contents(session, plan, snapshot)
    physical, stage = plan_stage(session, plan, snapshot)
    sink = replace(sink, is_checked=is_repeatable(plan))
    if sink.layout is not None:
        sink = replace(sink, layout=replace(sink.layout, is_by_source=sink.is_checked and is_row_wise(physical.root)))
    runner = new_runner(session, physical, plan.label)
    runner.run.profile.table = table
    results = run_to_sink(session, runner, sink, stage)
    made = in_source_order([one for one in results if isinstance(one, BlockResult)], physical.root)
    if sink.is_checked:
        recipe = Recipe.of(plan, contents, physical, sink, session.conf, partial(plan_query, session))
        session.table_cache.lineage.note_made(recipe, made)
    return [(one.handle, one.statistics) for one in made]


def _contents(session: EngineSession, plan: LogicalPlan, snapshot: QuerySnapshot) -> Contents:
    """Return the contents of the tables that a query reads.

    If it reads rows that only it was given, as an epoch does, the result equals no other.
    """
    is_given = any(isinstance(node, Scan) and snapshot.has_own_rows(node.table) for node in plan.walk())
    return (object(),) if is_given else session.table_cache.contents(plan)


def write_query_table(
    session: EngineSession, table: QueryTable, snapshot: QuerySnapshot
) -> Sequence[tuple[BlockHandle, PackedStatistics]]:
    """Compute the rows of a query once for the statement of `snapshot`."""
    if isinstance(table, RecursiveTable):
        return write_recursive_table(session, table, snapshot)
    return write_blocks(session, table.query, _sink(session, table), snapshot, table.name)


def _with_output_settings(properties: tuple[tuple[str, str], ...], conf: Conf) -> tuple[tuple[str, str], ...]:
    """Return a sink's properties with the session's codec, and whether text rows may be torn."""
    told = (OUTPUT_CODEC, OUTPUT_COMPRESSION_TYPE) if conf.value(COMPRESS_OUTPUT) else ()
    torn = ((TEXT_TORN.key, "true"),) if conf.value(TEXT_TORN) else ()
    return (*((setting.key, conf.value(setting)) for setting in told), *torn, *properties)


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
        return write_blocks(session, _all(table, found), _sink(session, table), snapshot, table.name)
    finally:
        for rows in found:
            session.table_cache.forget(rows)


def _sink(session: EngineSession, table: Table) -> BlockSink:
    return BlockSink(table.schema, session.conf.value(BLOCK_ROWS), None)


def _kept(session: EngineSession, table: RecursiveTable, plan: LogicalPlan, snapshot: QuerySnapshot) -> Table | None:
    """Store the rows of a step in a table. Return None if there are none."""
    blocks = write_blocks(session, plan, _sink(session, table), snapshot, table.name)
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
