"""CREATE STREAM and DROP STREAM."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.errors import BindError, TableExistsError, UnsupportedError
from sharkpy.base.users import user_name
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.model import StorageFormat, StreamSource, Table, TableKind
from sharkpy.catalog.stream_kinds import KAFKA, KINDS, PROGRAM, RATE, SOCKET, START_MS, check_new_columns, has_spans
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.storage import check_properties, check_storage, epoch_format, stored_schema
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import CreateStream, DropStream
from sharkpy.streaming.address import host_and_port
from sharkpy.streaming.closed_windows import feed_windows, watermark_of
from sharkpy.streaming.commands.kafka_stream import kafka_format, kafka_source
from sharkpy.streaming.commands.table_stream import feed_stream
from sharkpy.streaming.scheduler import StreamSession
from sharkpy.streaming.sources.let_go import fed_table, remove_let_go
from sharkpy.streaming.sources.rate import rate_format
from sharkpy.streaming.warm_up import warm_up

_WITHOUT_LISTS = ("http", "https")
_SPOOL = "spool"
"""Folder of the rows that wait to be read, next to the catalog."""


def create_stream(command: CreateStream, session: EngineSession) -> CommandResult:
    """Add a stream to the catalog. No items are read, and its folder may be created later."""
    if session.catalog.is_shared:
        raise UnsupportedError("a stream in a Hive metastore")
    if command.if_not_exists and session.catalog.find_table(command.database, command.name) is not None:
        return NOTHING
    check_properties(command.properties)
    warm_up()
    stream = _stream(command, session)
    check_new_columns(stream)

    table = command.table
    until = watermark_of(table, session) if table is not None and has_spans(stream) else 0

    def publish() -> None:
        if KINDS[command.source.kind].is_spooled:
            Path(stream.location or "").mkdir(parents=True, exist_ok=True)
        if table is not None and has_spans(stream):
            feed_windows(stream, table, until, session.catalog)
        elif table is not None:
            feed_stream(stream, session.catalog.state_table(table) or table, session.catalog)

    try:
        session.catalog.create_table(stream, publish=publish)
    except TableExistsError:
        if not command.if_not_exists:
            raise
    return NOTHING


def _stream(command: CreateStream, session: EngineSession) -> Table:
    """Return the catalog's entry of a stream.

    Raise an error for an invalid source, or one that the session may not use.
    """
    table_id, schema = new_table_id(), stored_schema(command.schema)
    source = _source(command, session)
    return Table(
        table_id,
        command.database,
        command.name,
        TableKind.STREAM,
        schema,
        _format(command, source, session),
        _location(command, session, table_id),
        command.properties,
        command.comment,
        owner=user_name(session.conf),
        stream=source,
        watermark=command.watermark,
        computed=command.computed,
    )


def _source(command: CreateStream, session: EngineSession) -> StreamSource:
    source = command.source
    if source.kind == SOCKET.name:
        session.restrictions.check_connection(f"a stream FROM {source.kind}")
        host_and_port(command.place or "")
        return replace(source, place=command.place or "")
    if source.kind == KAFKA.name:
        return kafka_source(source, session)
    if source.kind == RATE.name:
        options = dict(source.options)
        options.setdefault(START_MS, str(time.time_ns() // 1_000_000))
        return replace(source, options=tuple(options.items()))
    return source


def _format(command: CreateStream, source: StreamSource, session: EngineSession) -> StorageFormat:
    kind, given = KINDS[source.kind], command.storage
    if command.table is not None and given is not None:
        return given
    if given is not None and not kind.takes_format:
        raise UnsupportedError(f"a format of a stream FROM {kind.name}")
    if kind is RATE:
        return rate_format(source, session.conf)
    if kind is KAFKA:
        return kafka_format(given, command.properties, stored_schema(command.schema), session)
    storage = epoch_format(StorageFormat("parquet") if kind is PROGRAM else given, command.properties, session)
    check_storage(storage, stored_schema(command.schema), session)
    return storage


def _location(command: CreateStream, session: EngineSession, table_id: str) -> str | None:
    """Return the folder of a stream's files, or None for a stream without files."""
    kind = KINDS[command.source.kind]
    if kind.is_spooled:
        return str(Path(session.catalog.state_dir, _SPOOL, table_id))
    if not kind.place:
        return None
    place = command.place or ""
    return _remote_folder(place, session) if uri.is_remote(place) else session.restrictions.check_path(place)


def _remote_folder(place: str, session: EngineSession) -> str:
    """Return the remote folder of a stream, without a request to its store.

    Raise UnsupportedError if the store cannot list files.
    """
    from sharkpy.sources.storage.stores import is_supported

    session.restrictions.check_location(place)
    if not is_supported(place) or uri.scheme_of(place) in _WITHOUT_LISTS:
        raise UnsupportedError(f'a stream FROM FOLDER "{uri.redacted(place)}", of whose files there is no list')
    return place.rstrip("/")


def drop_stream(command: DropStream, session: StreamSession) -> CommandResult:
    """Drop a stream. Data that the engine does not own stays.

    Raise BindError 2BP01 if a continuous query reads the stream.
    """
    stream, catalog = command.stream, session.catalog
    if stream is None:
        return NOTHING
    with catalog.transaction():
        for query in catalog.streams.queries():
            if stream.table_id in query.streams:
                table = catalog.named(query)
                name = query.query_id if table is None else table.qualified_name
                kind = "continuous table" if table is None else table.streaming_kind
                message = f"the {kind} {name} reads the stream {stream.qualified_name}"
                raise BindError(message, hint=f"DROP {kind.upper()} first", sqlstate="2BP01")
        files = catalog.streams.files(stream.table_id, 0, catalog.streams.end(stream.table_id))
        table = fed_table(stream, catalog)
        catalog.drop_table(stream)
    session.streams.readers.leave(stream.table_id)
    remove_let_go(files, table, catalog)
    if stream.stream is not None and KINDS[stream.stream.kind].is_spooled:
        catalog.trash.discard(stream.location or "")
    return NOTHING
