"""Blocks of files that a statement has added to a table in memory."""

from __future__ import annotations

from sharkpy.base.errors import CancelledError, ResourceError
from sharkpy.catalog.model import Table
from sharkpy.execution.engine_session import EngineSession


def load_new_blocks(table: Table, session: EngineSession) -> None:
    """Load the blocks of new files. The statement does not depend on it: blocks without room are loaded by the next
    query.
    """
    if not session.table_cache.is_loaded(table):
        return
    with session.catalog.readers.reading(table.location or ""):
        try:
            session.table_cache.version(table)
        except (CancelledError, ResourceError):
            session.table_cache.release(table)
