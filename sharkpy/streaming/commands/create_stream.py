"""CREATE STREAM and DROP STREAM.

A stream FROM KAFKA has start offsets and a format of values. A stream FROM TABLE gets the rows that writes append to a
table, or all changes of its rows, from now on or from its first row. While CREATE STREAM runs, a thread loads the
compiled code that the first epoch needs, which saves a third of a second.
"""

from __future__ import annotations

import json
import struct
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import BindError, TableExistsError, UnsupportedError
from sharkpy.base.parse_limits import whole_number
from sharkpy.base.settings import TIME_ZONE
from sharkpy.base.time_zone import arrow_zone, zone_name
from sharkpy.base.users import user_name
from sharkpy.catalog.catalog import Catalog, new_table_id
from sharkpy.catalog.kafka_options import (
    END_OFFSET,
    LATEST,
    RAW,
    START,
    START_TIME,
    ZONE,
    Options,
    paths_in,
    start_offsets,
)
from sharkpy.catalog.model import CHANGES, StorageFormat, StreamSource, Table, TableKind
from sharkpy.catalog.stream_kinds import (
    HISTORY,
    KAFKA,
    KINDS,
    PROGRAM,
    RATE,
    SOCKET,
    START_MS,
    STARTING_VERSION,
    check_new_columns,
    has_spans,
)
from sharkpy.catalog.system_tables import RECORD_COLUMNS
from sharkpy.catalog.table_history import VersionPoint
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.storage import check_properties, check_storage, epoch_format, stored_schema
from sharkpy.execution.commands.writes.table_feed import TableFeed
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.data_files import table_files
from sharkpy.plan.commands import CreateStream, DropStream
from sharkpy.sources.kafka.client import Topic, admin_client
from sharkpy.sources.kafka.records import check_values, text_or_bytes
from sharkpy.streaming.epoch_tables import become_targets, check_target
from sharkpy.streaming.scheduler import StreamSession
from sharkpy.streaming.sources.closed_windows import feed_windows, watermark_of
from sharkpy.streaming.sources.rate_reader import rate_format
from sharkpy.streaming.sources.socket_reader import host_and_port
from sharkpy.streaming.sources.table_reader import followed_table, remove_dropped_files
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession

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
        if KINDS[command.source.kind].is_spooled and stream.location is not None:
            Path(stream.location).mkdir(parents=True, exist_ok=True)
        if table is not None and stream.follows_changes:
            feed_changes(stream, table, session.catalog)
        elif table is not None and has_spans(stream):
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
        None if (CHANGES, "true") in source.options else _location(command, session, table_id),
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
        table = followed_table(stream, catalog)
        catalog.drop_table(stream)
    session.streams.readers.leave(stream.table_id)
    remove_dropped_files(files, table, catalog)
    if stream.stream is not None and KINDS[stream.stream.kind].is_spooled and stream.location is not None:
        catalog.trash.discard(stream.location)
    return NOTHING


def kafka_source(source: StreamSource, session: EngineSession) -> StreamSource:
    """Return the source of a stream, with start offsets in place of the current end or of a time.

    Only these cause requests to the brokers. Raise NotAllowedError for a connection or path that the session may not
    use.
    """
    session.restrictions.check_connection(f"a stream FROM {source.kind}")
    for path in paths_in(source.options):
        session.restrictions.check_path(path)
    admin_client(source.options)
    options = dict(source.options)
    options[ZONE] = arrow_zone(zone_name(options.get(ZONE) or session.conf.value(TIME_ZONE)))
    if (start := _start(source.options)) is not None:
        options.pop(START_TIME, None)
        options[START] = json.dumps({str(partition): offset for partition, offset in sorted(start.items())})
    return replace(source, options=tuple(options.items()))


def _start(options: Options) -> dict[int, int] | None:
    """Return the start offsets of a stream, or None if the brokers are not needed to know them."""
    values, given = dict(options), start_offsets(options)
    milliseconds = whole_number(values.get(START_TIME, ""))
    if START_TIME in values and START in values:
        raise BindError(f"{START} and {START_TIME} of one stream", sqlstate="22023")
    if milliseconds is not None:
        topic = Topic(options)
        return topic.since(range(topic.num_partitions()), milliseconds)
    if values.get(START, "").lower() == LATEST:
        topic = Topic(options)
        return topic.ends(range(topic.num_partitions()))
    if given is None or END_OFFSET not in given.values():
        return None
    ends = Topic(options).ends(partition for partition, offset in given.items() if offset == END_OFFSET)
    return given | ends


def kafka_format(
    given: StorageFormat | None,
    properties: tuple[tuple[str, str], ...],
    schema: Schema,
    session: EngineSession,
) -> StorageFormat:
    """Return the format of a stream's values.

    By default a single column of text or bytes is the value itself, and other columns are fields of a JSON object.
    """
    for name in RECORD_COLUMNS.names:
        if name in schema.names:
            raise BindError(f'"{name}" is a column that each stream FROM KAFKA has', sqlstate="42701")
    if given is None and text_or_bytes(schema):
        return StorageFormat(RAW)
    storage = epoch_format(given or StorageFormat("json"), properties, session)
    check_values(storage.name, schema, storage.properties)
    return storage


def feed_stream(stream: Table, table: Table, catalog: Catalog) -> None:
    """Feed a stream with the rows that writes append to a table, in the transaction that creates the stream.

    With the option `history` the current rows of the table come first. Raise UnsupportedError for a table whose rows
    are not committed by transactions of the catalog.
    """
    check_target(table, "the table of a stream")
    become_targets([table], catalog)
    catalog.streams.add_feed(stream.table_id, table.table_id)
    if stream.stream is not None and dict(stream.stream.options).get(HISTORY) == "true":
        feed = TableFeed(table, catalog)
        try:
            feed.add(stream, table_files(table, catalog))
        except BaseException:
            feed.take_back()
            raise


def feed_changes(stream: Table, table: Table, catalog: Catalog) -> None:
    """Let a stream follow the commits of a table, in the transaction that creates the stream.

    It begins after the last commit, or with the option `startingVersion` at that commit. Raise BindError 22023 if the
    version before is not available, UnsupportedError for a table without a history.
    """
    catalog.require(table)
    catalog.require_history(table, "a stream WITH CHANGES")
    given = dict(() if stream.stream is None else stream.stream.options).get(STARTING_VERSION)
    _, last = catalog.history.versions(table.table_id) or (0, 0)
    point = VersionPoint(last if given is None else int(given) - 1)
    before = catalog.history.wanted(table.table_id, table.qualified_name, point)
    catalog.streams.add_feed(stream.table_id, table.table_id)
    catalog.streams.begin_after(stream.table_id, before)


_warm_up_begun = threading.Event()


def warm_up() -> None:
    """Load the compiled code that makes blocks in a thread, once per process."""
    if not _warm_up_begun.is_set():
        _warm_up_begun.set()
        threading.Thread(target=load_compiled, name="warm up").start()


def load_compiled() -> None:
    """Encode rows of the common types, in this thread.

    The arrays are not made of Python values, since Arrow imports pandas for that.
    """
    import pyarrow as pa

    from sharkpy.columnar.block import encode_block
    from sharkpy.values.types import BIGINT, DOUBLE, INT, STRING, TIMESTAMP, Field, Schema, to_arrow

    types = {"a": BIGINT, "b": DOUBLE, "c": STRING, "d": TIMESTAMP, "e": INT}
    values = struct.pack("=8q", 3, 1, 4, 1, 5, 9, 2, 6)
    numbers = pa.Array.from_buffers(pa.int64(), 8, [None, pa.py_buffer(values)])
    columns = {name: numbers.cast(to_arrow(dtype)) for name, dtype in types.items()}
    encode_block(pa.table(columns), Schema(tuple(Field(name, dtype) for name, dtype in types.items())))
