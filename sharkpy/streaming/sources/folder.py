"""Files that appear in a folder, as a stream: each is read once, in the order in which they were found."""

from __future__ import annotations

import logging
import os
import stat
import threading
import time
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base.errors import SourceError
from sharkpy.catalog.local_path import local_path
from sharkpy.catalog.position import Position
from sharkpy.catalog.stream_kinds import FOLDER, MAX_FILES, SETTLE_MS
from sharkpy.catalog.stream_store import StreamFile
from sharkpy.sources.failures import io_error
from sharkpy.sources.layout import DataFile
from sharkpy.streaming.sources.open_writers import has_writer

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.store import Catalog
    from sharkpy.execution.tables.snapshot import QuerySnapshot

_SETTLE_NS = 1_000_000_000
_WRITTEN_SECONDS = 0.1
"""Time after which a file that is being written is looked at again."""
_UNFINISHED = (".tmp", ".part", ".partial", ".crdownload", "._COPYING_")
"""Endings of the names that programs give to files that they are still writing."""
FAIL_ON_LOSS = "failOnDataLoss"
_log = logging.getLogger(__name__)
_CLOCK_SECONDS = 0.1
"""Two changes of a folder that are closer may have one time."""
_FULL_SECONDS = 5.0
"""Time after which files are looked at even where no folder has changed: a file may be written in its place."""


@dataclass(frozen=True, slots=True)
class Found:
    """File as it was found."""

    name: str
    size_bytes: int
    modified_ns: int
    settles: float
    """Seconds after which nobody seems to write it; 0: nobody does."""

    @property
    def is_whole(self) -> bool:
        return self.settles <= 0


@dataclass(frozen=True, slots=True)
class Listing:
    """Files of a folder, and the times of all folders in it from before their files were listed."""

    files: list[Found]
    folders: dict[str, int]
    has_more: bool = False
    """Some files were left for the next look."""


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

    def __init__(self, stream: Table, catalog: Catalog) -> None:
        options = () if stream.stream is None else stream.stream.options
        self._stream = stream
        self._catalog = catalog
        self._folder = local_path(stream.location or "")
        self._is_strict = dict(stream.properties).get(FAIL_ON_LOSS, "true").lower() != "false"
        given = SETTLE_MS in dict(options)
        self._settle_ns = FOLDER.value(options, SETTLE_MS) * 1_000_000 if given else None
        self._max_files = FOLDER.value(options, MAX_FILES)
        self._lock = threading.Lock()
        self._known: dict[str, StreamFile] | None = None
        self._added: list[StreamFile] = []
        """Files that were given numbers last, which follow one another; an epoch mostly reads these."""
        self._end = 0
        self._looked = 0.0
        self._listed = 0.0
        self._compared = 0.0
        """When files that are known were looked at last, to see whether they have changed."""
        self._folders: dict[str, int] | None = None
        """Times of the folders as they were listed; None: they have to be listed again."""
        self._unsettled = 0.0
        self._seen: dict[str, tuple[tuple[int, int], int]] = {}
        """Size and time of files that are not whole, and when they were first seen so."""
        self._can_tell = False
        """The system has told of a file in the folder that nobody writes it: so it can tell the opposite, too."""

    @property
    def end(self) -> Position:
        return (self._end,)

    def look(self, age: float = 0.0) -> Position:
        with self._lock:
            now = time.monotonic()
            if self._known is None or now - self._looked >= age:
                self._look(now, is_thorough=not age)
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
        """Do nothing: no file is kept open."""

    def unsettled_seconds(self) -> float:
        return self._unsettled

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
        if self._folders is not None and now - self._listed < _FULL_SECONDS and self._is_unchanged(self._folders):
            return
        self._listed = now
        if is_compared := is_thorough or now - self._compared >= _FULL_SECONDS:
            self._compared = now
        listing = self._list({} if is_compared else self._known)
        new = [one for one in listing.files if one.name not in self._known]
        for one in listing.files:
            known = self._known.get(one.name)
            if known is not None and (known.size_bytes, known.modified_ns) != (one.size_bytes, one.modified_ns):
                self._refuse_change(one.name)
        self._unsettled = max((one.settles for one in new), default=0.0)
        newest = max(listing.folders.values(), default=0)
        is_old = not listing.has_more and time.time_ns() - newest > _CLOCK_SECONDS * 1e9
        is_settled = bool(listing.folders) and not self._unsettled and is_old
        whole = sorted((one for one in new if one.is_whole), key=self._place)
        self._seen = {one.name: self._seen[one.name] for one in new if not one.is_whole and one.name in self._seen}
        if whole:
            self._add([StreamFile(0, one.name, one.size_bytes, one.modified_ns) for one in whole])
        self._folders = listing.folders if is_settled else None

    def _list(self, left_out: Container[str]) -> Listing:
        """List the folder, but for files that are `left_out`.

        A system lists a folder piece by piece: of files that come meanwhile a later one may be found, and an earlier
        one not. Then it is listed once more, and what is newer than all that was found first is left for the next look.
        """
        first, known = self._list_once(left_out), self._known or {}
        new = [one.modified_ns for one in first.files if one.name not in known]
        if not new or self._is_unchanged(first.folders):
            return first
        second, latest = self._list_once(left_out), max(new)
        files = [one for one in second.files if one.name in known or one.modified_ns <= latest]
        return Listing(files, second.folders, has_more=len(files) < len(second.files))

    def _list_once(self, left_out: Container[str]) -> Listing:
        folders: dict[str, int] = {}
        return Listing(list(self._files(self._folder, "", folders, left_out)), folders)

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

    def _is_unchanged(self, folders: dict[str, int]) -> bool:
        try:
            return all(os.stat(path).st_mtime_ns == modified for path, modified in folders.items())  # noqa: PTH116
        except OSError:
            return False

    def _files(self, folder: str, prefix: str, folders: dict[str, int], left_out: Container[str]) -> Iterator[Found]:
        """Files at and below a folder, but those `left_out`; the times of folders go to `folders`. A folder that is not
        there yet has none.
        """
        try:
            folders[folder] = os.stat(folder).st_mtime_ns  # noqa: PTH116
            with os.scandir(folder) as scan:
                entries = list(scan)
        except FileNotFoundError:
            return
        except OSError as error:
            raise io_error(error, folder) from None
        for entry in entries:
            if entry.name.startswith(("_", ".")) or entry.name.endswith(_UNFINISHED):
                continue
            if f"{prefix}{entry.name}" in left_out:
                continue
            # A link could lead to what whoever writes it may not read.
            if entry.is_dir(follow_symlinks=False):
                yield from self._files(entry.path, f"{prefix}{entry.name}/", folders, left_out)
            elif (found := self._found(entry, f"{prefix}{entry.name}")) is not None:
                yield found

    def _found(self, entry: os.DirEntry[str], name: str) -> Found | None:
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        return Found(name, status.st_size, status.st_mtime_ns, self._settles(entry.path, name, status))

    def _settles(self, path: str, name: str, status: os.stat_result) -> float:
        """Seconds after which a file counts as whole; 0: it is."""
        if self._known is not None and name in self._known:
            return 0.0
        is_written = has_writer(path)
        self._can_tell = self._can_tell or is_written is False
        if is_written and self._can_tell:
            return _WRITTEN_SECONDS
        if is_written is False and self._settle_ns is None:
            return 0.0
        # The time of a file may lie in the future, where a clock went back: then the time since it was seen counts.
        now, state = time.monotonic_ns(), (status.st_size, status.st_mtime_ns)
        seen, since = self._seen.get(name, (state, now))
        self._seen[name] = (state, since if seen == state else now)
        age = max(time.time_ns() - status.st_mtime_ns, now - self._seen[name][1])
        was_moved = status.st_ctime_ns > status.st_mtime_ns
        settle_ns = _SETTLE_NS if self._settle_ns is None else self._settle_ns
        return 0.0 if was_moved else max(0, settle_ns - age) / 1e9
