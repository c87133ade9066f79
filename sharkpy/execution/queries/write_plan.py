"""The rows of a plan into files or blocks, as commands and machine learning ask a session for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sharkpy.base.errors import BlocksReplacedError
from sharkpy.base.settings import COMPRESS_OUTPUT, OUTPUT_CODEC, OUTPUT_COMPRESSION_TYPE, TEXT_TORN, Conf
from sharkpy.execution.queries.run_plan import new_runner, run_to_sink
from sharkpy.execution.tables.lineage import Recipe, in_source_order, is_repeatable, is_row_wise
from sharkpy.execution.tables.snapshot import QuerySnapshot, reading
from sharkpy.execution.tasks.report import BlockResult, FileResult

if TYPE_CHECKING:
    from sharkpy.columnar.handle import BlockHandle
    from sharkpy.columnar.statistics import BlockStatistics
    from sharkpy.physical.stage import BlockSink, FileSink
    from sharkpy.plan.logical import LogicalPlan
    from sharkpy.session.shark_context import SharkContext


def write_files(
    session: SharkContext, plan: LogicalPlan, sink: FileSink, snapshot: QuerySnapshot | None
) -> Sequence[tuple[str, int, int]]:
    sink = replace(sink, properties=_with_output_settings(sink.properties, session.conf))
    with reading(session, snapshot) as seen:
        results = run_to_sink(session, new_runner(session, plan.label), session.plan(plan, seen), sink)
    return [(one.path, one.num_rows, one.encoded_bytes) for one in results if isinstance(one, FileResult)]


def write_blocks(
    session: SharkContext, plan: LogicalPlan, sink: BlockSink, snapshot: QuerySnapshot | None
) -> Sequence[tuple[BlockHandle, BlockStatistics]]:
    try:
        with reading(session, snapshot) as seen:
            return _written_blocks(session, plan, sink, seen)
    except BlocksReplacedError:
        if snapshot is not None:
            raise
        # The tables that it reads have other blocks now.
        with reading(session, None) as seen:
            return _written_blocks(session, plan, sink, seen)


def _written_blocks(
    session: SharkContext, plan: LogicalPlan, sink: BlockSink, snapshot: QuerySnapshot
) -> Sequence[tuple[BlockHandle, BlockStatistics]]:
    """The blocks that a query makes; how it made them is kept, so that lost ones can be made again."""
    contents, physical = session.table_cache.contents(plan), session.plan(plan, snapshot)
    sink = replace(sink, is_checked=is_repeatable(plan))
    if sink.layout is not None:
        sink = replace(sink, layout=replace(sink.layout, is_by_source=sink.is_checked and is_row_wise(physical)))
    results = run_to_sink(session, new_runner(session, plan.label), physical, sink)
    made = in_source_order([one for one in results if isinstance(one, BlockResult)], physical)
    if sink.is_checked:
        recipe = Recipe.of(plan, contents, physical, sink, session.conf, session.plan)
        session.table_cache.lineage.note_made(recipe, made)
    return [(one.handle, one.statistics) for one in made]


def _with_output_settings(properties: tuple[tuple[str, str], ...], conf: Conf) -> tuple[tuple[str, str], ...]:
    """What is written by a session: its codec, and whether text may be torn."""
    told = (OUTPUT_CODEC, OUTPUT_COMPRESSION_TYPE) if conf.value(COMPRESS_OUTPUT) else ()
    torn = ((TEXT_TORN.key, "true"),) if conf.value(TEXT_TORN) else ()
    return (*properties, *((setting.key, conf.value(setting)) for setting in told), *torn)
