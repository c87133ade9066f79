"""Blocks of folded files, made before the files are placed, so that no reader waits."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sharkpy.base import uri
from sharkpy.base.errors import ResourceError
from sharkpy.execution.tables.entry import blocks_with_origins
from sharkpy.execution.tasks.origins import file_of, origin_of
from sharkpy.sources.folders.table_folder import home_of, table_folder
from sharkpy.sources.new_files import WrittenRowsCache

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.columnar.version import TableVersion
    from sharkpy.execution.tables.block_loading import LoadedBlock
    from sharkpy.execution.tables.entry import Entry
    from sharkpy.execution.tables.versions import TableVersions
    from sharkpy.sources.layout import DataFile
    from sharkpy.sources.source import Split


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
            home = table_folder(home_of(self._staging), versions.parts.catalog.access_id)
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

    def _swap(self, entry: Entry, old: Sequence[DataFile], new: Sequence[DataFile]) -> bool:
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
        sources = set(map(file_of, origins))
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
