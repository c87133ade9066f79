"""CREATE CONTINUOUS TABLE."""

from __future__ import annotations

import dataclasses
import uuid

from sharkpy.base.errors import TableExistsError, UnsupportedError
from sharkpy.base.settings import USER, is_guarded
from sharkpy.base.users import user_name
from sharkpy.catalog.continuous_query import ContinuousQuery
from sharkpy.catalog.model import CacheMode
from sharkpy.catalog.store import TEMPORARY_KINDS
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.create_table import make_folder, new_table
from sharkpy.execution.commands.storage import CACHE_PROPERTY, storage_format
from sharkpy.execution.restrictions import SCRIPT
from sharkpy.plan.commands import CreateContinuousTable
from sharkpy.plan.logical import LogicalPlan, Scan, Step
from sharkpy.plan.steps.script import Script
from sharkpy.sql.binder import bind_epoch
from sharkpy.streaming.scheduler import StreamSession

_OF_STATEMENTS = ("shark.query.timeout", "shark.pool")
"""Settings of a session that say nothing about what a query means."""


def create_continuous(command: CreateContinuousTable, session: StreamSession) -> CommandResult:
    """Make an empty table with its continuous query, which runs from now on; with TRIGGER ONCE or AVAILABLE NOW
    the statement ends when all has been read that is there.
    """
    catalog = session.catalog
    if catalog.is_shared:
        raise UnsupportedError("a continuous table in a Hive metastore")
    create = command.table
    if catalog.find_table(create.database, create.name) is not None:
        if create.if_not_exists:
            return NOTHING
        raise TableExistsError(f'table "{create.name}" already exists')
    mode = dict(create.properties).get(CACHE_PROPERTY, "").upper()
    if mode == CacheMode.MEMORY_ONLY.value:
        raise UnsupportedError("a continuous table with shark.cache MEMORY_ONLY")
    _check_scripts(command.query, session)
    storage = storage_format(create.storage, create.properties, session, is_from_query=True)
    create = dataclasses.replace(create, storage=storage)
    query_id = uuid.uuid4().hex
    table = dataclasses.replace(new_table(create, session, session.snapshot(), None), continuous=query_id)
    query = ContinuousQuery(
        query_id,
        table.table_id,
        command.text,
        session.current_database,
        _streams(command.query),
        command.trigger,
        _settings(session),
        session.conf.value(USER) or user_name(session.conf),
    )
    _check_temporary(command.query)

    def publish() -> None:
        make_folder(table, create)
        catalog.streams.add(query)
        # Names that only this session knows are an error now, and not of every epoch.
        bind_epoch(query.text, table, catalog.for_session(), session.conf, query.database)

    catalog.create_table(table, publish=publish)
    if query.trigger.ends:
        session.streams.run_now(query_id)
    else:
        session.streams.start()
        session.streams.wake()
    return NOTHING


def _streams(query: LogicalPlan) -> tuple[str, ...]:
    found = (node.table for node in query.walk() if isinstance(node, Scan))
    return tuple(dict.fromkeys(table.table_id for table in found if table.is_stream))


def _settings(session: StreamSession) -> tuple[tuple[str, str], ...]:
    """Settings that the session has changed and that may change what the query means."""
    changes = session.conf.changes()
    return tuple((key, value) for key, value in changes if not is_guarded(key) and key not in _OF_STATEMENTS)


def _check_temporary(query: LogicalPlan) -> None:
    for node in query.walk():
        if isinstance(node, Scan) and node.table.kind in TEMPORARY_KINDS:
            raise UnsupportedError(f"the temporary table {node.table.name} in a continuous table")


def _check_scripts(query: LogicalPlan, session: StreamSession) -> None:
    if any(isinstance(node, Step) and isinstance(node.step, Script) for node in query.walk()):
        session.restrictions.check_code(SCRIPT)
