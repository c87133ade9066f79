"""Blocks of staged files, made before these count."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sharkpy.columnar.folder_use import FolderUse
from sharkpy.columnar.store_folder import storage_error
from sharkpy.execution.tables.entry import form_of
from sharkpy.sources.failures import io_error
from sharkpy.sources.layout import DataFile, files_below
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.written_rows import FileIdentity, file_identity

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.execution.tables.block_loading import LoadedBlock
    from sharkpy.execution.tables.versions import TableVersions


class StagedBlocks:
    """Blocks of a write's staged files, for the version of the table that comes to have these. Safe to use from several
    threads.

    1. `make` makes them, for which nobody has to hold the lock of the table's entry.
    2. A file is known by its content: it has another name when it counts.
    3. Whoever looks at the table first then takes its blocks, under that lock.
    4. `free` removes those that nobody has taken: at the end of the write, or with all blocks of the table, whose
       folder may go.
    """

    def __init__(self, versions: TableVersions, table: Table) -> None:
        """Let the entry know of the blocks that will be made of `table` as it is."""
        self._versions = versions
        self._table = table
        self._entry = versions.entry(table)
        self._store = versions.store
        self._blocks: dict[FileIdentity, list[LoadedBlock]] = {}
        self._metrics = ReadMetrics()
        self._use: FolderUse | None = None
        self._is_over = False
        self._lock = threading.Lock()
        self._entry.staged.append(self)

    def make(self, folder: str) -> None:
        """Make the blocks of the files in a staging folder."""
        files, versions = files_below(folder), self._versions
        if files and not self._is_over:
            directory = versions.durable_folder(self._table, is_hot=versions.is_hot(self._table, files))
            self.use(directory)
            self.put(*versions.make(self._table, versions.splits(self._table, files), directory))

    def use(self, directory: str | None) -> None:
        """Let nobody tidy up the folder of durable copies, if there is one: no version has those of here yet."""
        with self._lock:
            if directory is not None and self._use is None and not self._is_over:
                self._use = _use(directory)

    def put(self, loaded: Sequence[LoadedBlock], metrics: ReadMetrics) -> None:
        """Take up blocks that were made, and the figures of that; they are removed if they are not wanted any more.

        SourceError if one of their files is gone.
        """
        found: dict[FileIdentity, list[LoadedBlock]] = {}
        try:
            for block in loaded:
                found.setdefault(file_identity(block.split.path), []).append(block)
        except OSError as error:
            self._remove(loaded)
            raise io_error(error, block.split.path) from None
        with self._lock:
            if not self._is_over:
                for identity, blocks in found.items():
                    self._blocks.setdefault(identity, []).extend(blocks)
                self._metrics.merge(metrics)
                return
        self._remove(loaded)

    def take(self, files: Iterable[DataFile]) -> dict[DataFile, list[LoadedBlock]]:
        """Blocks of those of some files that were made here; the caller has the entry's lock."""
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
        """Remove what nobody has taken, now and later; repeatedly."""
        with contextlib.suppress(ValueError):
            self._entry.staged.remove(self)
        with self._lock:
            self._is_over = True
            left = [block for blocks in self._blocks.values() for block in blocks]
            self._blocks = {}
            use, self._use = self._use, None
        self._remove(left)
        if use is not None:
            use.close()

    def _remove(self, blocks: Sequence[LoadedBlock]) -> None:
        self._store.release([block.handle.block_id for block in blocks], durable=True)


def _use(directory: str) -> FolderUse:
    try:
        use = FolderUse(directory)
    except OSError as error:
        raise storage_error(directory, error) from None
    use.share()
    return use
