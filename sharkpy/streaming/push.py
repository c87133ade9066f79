"""Rows that a Python program pushes into a stream."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import BindError, ParameterError, ResourceError
from sharkpy.catalog.stream_kinds import MAX_BYTES, PROGRAM
from sharkpy.columnar.block_folders import used_bytes
from sharkpy.ml.tables.declared_columns import DeclaredColumns
from sharkpy.ml.tables.given_data import given_rows
from sharkpy.sources.formats import source
from sharkpy.streaming.sources.spool import spool_file

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.streaming.scheduler import StreamSession

_ROOM_SECONDS = 0.05
_CHECKS = 16
"""Number of checks for free space while `max.bytes` are written."""


class StreamWriter:
    """Writer of rows into a stream FROM PROGRAM. One thread at a time calls it; a stream may have several writers.

    The rows of one call are read by one epoch. Calls are read in their order.
    """

    def __init__(self, session: StreamSession, stream: Table) -> None:
        """Raise BindError 42809 for a stream of another kind."""
        if stream.stream is None or stream.stream.kind != PROGRAM.name:
            raise BindError(f"{stream.qualified_name} is not a stream FROM PROGRAM", sqlstate="42809")
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
        """Write rows and return their number.

        `data` is Arrow data, a data frame, an array, or a list of tuples or dicts. On return the rows are on disk: no
        crash loses them, and no crash makes a query read them twice.

        If more than the stream's `max.bytes` wait to be read, this method waits too. It raises ResourceError 53100 if
        no continuous table reads the stream. Raise DataError for a value that its column cannot hold; nothing is
        written then.
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
