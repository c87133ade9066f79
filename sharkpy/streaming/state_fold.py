"""Folding of the state of a continuous query: what many epochs have added becomes few rows that mean the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sharkpy.base.settings import COMPACTION, COMPACTION_BLOCKS
from sharkpy.catalog.local_path import local_path
from sharkpy.catalog.model import Table
from sharkpy.execution.queries.write_plan import write_files
from sharkpy.execution.tables.file_folding import small_run
from sharkpy.physical.sinks import FileSink
from sharkpy.sources import layout
from sharkpy.sources.layout import DataFile, Generation
from sharkpy.sql.binder import bind_state_fold

if TYPE_CHECKING:
    from sharkpy.catalog.continuous_query import ContinuousQuery
    from sharkpy.execution.engine_session import EngineSession

_MOST_BYTES = 1 << 62


def fold_state(query: ContinuousQuery, session: EngineSession) -> bool:
    """Fold the newest small generations of a query's state into one, if they are worth it; true if it was done.

    One rename puts the new file in their place, so that each reader sees either. Epochs that are kept are not folded.
    """
    catalog, conf = session.catalog, session.conf
    state = catalog.current_table(query.table_id)
    if state is None or state.location is None or not conf.value(COMPACTION):
        return False
    folder = local_path(state.location)
    with catalog.readers.reading(state.location):
        run = small_run(_foldable(state, folder, session), conf.value(COMPACTION_BLOCKS), _MOST_BYTES)
        if not run:
            return False
        staging = layout.staging_path(folder)
        catalog.unfinished.begin(staging)
        try:
            layout.make_staging(staging)
            files = tuple(file for _, found in run for file in found)
            _write(query, state, files, staging, session)
            layout.sync_staged(staging)
            with catalog.transaction():
                catalog.require(state)
                target = layout.place_fold(staging, folder, run, catalog.newest_generation(state))
                if target is not None:
                    for folded in layout.files_below(target):
                        session.table_cache.versions.contents.note_fold(folded, files)
        finally:
            layout.discard_staging(staging)
            catalog.unfinished.end(staging)
    if target is None:
        return False
    session.table_cache.hidden.note(state.location, {folder: run[-1][0].last})
    session.table_cache.list_again(state)
    return True


def _foldable(state: Table, folder: str, session: EngineSession) -> Sequence[tuple[Generation, Sequence[DataFile]]]:
    """Generations that all kept epochs have."""
    catalog = session.catalog
    kept = catalog.oldest_generation(state, "")
    found = layout.visible_generations(folder, catalog.newest_generation(state))
    return [pair for pair in found if kept is None or pair[0].last <= kept]


def _write(
    query: ContinuousQuery, state: Table, files: Sequence[DataFile], staging: str, session: EngineSession
) -> None:
    """Write what some files of the state are folded to."""
    part, snapshot = state.from_files("#fold"), session.snapshot()
    try:
        snapshot.give(part, files)
        plan = bind_state_fold(query.text, part, session.catalog, session.conf, query.database)
        sink = FileSink(state.schema, state.storage.name, state.storage.properties, staging)
        with session.as_statement():
            write_files(session, plan, sink, snapshot)
    finally:
        snapshot.release()
