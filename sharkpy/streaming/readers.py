"""Readers of streams: one for each stream, which all continuous queries of an engine share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from sharkpy.catalog.continuous_query import Position, furthest_position
from sharkpy.streaming.sources import new_reader
from sharkpy.streaming.sources.folder_events import FolderEvents
from sharkpy.streaming.sources.folder_reader import FolderReader
from sharkpy.streaming.sources.remote_finder import RemoteLooks

if TYPE_CHECKING:
    from sharkpy.base.settings import Conf
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.model import Table
    from sharkpy.execution.tables.snapshot import QuerySnapshot
    from sharkpy.streaming.sources.interfaces import LookFigures, SourceReader


class StreamReaders:
    """Readers of an engine's streams. Any thread may call them."""

    def __init__(self, catalog: Catalog, conf: Conf, arrived: Callable[[str], object]) -> None:
        """`arrived` is called with the id of a stream when the system reports new files in its folder."""
        self._catalog = catalog
        self.events = FolderEvents(arrived)
        self._remote = RemoteLooks(conf)
        self._readers: dict[str, tuple[Table, SourceReader]] = {}
        self._lock = threading.Lock()

    def of(self, stream: Table) -> SourceReader:
        """Return the reader of a stream. After the stream was altered, it has another reader."""
        with self._lock:
            known = self._readers.get(stream.table_id)
            if known is None or known[0] is not stream:
                if known is not None:
                    known[1].close()
                reader = new_reader(stream, self._catalog, self.events, self._remote)
                known = self._readers[stream.table_id] = (stream, reader)
            return known[1]

    def look(self, stream: str, age: float) -> Position | None:
        """Return the position after the last item of a stream, by id, or None if the stream has no reader yet.

        An earlier look counts if it is not older than `age` seconds.
        """
        with self._lock:
            known = self._readers.get(stream)
        return None if known is None else known[1].look(age)

    def seen(self, stream: str) -> Position:
        """Return the position after the last known item of a stream, by id."""
        with self._lock:
            known = self._readers.get(stream)
        noted = (self._catalog.streams.end(stream),)
        return noted if known is None else furthest_position(noted, known[1].end)

    def give_now(self, stream: Table, snapshot: QuerySnapshot) -> None:
        """Set the rows of a stream in a snapshot to all rows that are available now."""
        reader = self.of(stream)
        end = reader.look()
        reader.give(snapshot, reader.first(), end)

    def leave(self, stream: str) -> None:
        """Close the reader of a dropped stream, by id."""
        with self._lock:
            known = self._readers.pop(stream, None)
        if known is not None:
            known[1].close()

    def figures(self, stream: str) -> LookFigures | None:
        """Return the figures of the looks at a stream in a remote folder, by id; None for other streams."""
        with self._lock:
            known = self._readers.get(stream)
        return known[1].figures if known is not None and isinstance(known[1], FolderReader) else None

    def end_looks(self) -> None:
        """Cancel all looks at remote folders, which may wait for a server, now and from now on."""
        self._remote.ended.cancel()

    def close(self) -> None:
        """Close all readers."""
        for stream in list(self._readers):
            self.leave(stream)
        self.events.close()
