"""CREATE STREAM and DROP STREAM."""

from __future__ import annotations

from sharkpy.base.errors import BindError, TableExistsError, UnsupportedError
from sharkpy.base.users import user_name
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.store import new_table_id
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.storage import check_properties, check_storage, storage_format, stored_schema
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import CreateStream, DropStream


def create_stream(command: CreateStream, session: EngineSession) -> CommandResult:
    """Note a stream in the catalog; nothing is read. Its folder may come later."""
    if session.catalog.is_shared:
        raise UnsupportedError("a stream in a Hive metastore")
    if command.if_not_exists and session.catalog.find_table(command.database, command.name) is not None:
        return NOTHING
    check_properties(command.properties)
    location = None if command.place is None else session.restrictions.check_path(command.place)
    storage = storage_format(command.storage, command.properties, session)
    schema = stored_schema(command.schema)
    check_storage(storage, schema, session)
    stream = Table(
        new_table_id(),
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
    try:
        session.catalog.create_table(stream)
    except TableExistsError:
        if not command.if_not_exists:
            raise
    return NOTHING


def drop_stream(command: DropStream, session: EngineSession) -> CommandResult:
    """Forget a stream, whose data stays. BindError 2BP01 if a continuous query reads it."""
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
    return NOTHING
