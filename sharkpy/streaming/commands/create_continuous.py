"""CREATE CONTINUOUS TABLE."""

from __future__ import annotations

import dataclasses
import uuid

from sharkpy.base.errors import TableExistsError, UnsupportedError
from sharkpy.catalog.continuous_query import ContinuousQuery
from sharkpy.catalog.model import CacheMode
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.create_table import make_folder, new_table
from sharkpy.execution.commands.storage import CACHE_PROPERTY, storage_format
from sharkpy.plan.commands import CreateContinuousTable
from sharkpy.streaming.bad_rows import bad_row_table
from sharkpy.streaming.commands.definition import (
    check_definition,
    check_epochs,
    definer,
    make_and_run,
    settings_of,
    streams_of,
)
from sharkpy.streaming.commands.start_from import beginning
from sharkpy.streaming.scheduler import StreamSession
from sharkpy.streaming.targets import become_targets


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
    check_definition([command.query], session)
    bad_rows = bad_row_table(command.on_bad_row, streams_of([command.query]), session)
    storage = storage_format(create.storage, create.properties, session, is_from_query=True)
    create = dataclasses.replace(create, storage=storage)
    query_id = uuid.uuid4().hex
    table = dataclasses.replace(new_table(create, session, session.snapshot(), None), continuous=query_id)
    query = ContinuousQuery(
        query_id,
        table.table_id,
        command.text,
        session.current_database,
        streams_of([command.query]),
        command.trigger,
        settings_of(session),
        definer(session),
        bad_rows="" if bad_rows is None else bad_rows.table_id,
    )
    query = beginning(query, command.start, session)

    def publish() -> None:
        make_folder(table, create)
        become_targets([bad_rows] if bad_rows is not None else [], catalog)
        catalog.streams.add(query)
        check_epochs(query, table, session)

    make_and_run(table, query, publish, session, if_not_exists=create.if_not_exists)
    return NOTHING
