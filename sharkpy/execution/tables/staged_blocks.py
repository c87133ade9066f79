"""Blocks of files that are not committed yet, made so that no reader waits for them after the commit.

The files are staged by a write, being written by this process, or folded from other files.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from sharkpy.base import uri
from sharkpy.base.errors import CancelledError, ExecutionError, ResourceError
from sharkpy.columnar.block_folders import FolderUse, storage_error, sync_file
from sharkpy.execution.tables.block_loading import last_split, sync_folder
from sharkpy.execution.tables.cached_table import block_properties, blocks_with_origins
from sharkpy.execution.tasks.block_rebuild import file_of_origin, origin_of
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.folders.table_folder import home_of, table_folder
from sharkpy.sources.layout import DataFile, files_below
from sharkpy.sources.new_files import FileIdentity, WrittenRowsCache, file_identity
from sharkpy.sources.source import ReadMetrics, Split

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.unfinished_writes import FileSyncs
    from sharkpy.columnar.version import TableVersion
    from sharkpy.execution.tables.block_loading import DriverLoader, LoadedBlock
    from sharkpy.execution.tables.cached_table import CacheEntry
    from sharkpy.execution.tables.versions import TableVersions


class StagedBlocks:
    """Blocks of a write's staged files, for the table version that will have the files. Thread-safe.

    1. `taker` makes the blocks of large files while rows are written; `make` makes the others. Neither needs the lock
       of the table's entry.
    2. A file is recognised by its identity, because it has another name after the commit.
    3. The first reader of the table after the commit takes its blocks, under that lock.
    4. `free` removes blocks that were not taken, at the end of the write, or with all blocks of the table, whose folder
       may be deleted.
    """

    def __init__(self, versions: TableVersions, table: Table) -> None:
        """Register with the entry, for blocks made of `table` in its current form."""
        self._versions = versions
        self._table = table
        self._entry = versions.entry(table)
        self.syncs: FileSyncs = versions.parts.catalog.syncs
        self._blocks: dict[FileIdentity, list[LoadedBlock]] = {}
        self._metrics = ReadMetrics()
        self._use: FolderUse | None = None
        self._directory: str | None = None
        self._copies: list[Future[None]] = []
        """Pending syncs of durable copies to the disk."""
        self.is_over = False
        """True if the blocks are no longer wanted."""
        self._lock = threading.Lock()
        self._entry.staged.append(self)

    @property
    def taker(self) -> Callable[[], WrittenBlocks] | None:
        """Function that begins to make blocks of a file while this process writes it.

        None if blocks are not made in this process.
        """
        loader, directory = self._versions.loader_here(self._table), self._versions.durable_dir(self._table)
        return None if loader is None else partial(WrittenBlocks, self, self._table, loader, directory)

    def make(self, folder: str) -> None:
        """Make the missing blocks of the files in a staging folder."""
        files, versions, table = files_below(folder), self._versions, self._table
        if not files or self.is_over:
            return
        others, splits = list[DataFile](), list[Split]()
        for file in files:
            last = last_split(file, table.storage)
            if not self._has_begun(file) and (last is None or last.start):
                others.append(file)
            elif last is not None:
                splits.append(last)
        directory = versions.durable_folder(table, is_hot=versions.is_hot(table, files))
        self.use(directory)
        # Rows that this process kept are read quickly, however large their files are.
        self.put(*versions.make(table, splits, directory, versions.loader_here(table)))
        self.put(*versions.make(table, versions.splits(table, others), directory))
        for copy in self._copies:
            copy.result()
        if self._copies and self._directory is not None:
            sync_folder(self._directory)

    def _has_begun(self, file: DataFile) -> bool:
        """True if a file's blocks were made, perhaps except for its last rows, which were kept."""
        try:
            return file_identity(file.path) in self._blocks
        except OSError:
            return False

    def use(self, directory: str | None) -> None:
        """Protect the folder of durable copies from cleanup, since no version has these blocks yet."""
        with self._lock:
            if directory is not None and self._use is None and not self.is_over:
                self._use, self._directory = _register_use(directory), directory

    def adopt(self, block: LoadedBlock) -> None:
        """Register a block with the store before it is `put` here."""
        self._versions.adopt([block.handle])

    def put(self, loaded: Sequence[LoadedBlock], metrics: ReadMetrics, copies: Sequence[Future[None]] = ()) -> None:
        """Add blocks, the figures of reading them, and the syncs that `make` has to wait for.

        They are removed if no longer wanted. Raise SourceError if one of their files is gone.
        """
        found: dict[FileIdentity, list[LoadedBlock]] = {}
        try:
            for block in loaded:
                found.setdefault(file_identity(block.split.path), []).append(block)
        except OSError as error:
            self.remove(loaded)
            raise io_error(error, block.split.path) from None
        with self._lock:
            if not self.is_over:
                for identity, blocks in found.items():
                    self._blocks.setdefault(identity, []).extend(blocks)
                self._metrics.merge(metrics)
                self._copies += copies
                return
        self.remove(loaded)

    def take(self, files: Iterable[DataFile]) -> dict[DataFile, list[LoadedBlock]]:
        """Take the blocks of those `files` that have some here. The caller holds the entry's lock."""
        if block_properties(self._table) != block_properties(self._entry.table):
            return {}
        found = {file: blocks for file in files if (blocks := self._take(file))}
        if found:
            with self._lock:
                self._entry.metrics.merge(self._metrics)
                self._metrics = ReadMetrics()
        return found

    def _take(self, file: DataFile) -> list[LoadedBlock]:
        try:
            identity = file_identity(file.path)
        except OSError:
            return []
        if identity[2:] != (file.size_bytes, file.modified_ns):
            return []
        with self._lock:
            blocks = self._blocks.pop(identity, [])
        return [replace(block, split=replace(block.split, path=file.path)) for block in blocks]

    def free(self) -> None:
        """Remove the blocks that were not taken, and any made later. Idempotent."""
        with contextlib.suppress(ValueError):
            self._entry.staged.remove(self)
        with self._lock:
            self.is_over = True
            left = [block for blocks in self._blocks.values() for block in blocks]
            self._blocks = {}
            use, self._use = self._use, None
        self.remove(left)
        if use is not None:
            use.close()

    def remove(self, blocks: Sequence[LoadedBlock]) -> None:
        """Remove blocks that were not taken."""
        self._versions.discard(self._table, blocks)


def _register_use(directory: str) -> FolderUse:
    try:
        use = FolderUse(directory)
    except OSError as error:
        raise storage_error(directory, error) from None
    use.share()
    return use


class WrittenBlocks:
    """RowsReceiver of one file that makes blocks of its rows, with copies in `directory`, if any.

    If that fails, the blocks are removed, and the file is loaded after it is complete.
    """

    def __init__(self, staged: StagedBlocks, table: Table, loader: DriverLoader, directory: str | None) -> None:
        self._staged = staged
        self._table = table
        self._loader = loader
        self._directory = directory
        self._blocks: list[LoadedBlock] = []
        self._copies: list[Future[None]] = []
        self._num_rows = 0
        self._is_over = False

    def take(self, rows: pa.Table, first: int, count: int) -> None:
        from sharkpy.sources.parquet import as_read

        if self._is_over or self._staged.is_over:
            return
        schema, storage = self._table.schema, self._table.storage
        split = Split("", storage.name, storage.properties, first, count, 0, 0, rows.num_rows)
        try:
            self._staged.use(self._directory)
            for block in self._loader.make([as_read(rows, schema)], split, schema, self._directory):
                self._blocks.append(block)
                self._staged.adopt(block)
                if (copy := block.handle.durable_path) is not None and self._directory is not None:
                    self._copies.append(self._staged.syncs.begin(partial(sync_file, copy)))
        except CancelledError:
            raise
        except ExecutionError:
            self.drop()
        self._num_rows += rows.num_rows

    def end(self, path: Path) -> None:
        if self._is_over or not self._blocks:
            return
        try:
            status = path.stat()
        except OSError as error:
            raise io_error(error, str(path)) from None
        file = DataFile(str(path), status.st_size, status.st_mtime_ns)
        blocks = [replace(block, split=_split_in(file, block.split)) for block in self._blocks]
        self._is_over = True
        self._staged.put(blocks, ReadMetrics(self._num_rows), self._copies)

    def drop(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._staged.remove(self._blocks)
            self._blocks = []


def _split_in(file: DataFile, split: Split) -> Split:
    return Split.of(file, split.format, split.properties, split.start, split.length, split.num_rows)


class FoldedBlocks:
    """Blocks of a staging folder's files, for the table's version in memory, if there is one.

    1. Enter it before the files are written: the rows are kept for the blocks.
    2. Call `make` after the files are written; no lock is held.
    3. Call `publish` after they are placed: it swaps blocks under the entry's lock, without waiting for the disk.
    4. At the end of the body, blocks that no version has are freed.
    """

    def __init__(self, versions: TableVersions, table: Table, staging: str) -> None:
        self._versions = versions
        self._table = table
        self._staging = staging
        entry = versions.find(table)
        self._is_wanted = entry is not None and entry.version is not None
        is_heard = self._is_wanted and table.storage.name == "parquet" and not uri.is_remote(staging)
        self._rows = WrittenRowsCache(staging) if is_heard else None
        self._files: list[DataFile] = []
        self._made: list[LoadedBlock] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None) -> None:
        if self._rows is not None:
            self._rows.forget()
        self._versions.discard(self._table, self._made or ())

    def make(self) -> None:
        """Make the blocks; without room for them, readers load the files later."""
        if self._is_wanted:
            versions, table = self._versions, self._table
            home = table_folder(home_of(self._staging), versions.parts.catalog)
            self._files = home.staged_files(self._staging)
            directory = versions.durable_folder(table, is_hot=False)
            with suppress(ResourceError):
                self._made, _ = versions.make(table, versions.splits(table, self._files), directory)

    def publish(self, old: Sequence[DataFile], new: Sequence[DataFile]) -> None:
        """Replace the blocks of the `old` files by blocks of the `new` files, which were staged. Other blocks stay.

        If that fails, the next reader lists the files.
        """
        entry = self._versions.find(self._table)
        if entry is None:
            return
        is_published = False
        with entry.lock:
            try:
                is_published = self._swap(entry, old, new)
            finally:
                if not is_published:
                    entry.newest = entry.partitions = None
        if is_published:
            self._made = None
            self._versions.sync(self._table)

    def _swap(self, entry: CacheEntry, old: Sequence[DataFile], new: Sequence[DataFile]) -> bool:
        """Swap the blocks, under the entry's lock. Return False if its version does not have the old files."""
        version, known = entry.version, entry.files
        if self._made is None or version is None or known is None or not set(old) <= set(known):
            return False
        gone = _blocks_of(version, old)
        if gone is None or version.schema != self._table.schema:
            return False
        places = {staged.path: file for staged, file in zip(self._files, new, strict=True)}
        handles, statistics = [block.handle for block in self._made], [block.statistics for block in self._made]
        origins = [(origin_of(_moved(block.split, places[block.split.path])),) for block in self._made]
        self._versions.publish_read(entry, version.with_others(gone, handles, statistics, origins), is_synced=False)
        entry.files = with_fold(known, old, new)
        return True


def _moved(split: Split, file: DataFile) -> Split:
    """Return the split of a staged file that is now `file`."""
    return replace(split, path=file.path, partition=file.partition)


def _blocks_of(version: TableVersion, files: Sequence[DataFile]) -> set[str] | None:
    """Return the ids of the files' blocks, or None if one of them has rows of other files too."""
    found, wanted = set[str](), set(files)
    for block, origins in blocks_with_origins(version):
        sources = set(map(file_of_origin, origins))
        if wanted.isdisjoint(sources):
            continue
        if not sources <= wanted:
            return None
        found.add(block.block_id)
    return found


def with_fold(known: Sequence[DataFile], old: Sequence[DataFile], new: Sequence[DataFile]) -> tuple[DataFile, ...]:
    """Return a table's listed files with `new` in the place of `old`."""
    gone = set(old)
    first = next((place for place, file in enumerate(known) if file in gone), len(known))
    return (*known[:first], *new, *(file for file in known[first:] if file not in gone))
