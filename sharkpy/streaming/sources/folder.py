"""Files that appear in a folder, as a stream: each is read once, in the order in which they were found."""

from __future__ import annotations

import logging
import stat
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base.errors import SourceError
from sharkpy.catalog.local_path import local_path
from sharkpy.catalog.position import Position
from sharkpy.catalog.stream_kinds import FOLDER, MAX_FILES, SETTLE_MS
from sharkpy.catalog.stream_store import StreamFile
from sharkpy.sources.failures import io_error
from sharkpy.sources.layout import DataFile
from sharkpy.streaming.sources.folder_finder import FolderFinder, Found, is_left_alone

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.store import Catalog
    from sharkpy.execution.tables.snapshot import QuerySnapshot
    from sharkpy.streaming.sources.folder_events import FolderEvents, FolderWatch

FAIL_ON_LOSS = "failOnDataLoss"
_log = logging.getLogger(__name__)


class FolderReader:
    """Reader of the files at and below a folder.

    1. A file is read once it is whole: no program has it open for writing. Where the system does not tell that, or
       `settle.ms` is given, the file was moved to its place after its last write, or has not been written for as long.
       Names that begin with `_` or `.`, or end as those of unfinished downloads do, are left alone.
    2. Files found together are in the order of their times, then of their names. Their numbers are in the catalog.
    3. A file that has changed since it got its number, or is gone before it was read, is SourceError. With the property
       `failOnDataLoss` of the stream 'false' it is read as it is, or left out.
    """

    keeps_items = False

    def __init__(self, stream: Table, catalog: Catalog, events: FolderEvents | None = None) -> None:
        """`events` tells looks that are repeated of new files; without it the folder is listed when it has changed."""
        options = () if stream.stream is None else stream.stream.options
        self._stream = stream
        self._catalog = catalog
        self._folder = local_path(stream.location or "")
        self._is_strict = dict(stream.properties).get(FAIL_ON_LOSS, "true").lower() != "false"
        settle_ns = FOLDER.value(options, SETTLE_MS) * 1_000_000 if SETTLE_MS in dict(options) else None
        self._max_files = FOLDER.value(options, MAX_FILES)
        self._finder = FolderFinder(self._folder, settle_ns, partial(_watch, stream.table_id, events))
        self._lock = threading.Lock()
        self._known: dict[str, StreamFile] | None = None
        self._added: list[StreamFile] = []
        """Files that were given numbers last, which follow one another; an epoch mostly reads these."""
        self._end = 0
        self._looked = 0.0

    @property
    def end(self) -> Position:
        return (self._end,)

    def look(self, age: float = 0.0) -> Position:
        with self._lock:
            now = time.monotonic()
            if self._known is None or now - self._looked >= age or self._finder.has_news():
                try:
                    self._look(now, is_thorough=not age)
                except BaseException:
                    self._finder.list_again()
                    raise
                self._looked = now
            return self.end

    def first(self) -> Position:
        # No lock is waited for: a rollback asks inside a transaction, and a look that has the lock waits for that.
        known = list((self._known or {}).values())
        return (min((one.number for one in known), default=self._end),)

    def since(self, moment_ms: int) -> Position | None:
        """By the times at which files were written last; all that came behind the first such file are after it."""
        with self._lock:
            found = (one.number for one in (self._known or {}).values() if one.modified_ns >= moment_ms * 1_000_000)
            return (min(found, default=self._end),)

    def num_gone(self) -> int:
        return sum(self.first())

    def release(self, end: Position) -> None:
        """Do nothing: the files are others'."""

    def close(self) -> None:
        self._finder.close()

    def unsettled_seconds(self) -> float:
        return self._finder.unsettled

    def cut(self, start: Position, end: Position) -> Position:
        return (min(end[0], start[0] + self._max_files),)

    def give(self, snapshot: QuerySnapshot, start: Position, end: Position) -> None:
        files = self._numbered(start[0], end[0])
        if len(files) != end[0] - start[0]:
            raise SourceError(f"files of {self._stream.qualified_name} were forgotten before they were read")
        snapshot.give(self._stream, [found for one in files if (found := self._data_file(one)) is not None])

    def _numbered(self, start: int, end: int) -> list[StreamFile]:
        """Files from the number `start` to before `end`."""
        added = self._added
        if added and added[0].number <= start and end <= added[-1].number + 1:
            return [one for one in added if start <= one.number < end]
        return self._catalog.streams.files(self._stream.table_id, start, end)

    def _data_file(self, file: StreamFile) -> DataFile | None:
        """File to be read; None for one that is gone, where that may be."""
        path = str(Path(self._folder, file.name))
        try:
            status = Path(path).lstat()
        except FileNotFoundError as error:
            if self._is_strict:
                raise io_error(error, path) from None
            _log.warning('stream %s: "%s" is gone and was not read', self._stream.qualified_name, path)
            return None
        except OSError as error:
            raise io_error(error, path) from None
        if not stat.S_ISREG(status.st_mode):
            raise SourceError(f'"{path}" was a file when the stream had found it, and is none now')
        if (status.st_size, status.st_mtime_ns) != (file.size_bytes, file.modified_ns):
            self._refuse_change(file.name)
        return DataFile(path, status.st_size, status.st_mtime_ns)

    def _refuse_change(self, name: str) -> None:
        if self._is_strict:
            message = f'"{Path(self._folder, name)}" was changed after the stream {self._stream.name} had found it'
            hint = f"rename files to their place when they are whole; TBLPROPERTIES ('{FAIL_ON_LOSS}'='false') goes on"
            raise SourceError(message, hint=hint)

    def _look(self, now: float, *, is_thorough: bool) -> None:
        """Find new files; where it `is_thorough`, or now and then, see whether known ones have changed, too."""
        streams = self._catalog.streams
        if self._known is None:
            self._end = streams.end(self._stream.table_id)
            self._known = {one.name: one for one in streams.files(self._stream.table_id, 0, self._end)}
        found = self._finder.find(self._known, now, is_thorough=is_thorough)
        for one in found:
            known = self._known.get(one.name)
            if known is not None and (known.size_bytes, known.modified_ns) != (one.size_bytes, one.modified_ns):
                self._refuse_change(one.name)
        whole = sorted((one for one in found if one.is_whole and one.name not in self._known), key=self._place)
        if whole:
            self._add([StreamFile(0, one.name, one.size_bytes, one.modified_ns) for one in whole])

    def _place(self, file: Found) -> tuple[int, str]:
        """Place of a file among those that are found with it."""
        return file.modified_ns, file.name

    def _add(self, files: list[StreamFile]) -> None:
        """Give numbers to new files. Another process may have found some of them before."""
        streams, stream_id = self._catalog.streams, self._stream.table_id
        with self._catalog.transaction():
            added, end = streams.add_files(stream_id, files), self._end + len(files)
            is_alone = len(added) == len(files) and added[0].number == self._end
            if not is_alone:
                end = streams.end(stream_id)
                added = streams.files(stream_id, self._end, end)
        assert self._known is not None  # it was read before files are looked for
        self._known |= {one.name: one for one in added}
        self._end, self._added = end, added if is_alone else []


def _watch(stream: str, events: FolderEvents | None) -> FolderWatch | None:
    return None if events is None else events.watch(stream, is_left_alone)
