"""Writing a query's rows into files or blocks, for commands and machine learning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.settings import BLOCK_ROWS, COMPRESS_OUTPUT, OUTPUT_CODEC, OUTPUT_COMPRESSION_TYPE, TEXT_TORN, Conf
from sharkpy.catalog.avro_schema import with_schema_text
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.queries.plan_query import plan_query, plan_stage
from sharkpy.execution.queries.run_plan import new_runner, run_to_sink
from sharkpy.execution.tables.block_lineage import Contents, Recipe, in_source_order, is_repeatable, is_row_wise
from sharkpy.execution.tables.snapshot import QuerySnapshot
from sharkpy.execution.tasks.report import BlockResult, FileResult
from sharkpy.physical.sinks import BlockSink, FileSink
from sharkpy.plan.logical import Scan
from sharkpy.plan.subqueries import QueryTable, RecursiveTable
from sharkpy.sources.folders.staged_writes import STAGED
from sharkpy.sources.layout import DataFile

if TYPE_CHECKING:
    from sharkpy.columnar.handle import BlockHandle
    from sharkpy.columnar.statistics_table import PackedStatistics
    from sharkpy.plan.logical import LogicalPlan


def write_files(
    session: EngineSession, plan: LogicalPlan, sink: FileSink, snapshot: QuerySnapshot
) -> Sequence[tuple[str, int, int]]:
    """Write files; return (path, rows, bytes) of each when all tasks are done.

    Raise the error of a failed task.
    """
    sink = replace(sink, properties=_with_output_settings(sink.properties, session.conf))
    sink = _with_schema_texts(sink, session.catalog.schema_text)
    if uri.is_remote(sink.directory) and not sink.access:
        sink = replace(sink, access=session.catalog.access_id(sink.directory))
    physical, stage = plan_stage(session, plan, snapshot)
    results = run_to_sink(session, new_runner(session, physical, plan.label), sink, stage)
    files = [one for one in results if isinstance(one, FileResult)]
    if sink.access:
        # Other files in the folder are from failed attempts of tasks.
        STAGED.report(sink.directory, (_staged(file, sink.access) for file in files))
    return [(one.path, one.num_rows, one.encoded_bytes) for one in files]


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
    session: EngineSession, plan: LogicalPlan, sink: BlockSink, snapshot: QuerySnapshot
) -> Sequence[tuple[BlockHandle, PackedStatistics]]:
    """Write the blocks of a query. Its plan is stored, so that lost blocks can be rebuilt."""
    contents = _contents(session, plan, snapshot)
    physical, stage = plan_stage(session, plan, snapshot)
    sink = replace(sink, is_checked=is_repeatable(plan))
    if sink.layout is not None:
        sink = replace(sink, layout=replace(sink.layout, is_by_source=sink.is_checked and is_row_wise(physical.root)))
    results = run_to_sink(session, new_runner(session, physical, plan.label), sink, stage)
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
        from sharkpy.execution.queries.recursive_query import write_recursive_table

        return write_recursive_table(session, table, snapshot)
    return write_blocks(session, table.query, BlockSink(table.schema, session.conf.value(BLOCK_ROWS), None), snapshot)


def _with_output_settings(properties: tuple[tuple[str, str], ...], conf: Conf) -> tuple[tuple[str, str], ...]:
    """Return a sink's properties with the session's codec, and whether text rows may be torn."""
    told = (OUTPUT_CODEC, OUTPUT_COMPRESSION_TYPE) if conf.value(COMPRESS_OUTPUT) else ()
    torn = ((TEXT_TORN.key, "true"),) if conf.value(TEXT_TORN) else ()
    return (*((setting.key, conf.value(setting)) for setting in told), *torn, *properties)
