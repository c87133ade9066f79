"""Blocks of files that a statement has added to a table in memory; folds of the files of one that is not."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base.errors import CancelledError, ResourceError
from sharkpy.catalog.model import Table
from sharkpy.execution.engine_session import EngineSession


def load_new_blocks(table: Table, session: EngineSession, written: Sequence[str] = ("",)) -> None:
    """Load the blocks of new files. The statement does not depend on it: blocks without room are loaded by the next
    query. A continuous table is loaded before any query asks for it. The files of a table that is not kept in memory
    are folded by themselves, in the folders of the Hive partitions that were `written`.
    """
    cache = session.table_cache
    if not cache.is_cached(table):
        cache.fold_later(table, written)
    if not will_load(table, session):
        return
    with session.catalog.readers.reading(table.location or ""):
        try:
            cache.version(table)
        except (CancelledError, ResourceError):
            cache.release(table)


def will_load(table: Table, session: EngineSession) -> bool:
    """Whether blocks of new files are made at once."""
    cache = session.table_cache
    return cache.is_loaded(table) or (bool(table.continuous) and cache.is_cached(table))
