"""CACHE TABLE, UNCACHE TABLE, CLEAR CACHE."""

from __future__ import annotations

import dataclasses

from sharkpy.base.errors import UnsupportedError
from sharkpy.catalog.model import CACHE_PROPERTY, CacheMode
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import CacheTable, ClearCache, UncacheTable


def cache_table(command: CacheTable, session: EngineSession) -> CommandResult:
    table = session.catalog.state_table(command.table) or command.table
    if table.is_view:
        raise UnsupportedError(f'"{table.name}" is a view: CACHE TABLE needs a table')
    session.table_cache.cache(table, lazy=command.lazy)
    return NOTHING


def uncache_table(command: UncacheTable, session: EngineSession) -> CommandResult:
    """Stop caching a table, and reset its cache property.

    Raise UnsupportedError for a table that is only in memory.
    """
    if command.table is None:
        return NOTHING
    if command.table.location is None and not command.table.is_view:
        raise UnsupportedError(f'"{command.table.name}" is in memory only: drop it instead of UNCACHE TABLE')
    for table in filter(None, (command.table, session.catalog.state_table(command.table))):
        if table.cache_mode is not CacheMode.NONE:
            properties = dict(table.properties) | {CACHE_PROPERTY: CacheMode.NONE.value}
            session.catalog.alter_table(dataclasses.replace(table, properties=tuple(properties.items())))
        session.table_cache.uncache(table)
    return NOTHING


def clear_cache(_: ClearCache, session: EngineSession) -> CommandResult:
    session.table_cache.clear()
    return NOTHING
