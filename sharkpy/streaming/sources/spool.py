"""Spool: files in which rows from programs and sockets wait until all queries of the stream have them."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sharkpy.catalog.continuous_query import Position
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.staged_files import sync_folders, sync_staged
from sharkpy.streaming.sources.folder import FolderReader
from sharkpy.streaming.sources.found_files import Found

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

    def _place(self, file: Found) -> tuple[int, str]:
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
