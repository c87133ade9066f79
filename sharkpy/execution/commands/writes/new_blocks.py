"""Blocks of new files of a table in memory, and folding of new files of other tables."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base import uri
from sharkpy.base.errors import CancelledError, ExecutionError, ResourceError, SharkError
from sharkpy.catalog.model import Table
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.staged_blocks import StagedBlocks
from sharkpy.sources.folders.generations import Placed


def make_blocks(blocks: StagedBlocks, staging: str) -> bool:
    """Make the blocks of staged files before the commit, so that no reader waits for them.

    Return False if that fails; it is tried again after the commit.
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
    """Load the blocks of new files of a table in memory, or fold the files of another table later.

    The statement does not depend on it: if memory is full, or remote files cannot be read now, the next query loads
    them. A continuous table is loaded before the first query. Files are folded in the Hive partitions that were
    `written`. If the generation `added` is the only change, no other files are read.
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
    """Whether the blocks of new files are made at once."""
    cache = session.table_cache
    return cache.is_loaded(table) or (bool(table.continuous) and cache.is_cached(table))
