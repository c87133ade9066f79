"""Sources of streams, one kind per file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sharkpy.base.errors import UnsupportedError
from sharkpy.catalog.stream_kinds import FOLDER, KAFKA, PROGRAM, RATE, SOCKET, TABLE, has_spans
from sharkpy.streaming.sources.change_reader import ChangeReader
from sharkpy.streaming.sources.closed_windows import ClosedSpans
from sharkpy.streaming.sources.folder_reader import FolderReader
from sharkpy.streaming.sources.kafka_reader import KafkaReader
from sharkpy.streaming.sources.rate_reader import RateReader
from sharkpy.streaming.sources.remote_finder import RemoteLooks
from sharkpy.streaming.sources.socket_reader import SocketReader
from sharkpy.streaming.sources.spool import SpoolReader
from sharkpy.streaming.sources.table_reader import TableReader

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.model import Table
    from sharkpy.streaming.sources.folder_events import FolderEvents
    from sharkpy.streaming.sources.interfaces import SourceReader


def _reader_of_table(stream: Table, catalog: Catalog, _: FolderEvents) -> SourceReader:
    """Return a reader of the rows appended to a table, of all its changes, or of the windows that its watermark
    closes.
    """
    if stream.follows_changes:
        return ChangeReader(stream, catalog)
    return ClosedSpans(stream, catalog) if has_spans(stream) else TableReader(stream, catalog)


_READERS: dict[str, Callable[[Table, Catalog, FolderEvents], SourceReader]] = {
    KAFKA.name: lambda stream, catalog, _: KafkaReader(stream, catalog),
    PROGRAM.name: SpoolReader,
    RATE.name: lambda stream, *_: RateReader(stream),
    SOCKET.name: SocketReader,
    TABLE.name: _reader_of_table,
}


def new_reader(stream: Table, catalog: Catalog, events: FolderEvents, remote: RemoteLooks) -> SourceReader:
    """Make a reader of a stream's source.

    `events` reports changes of local folders; `remote` is for remote folders. Raise UnsupportedError for a kind of
    source that this version cannot read.
    """
    kind = "" if stream.stream is None else stream.stream.kind
    if kind == FOLDER.name:
        return FolderReader(stream, catalog, events, remote)
    if kind not in _READERS:
        raise UnsupportedError(f"a stream FROM {kind}")
    return _READERS[kind](stream, catalog, events)
