"""CREATE STREAM and DROP STREAM."""

from __future__ import annotations

from pathlib import Path

from sharkpy.base.errors import BindError, TableExistsError, UnsupportedError
from sharkpy.base.users import user_name
from sharkpy.catalog.model import StorageFormat, Table, TableKind
from sharkpy.catalog.store import new_table_id
from sharkpy.catalog.stream_kinds import PROGRAM
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.storage import check_properties, check_storage, storage_format, stored_schema
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import CreateStream, DropStream

_SPOOL = "spool"
"""Folder of the rows that programs push, beside the catalog."""


def create_stream(command: CreateStream, session: EngineSession) -> CommandResult:
    """Note a stream in the catalog; nothing is read. Its folder may come later."""
    if session.catalog.is_shared:
        raise UnsupportedError("a stream in a Hive metastore")
    if command.if_not_exists and session.catalog.find_table(command.database, command.name) is not None:
        return NOTHING
    check_properties(command.properties)
    table_id = new_table_id()
    storage = command.storage
    if command.source.kind == PROGRAM.name:
        if storage is not None:
            raise UnsupportedError("a format of a stream FROM PROGRAM")
        location = str(Path(session.catalog.state_dir, _SPOOL, table_id))
        storage = StorageFormat("parquet")
    else:
        location = session.restrictions.check_path(command.place or "")
    storage = storage_format(storage, command.properties, session)
    schema = stored_schema(command.schema)
    check_storage(storage, schema, session)
    stream = Table(
        table_id,
        command.database,
        command.name,
        TableKind.STREAM,
        schema,
        storage,
        location,
        command.properties,
        command.comment,
        owner=user_name(session.conf),
        stream=command.source,
    )

    def publish() -> None:
        if command.source.kind == PROGRAM.name:
            Path(location).mkdir(parents=True, exist_ok=True)

    try:
        session.catalog.create_table(stream, publish=publish)
    except TableExistsError:
        if not command.if_not_exists:
            raise
    return NOTHING


def drop_stream(command: DropStream, session: EngineSession) -> CommandResult:
    """Forget a stream, whose data stays if it is others'. BindError 2BP01 if a continuous query reads it."""
    stream, catalog = command.stream, session.catalog
    if stream is None:
        return NOTHING
    with catalog.transaction():
        for query in catalog.streams.queries():
            if stream.table_id in query.streams:
                table = catalog.current_table(query.table_id)
                name = query.query_id if table is None else table.qualified_name
                message = f"the continuous table {name} reads the stream {stream.qualified_name}"
                raise BindError(message, hint="DROP CONTINUOUS TABLE first", sqlstate="2BP01")
        catalog.drop_table(stream)
    if stream.stream is not None and stream.stream.kind == PROGRAM.name:
        catalog.trash.discard(stream.location or "")
    return NOTHING
