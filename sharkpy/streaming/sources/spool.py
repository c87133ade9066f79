"""Spool: files in which rows from programs and sockets wait until all queries of the stream have them.

A program writes its rows with a `StreamWriter`.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import BindError, ParameterError, ResourceError
from sharkpy.catalog.continuous_query import Position
from sharkpy.catalog.stream_kinds import MAX_BYTES, PROGRAM
from sharkpy.columnar.block_folders import used_bytes
from sharkpy.ml.tables.declared_columns import DeclaredColumns
from sharkpy.ml.tables.program_data import given_rows
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.formats import source
from sharkpy.sources.staged_files import sync_folders, sync_staged
from sharkpy.streaming.sources.folder_reader import FolderReader
from sharkpy.streaming.sources.interfaces import FoundFile

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.streaming.scheduler import StreamSession

_numbers = itertools.count()


class _Times:
    """Times in the names of files. Each is later than the previous one, even if the clock goes back."""

    def __init__(self) -> None:
        self._last_ns = 0
        self._lock = threading.Lock()

    def next_ns(self) -> int:
        with self._lock:
            self._last_ns = max(self._last_ns + 1, time.time_ns())
            return self._last_ns


_times = _Times()


@contextmanager
def spool_file(folder: Path, suffix: str) -> Iterator[Path]:
    """Make a file of a spool, which the body writes at the yielded path.

    When the context ends without an error, the file is on disk, in order after earlier files. Raise ResourceError or
    SourceError if the disk fails.
    """
    name = f"{_times.next_ns():020d}-{os.getpid()}-{next(_numbers):09d}{suffix}"
    hidden = folder / f".{name}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield hidden
        sync_staged(str(hidden))
        hidden.rename(folder / name)
    except OSError as error:
        raise io_error(error, str(hidden)) from None
    finally:
        hidden.unlink(missing_ok=True)
    sync_folders([str(folder)])


class SpoolReader(FolderReader):
    """Reader of an internal folder, whose names are in the order in which the files were made."""

    keeps_items = True

    def _place(self, file: FoundFile) -> tuple[int, str]:
        return 0, file.name

    def since(self, moment_ms: int) -> Position | None:  # noqa: ARG002 - rows of a spool may be gone
        return None

    def release(self, end: Position) -> None:
        if not end or self._catalog.readers.is_read(self._stream.location or ""):
            return
        with self._lock:
            known = self._known or {}
            gone = [one for one in known.values() if one.number < end[0]]
            if not gone:
                return
            for one in gone:
                Path(self._folder, one.name).unlink(missing_ok=True)
            with self._catalog.transaction():
                self._catalog.streams.forget_files(self._stream.table_id, [one.number for one in gone])
                # This is inside the transaction: a rollback asks for the first item in its own transaction, and does
                # not take this lock.
                self._known = {name: one for name, one in known.items() if one.number >= end[0]}


_ROOM_SECONDS = 0.05
_ROOM_CHECKS = 16
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
        if self._unchecked * _ROOM_CHECKS < self._most:
            return
        while self._folder.is_dir() and used_bytes(str(self._folder)) > self._most:
            queries = self._session.catalog.streams.queries()
            if not any(self._stream.table_id in query.streams for query in queries):
                message = f"{self._most} bytes wait in {self._stream.qualified_name}, which no continuous table reads"
                raise ResourceError(message, sqlstate="53100")
            check_cancelled()
            time.sleep(_ROOM_SECONDS)
        self._unchecked = 0
