"""Blocks of staged files, made before the files are committed."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sharkpy.columnar.block_folders import FolderUse, storage_error
from sharkpy.execution.tables.block_loading import last_split, sync_folder
from sharkpy.execution.tables.entry import form_of
from sharkpy.execution.tables.written_blocks import WrittenBlocks
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.layout import DataFile, files_below
from sharkpy.sources.new_files import FileIdentity, file_identity
from sharkpy.sources.source import ReadMetrics, Split

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.unfinished_writes import FileSyncs
    from sharkpy.execution.tables.block_loading import LoadedBlock
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
                self._use, self._directory = _use(directory), directory

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
        if form_of(self._table) != form_of(self._entry.table):
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


def _use(directory: str) -> FolderUse:
    try:
        use = FolderUse(directory)
    except OSError as error:
        raise storage_error(directory, error) from None
    use.share()
    return use
