"""CREATE CONTINUOUS SINK."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from sharkpy.base.errors import BindError, TableExistsError, UnsupportedError
from sharkpy.base.users import user_name
from sharkpy.catalog.continuous_query import ContinuousQuery
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.store import new_table_id
from sharkpy.catalog.table_folders import TableFolders
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.storage import check_storage, storage_format, stored_schema
from sharkpy.plan.commands import CreateContinuousSink
from sharkpy.sources.failures import io_error
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


def create_continuous_sink(command: CreateContinuousSink, session: StreamSession) -> CommandResult:
    """Let files come into a folder from now on; with TRIGGER ONCE or AVAILABLE NOW the statement ends when all has
    been read that is there.
    """
    catalog = session.catalog
    if catalog.is_shared:
        raise UnsupportedError("a continuous sink in a Hive metastore")
    if catalog.find_table(command.database, command.name) is not None:
        if command.if_not_exists:
            return NOTHING
        raise TableExistsError(f'table "{command.name}" already exists')
    check_definition([command.query], session)
    streams = streams_of([command.query])
    bad_rows = bad_row_table(command.on_bad_row, streams, session)
    query_id = uuid.uuid4().hex
    schema, storage = stored_schema(command.columns), storage_format(command.storage, (), session, is_from_query=True)
    check_storage(storage, schema, session)
    table = Table(
        new_table_id(),
        command.database,
        command.name,
        TableKind.CONTINUOUS_SINK,
        schema,
        storage,
        _folder(command.path, streams, session),
        comment=command.comment,
        owner=user_name(session.conf),
        continuous=query_id,
    )
    query = ContinuousQuery(
        query_id,
        table.table_id,
        command.text,
        session.current_database,
        streams,
        command.trigger,
        settings_of(session),
        definer(session),
        bad_rows="" if bad_rows is None else bad_rows.table_id,
    )
    query = beginning(query, command.start, session)

    def publish() -> None:
        become_targets([bad_rows] if bad_rows is not None else [], catalog)
        catalog.streams.add(query)
        check_epochs(query, table, session)

    make_and_run(table, query, publish, session, if_not_exists=command.if_not_exists)
    return NOTHING


def _folder(path: str, streams: tuple[str, ...], session: StreamSession) -> str:
    """Folder of a sink, which is made; BindError for one of a table, or of a stream that the sink reads."""
    folder = session.restrictions.check_path(path)
    session.restrictions.gate.require_below(path)
    folders = TableFolders(session.catalog)
    if (owner := folders.lies_in(folder) or folders.held_by(folder)) is not None:
        raise BindError(f'the folder "{folder}" of a continuous sink is that of {owner.owner}', sqlstate="42809")
    folder = os.path.realpath(folder)
    for stream in filter(None, map(session.catalog.current_table, streams)):
        if stream.location is not None and Path(folder).is_relative_to(os.path.realpath(stream.location)):
            message = f'the folder "{folder}" of a continuous sink is read by its stream {stream.qualified_name}'
            raise BindError(message, sqlstate="42809")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise io_error(error, folder) from None
    return folder
