"""Files that appear in a folder, as a stream: each is read once, in the order in which they were found."""

from __future__ import annotations

import logging
import threading
import time
from functools import partial
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.catalog.continuous_query import Position
from sharkpy.catalog.path_gate import local_path
from sharkpy.catalog.stream_kinds import FOLDER, MAX_FILES, SETTLE_MS
from sharkpy.catalog.stream_store import StreamFile
from sharkpy.streaming.sources.folder_finder import FolderFinder
from sharkpy.streaming.sources.interfaces import Finder, FoundFile, LookFigures, is_ignored, is_same

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.model import Table
    from sharkpy.execution.tables.snapshot import QuerySnapshot
    from sharkpy.streaming.sources.folder_events import FolderEvents, FolderWatch
    from sharkpy.streaming.sources.remote_finder import RemoteLooks

FAIL_ON_LOSS = "failOnDataLoss"
_log = logging.getLogger(__name__)


class FolderReader:
    """Reader of the files in a folder and its subfolders.

    1. A file is read once it is complete: no program has it open for writing. If the system does not tell that, or if
       `settle.ms` is set, a file is complete if it was moved to its place after its last write, or was not written for
       `settle.ms` (default: one second). Names that begin with `_` or `.`, or that end like unfinished downloads, are
       ignored. For buckets and HDFS see `RemoteFinder`.
    2. Files that are found together are sorted by time, then by name. The catalog stores their numbers.
    3. A file that has changed since it got its number, or is gone before it was read, raises SourceError. With the
       stream's property `failOnDataLoss` = 'false' it is read as it is, or left out.
    """

    keeps_items = False

    def __init__(
        self, stream: Table, catalog: Catalog, events: FolderEvents | None = None, remote: RemoteLooks | None = None
    ) -> None:
        """`events` reports new files to repeated looks. Without it the folder is listed when it has changed.

        Folders in buckets and in HDFS need `remote`.
        """
        options = () if stream.stream is None else stream.stream.options
        self._stream = stream
        self._catalog = catalog
        self._folder = stream.location or ""
        self._is_strict = dict(stream.properties).get(FAIL_ON_LOSS, "true").lower() != "false"
        settle_ns = FOLDER.value(options, SETTLE_MS) * 1_000_000 if SETTLE_MS in dict(options) else None
        self._max_files = FOLDER.value(options, MAX_FILES)
        self._finder = self._new_finder(settle_ns, events, remote)
        self._lock = threading.Lock()
        self._known: dict[str, StreamFile] | None = None
        self._added: list[StreamFile] = []
        """Files that got numbers last, with consecutive numbers. An epoch usually reads these."""
        self._end = 0
        self._looked = 0.0

    def _new_finder(self, settle_ns: int | None, events: FolderEvents | None, remote: RemoteLooks | None) -> Finder:
        if not uri.is_remote(self._folder):
            self._folder = local_path(self._folder)
            return FolderFinder(self._folder, settle_ns, partial(_watch, self._stream.table_id, events))
        from sharkpy.streaming.sources.remote_finder import RemoteFinder

        if remote is None:
            raise UnsupportedError(f'a spool at "{uri.redacted(self._folder)}"')
        return RemoteFinder(self._folder, settle_ns, self._catalog.access_id, remote)

    @property
    def figures(self) -> LookFigures | None:
        """Figures of the looks at a remote folder; None for a local one."""
        return self._finder.figures

    @property
    def end(self) -> Position:
        return (self._end,)

    def look(self, age: float = 0.0) -> Position:
        with self._lock:
            now = time.monotonic()
            is_due = not age or self._known is None or self._finder.is_due(now)
            if is_due and (self._known is None or now - self._looked >= age or self._finder.has_news()):
                try:
                    self._look(now, is_thorough=not age)
                except BaseException as error:
                    self._finder.list_again(error)
                    raise
                self._looked = now
            return self.end

    def first(self) -> Position:
        # Take no lock: a rollback calls this inside a transaction, and a look that holds the lock waits for that
        # transaction.
        known = list((self._known or {}).values())
        return (min((one.number for one in known), default=self._end),)

    def since(self, moment_ms: int) -> Position | None:
        """Find the position by the times of the last writes.

        Files with later numbers follow it, whatever their times.
        """
        with self._lock:
            found = (one.number for one in (self._known or {}).values() if one.modified_ns >= moment_ms * 1_000_000)
            return (min(found, default=self._end),)

    def num_gone(self) -> int:
        return sum(self.first())

    def release(self, end: Position) -> None:
        """Do nothing: the engine does not own the files."""

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
        found = self._finder.data_files(files, is_strict=self._is_strict)
        pairs = list(zip(files, found, strict=True))
        for known, file in pairs:
            if file is None:
                self._note_gone(known.name)
            elif not is_same(known, file):
                self._refuse_change(known.name)
        snapshot.give(self._stream, [file for _, file in pairs if file is not None])

    def _numbered(self, start: int, end: int) -> list[StreamFile]:
        """Return the files from number `start` to before `end`."""
        added = self._added
        if added and added[0].number <= start and end <= added[-1].number + 1:
            return [one for one in added if start <= one.number < end]
        return self._catalog.streams.files(self._stream.table_id, start, end)

    def _note_gone(self, name: str) -> None:
        path = f"{self._folder}/{name}"
        if self._is_strict:
            raise SourceError(f'file or folder "{path}" does not exist', sqlstate="58P01")
        _log.warning('stream %s: "%s" is gone and was not read', self._stream.qualified_name, path)

    def _refuse_change(self, name: str) -> None:
        if self._is_strict:
            message = f'"{self._folder}/{name}" was changed after the stream {self._stream.name} had found it'
            hint = f"rename files to their place when they are whole; TBLPROPERTIES ('{FAIL_ON_LOSS}'='false') goes on"
            raise SourceError(message, hint=hint)

    def _look(self, now: float, *, is_thorough: bool) -> None:
        """Find new files. If `is_thorough`, and from time to time, also look for changes of known files."""
        streams = self._catalog.streams
        if self._known is None:
            self._end = streams.end(self._stream.table_id)
            self._known = {one.name: one for one in streams.files(self._stream.table_id, 0, self._end)}
        found = self._finder.find(self._known, now, is_thorough=is_thorough)
        for one in found:
            known = self._known.get(one.name)
            if known is not None and not is_same(known, one):
                self._refuse_change(one.name)
        whole = sorted((one for one in found if one.is_whole and one.name not in self._known), key=self._place)
        if whole:
            self._add([StreamFile(0, one.name, one.size_bytes, one.modified_ns, tag=one.tag) for one in whole])

    def _place(self, file: FoundFile) -> tuple[int, str]:
        """Return the sort key of a file among the files found together."""
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
        assert self._known is not None  # it is read before a look for files
        self._known |= {one.name: one for one in added}
        self._end, self._added = end, added if is_alone else []


def _watch(stream: str, events: FolderEvents | None) -> FolderWatch | None:
    return None if events is None else events.watch(stream, is_ignored)
