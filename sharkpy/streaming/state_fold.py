"""Folding of the state of a continuous query: what many epochs have added becomes few rows that mean the same."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sharkpy.base.settings import COMPACTION
from sharkpy.catalog.model import Table
from sharkpy.execution.queries.write_plan import write_files
from sharkpy.physical.sinks import FileSink
from sharkpy.sql.binder import bind_state_fold

if TYPE_CHECKING:
    from sharkpy.catalog.continuous_query import ContinuousQuery
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.execution.tables.file_folding import FoldedRun

_MOST_BYTES = 1 << 62


def fold_state(query: ContinuousQuery, session: EngineSession) -> bool:
    """Fold the newest small generations of a query's state into one, if they are worth it; true if it was done.

    One rename puts the new file in their place, so that each reader sees either. Epochs that are kept are not folded.
    """
    state = session.catalog.current_table(query.table_id)
    if state is None or state.location is None or not session.conf.value(COMPACTION):
        return False
    with session.as_statement():
        return session.table_cache.folding.fold_with(partial(_write, query, state, session), state, "", _MOST_BYTES)


def _write(query: ContinuousQuery, state: Table, session: EngineSession, run: FoldedRun, staging: str) -> bool:
    """Write what some files of the state are folded to."""
    part, snapshot = state.from_files("#fold"), session.snapshot()
    try:
        snapshot.give(part, run.files)
        plan = bind_state_fold(query.text, part, session.catalog, session.conf, query.database, is_first=run.is_first)
        sink = FileSink(state.schema, state.storage.name, state.storage.properties, staging)
        write_files(session, plan, sink, snapshot)
    finally:
        snapshot.release()
    return True
