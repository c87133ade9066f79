"""Rows of files that this process has just written, for the blocks in memory that are made of them right after."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from sharkpy.sources.split import Split

_MOST_BYTES = 128 << 20
"""Bytes that are kept of the files of one folder; of larger ones the rows are read from the files."""
FileIdentity = tuple[int, int, int, int]
"""What tells a file and its content apart from others, wherever it is moved."""
_kept: dict[str, WrittenRows] = {}
_lock = threading.Lock()


class WrittenRows:
    """Rows of the files that are written into `folder`, until `forget`. Safe to use from several threads.

    A file is known by its content: it may be moved. Files that another process writes are not heard of.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._tables: dict[FileIdentity, pa.Table] = {}
        self._left = _MOST_BYTES
        with _lock:
            _kept[folder] = self

    def heard(self, batches: Iterable[pa.RecordBatch], rows: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """`batches`, which are noted in `rows` on their way; none of them where they are too many."""
        is_kept = True
        for batch in batches:
            if is_kept and (is_kept := self._take(batch.nbytes)):
                rows.append(batch)
            elif rows:
                self._take(-sum(one.nbytes for one in rows))
                rows.clear()
            yield batch

    def _take(self, size: int) -> bool:
        with _lock:
            if size > self._left:
                return False
            self._left -= size
            return True

    def note(self, path: Path, rows: list[pa.RecordBatch]) -> None:
        """The whole file at `path` holds these rows."""
        if rows:
            self._tables[file_identity(path)] = pa.Table.from_batches(rows)

    def find(self, identity: FileIdentity) -> pa.Table | None:
        return self._tables.get(identity)

    def forget(self) -> None:
        """Let go of all rows; repeatedly."""
        with _lock:
            _kept.pop(self.folder, None)
        self._tables.clear()


def kept_of(folder: str) -> WrittenRows | None:
    """Where the rows of files in a folder are kept, if they are."""
    return _kept.get(folder)


def rows_of_file(path: str) -> pa.Table | None:
    """Rows of the whole file at a path, if they are kept."""
    if not _kept:
        return None
    with _lock:
        kept = list(_kept.values())
    try:
        identity = file_identity(path)
    except OSError:
        return None
    return next((table for one in kept if (table := one.find(identity)) is not None), None)


def rows_of(split: Split) -> pa.Table | None:
    """Rows of a split that is a whole file, if they are kept."""
    table = rows_of_file(split.path)
    return table if table is not None and table.num_rows == split.num_rows else None


def file_identity(path: str | Path) -> FileIdentity:
    found = Path(path).stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
