"""Rows that a Python program pushes into a stream."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import BindError, ParameterError, ResourceError
from sharkpy.catalog.stream_kinds import MAX_BYTES, PROGRAM
from sharkpy.columnar.store_folder import used_bytes
from sharkpy.ml.tables.declared_columns import DeclaredColumns
from sharkpy.ml.tables.given_data import given_rows
from sharkpy.sources.registry import source
from sharkpy.streaming.sources.spool import spool_file

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.streaming.scheduler import StreamSession

_ROOM_SECONDS = 0.05
_CHECKS = 16
"""Checks of the room while as much is written as may wait."""


class StreamWriter:
    """Writer of rows into a stream FROM PROGRAM. One thread at a time calls it; a stream may have several writers.

    What one call has written is read by one epoch, in the order of the calls.
    """

    def __init__(self, session: StreamSession, stream: Table) -> None:
        """BindError for a stream of another kind."""
        if stream.stream is None or stream.stream.kind != PROGRAM.name:
            raise BindError(f"{stream.qualified_name} is no stream FROM PROGRAM", sqlstate="42809")
        self._session = session
        self._stream = stream
        self._columns = DeclaredColumns(stream.schema.names, tuple(field.dtype for field in stream.schema))
        self._folder = Path(stream.location or "")
        self._most = PROGRAM.value(stream.stream.options, MAX_BYTES)
        self._unchecked = self._most

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def write(self, data: Any) -> int:
        """Write rows: Arrow data, a data frame, an array, or a list of tuples or dicts. Returns their number when they
        are on the disk: no crash loses them or reads them twice.

        Waits while more than the stream's `max.bytes` wait to be read; ResourceError 53100 where nobody reads them.
        DataError for a value that its column cannot hold; nothing is written then.
        """
        rows = given_rows(self._session, data, self._columns)
        if not rows.is_here:
            raise ParameterError("an RDD cannot be pushed", hint="save_as_table saves it as a table")
        self._await_room()
        with spool_file(self._folder, ".parquet") as path:
            written = source("parquet").write(rows.read(rows.here, 0), rows.schema, (), str(path))
            self._unchecked += path.stat().st_size
        self._session.streams.arrived(self._stream.table_id)
        return written

    def _await_room(self) -> None:
        if self._unchecked * _CHECKS < self._most:
            return
        while self._folder.is_dir() and used_bytes(str(self._folder)) > self._most:
            queries = self._session.catalog.streams.queries()
            if not any(self._stream.table_id in query.streams for query in queries):
                message = f"{self._most} bytes wait in {self._stream.qualified_name}, which no continuous table reads"
                raise ResourceError(message, sqlstate="53100")
            check_cancelled()
            time.sleep(_ROOM_SECONDS)
        self._unchecked = 0
