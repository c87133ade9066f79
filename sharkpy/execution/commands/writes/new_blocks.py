"""Blocks of files that a statement has added to a table in memory; folds of the files of one that is not."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base import uri
from sharkpy.base.errors import CancelledError, ExecutionError, ResourceError, SharkError
from sharkpy.catalog.model import Table
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.staged_blocks import StagedBlocks
from sharkpy.sources.folders.generations import Placed


def make_blocks(blocks: StagedBlocks, staging: str) -> bool:
    """Make the blocks of staged files before these count, so that nobody who reads them then waits for it.

    False if that has failed: it is tried again when the files count.
    """
    try:
        blocks.make(staging)
    except CancelledError:
        raise
    except ExecutionError:
        blocks.free()
        return False
    return True


def load_new_blocks(
    table: Table, session: EngineSession, written: Sequence[str] = ("",), added: Placed | None = None
) -> None:
    """Load the blocks of new files. The statement does not depend on it: blocks without room, or of remote files that
    cannot be read now, are loaded by the next query. A continuous table is loaded before any query asks for it. The
    files of a table that is not in memory are folded by themselves, in the folders of the Hive partitions that were
    `written`. Where all that was done is that a generation was `added`, no other files are looked at.
    """
    cache = session.table_cache
    if not will_load(table, session):
        cache.fold_later(table, written)
        return
    with session.catalog.readers.reading(table.location or ""):
        try:
            if added is None or not cache.add(table, added):
                cache.version(table)
        except SharkError as error:
            if not isinstance(error, (CancelledError, ResourceError)) and not uri.is_remote(table.location or ""):
                raise
            cache.release(table)


def will_load(table: Table, session: EngineSession) -> bool:
    """Whether blocks of new files are made at once."""
    cache = session.table_cache
    return cache.is_loaded(table) or (bool(table.continuous) and cache.is_cached(table))
