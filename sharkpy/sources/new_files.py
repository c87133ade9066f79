"""New data files: written under a hidden name, renamed when they are complete, and cached for the memory store.

The rows of files that this process writes are cached, so that blocks in memory are built without reading the files.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

import pyarrow as pa

from sharkpy.base.records import dataclass
from sharkpy.sources.file_errors import io_error

if TYPE_CHECKING:
    from sharkpy.sources.source import Split


@contextmanager
def output_file(path: str) -> Iterator[BinaryIO]:
    """A binary file that appears at `path` if the body succeeds, and does not exist if it fails.

    SourceError for errors of the operating system, ResourceError 53100 if the disk is full.
    """
    temporary = Path(path).with_name(f".{Path(path).name}.writing")
    try:
        with open(temporary, "w+b") as file:
            yield file
        temporary.rename(path)
    except (OSError, pa.ArrowException) as error:
        _remove(temporary)
        if isinstance(error, OSError):
            raise io_error(error, path) from None
        raise
    except BaseException:
        _remove(temporary)
        raise


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


_MOST_BYTES = 128 << 20
"""Most bytes of rows that are kept for one folder."""
FileIdentity = tuple[int, int, int, int]
"""Identity of a file and its content, also after it was moved."""
_caches: dict[str, WrittenRowsCache] = {}
_lock = threading.Lock()


class RowsReceiver(Protocol):
    """Receiver of a file's rows while they are written, in order.

    1. `take` gets the rows of `count` row groups; `first` is the number of the first one. The last rows of the file may
       be kept instead.
    2. `end` gets the path of the complete file; `drop` means that the file was abandoned.
    """

    def take(self, rows: pa.Table, first: int, count: int) -> None: ...

    def end(self, path: Path) -> None: ...

    def drop(self) -> None: ...


@dataclass(frozen=True, slots=True)
class CachedRows:
    """Last rows of a file, in `count` row groups from the number `first` on."""

    rows: pa.Table
    first: int
    count: int


class WrittenRowsCache:
    """Rows of the files that are written into `folder`, until `forget`. Safe to use from several threads.

    A file is identified by its content, and may be moved. Files that another process writes are not included.
    """

    def __init__(self, folder: str, taker: Callable[[], RowsReceiver] | None = None) -> None:
        """`taker` makes a receiver for the rows of a file; without it a file is kept whole or not at all."""
        self.folder = folder
        self._taker = taker
        self._files: dict[FileIdentity, CachedRows] = {}
        self._left = _MOST_BYTES
        with _lock:
            _caches[folder] = self

    def begin_file(self) -> WrittenFile:
        return WrittenFile(self, None if self._taker is None else self._taker())

    def has_room(self, size: int) -> bool:
        """Reserve `size` bytes, or release them if it is negative; False if there is no room."""
        with _lock:
            if size > self._left:
                return False
            self._left -= size
            return True

    def note(self, path: Path, rows: CachedRows) -> None:
        self._files[file_identity(path)] = rows

    def find(self, identity: FileIdentity) -> CachedRows | None:
        return self._files.get(identity)

    def forget(self) -> None:
        """Release all rows; may be called repeatedly."""
        with _lock:
            _caches.pop(self.folder, None)
        self._files.clear()


class WrittenFile:
    """File that is being written. Its last rows are kept if there is room, all earlier rows go to the receiver."""

    def __init__(self, written: WrittenRowsCache, taker: RowsReceiver | None) -> None:
        self._written = written
        self._taker = taker
        self._last: CachedRows | None = None
        self._num_groups = 0

    def add(self, rows: pa.Table, count: int) -> None:
        """Add the next rows, which make up `count` row groups."""
        if (before := self._let_go()) is not None:
            self._hand_on(before)
        added = CachedRows(rows, self._num_groups, count)
        self._num_groups += count
        may_keep = self._taker is not None or added.first == 0
        if may_keep and self._written.has_room(rows.nbytes):
            self._last = added
        else:
            self._hand_on(added)

    def _let_go(self) -> CachedRows | None:
        """Release the last rows and their room; return them."""
        last, self._last = self._last, None
        if last is not None:
            self._written.has_room(-last.rows.nbytes)
        return last

    def _hand_on(self, rows: CachedRows) -> None:
        if self._taker is not None:
            self._taker.take(rows.rows, rows.first, rows.count)

    def end(self, path: Path) -> None:
        """Note that the file is complete."""
        if self._taker is not None:
            self._taker.end(path)
        if self._last is not None:
            self._written.note(path, self._last)
            self._last = None

    def drop(self) -> None:
        """Note that the file was abandoned."""
        self._let_go()
        if self._taker is not None:
            self._taker.drop()


def rows_cache(folder: str) -> WrittenRowsCache | None:
    """Kept rows of the files in a folder; None if they are not kept."""
    return _caches.get(folder)


def cached_rows(path: str) -> CachedRows | None:
    """Last rows of the file at a path, if they are kept."""
    if not _caches:
        return None
    with _lock:
        kept = list(_caches.values())
    try:
        identity = file_identity(path)
    except OSError:
        return None
    return next((rows for one in kept if (rows := one.find(identity)) is not None), None)


def cached_rows_of_split(split: Split) -> pa.Table | None:
    """Rows of a split, if they are kept."""
    kept = cached_rows(split.path)
    if kept is None or (kept.first, kept.count, kept.rows.num_rows) != (split.start, split.length, split.num_rows):
        return None
    return kept.rows


def file_identity(path: str | Path) -> FileIdentity:
    found = Path(path).stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
