"""Folding of small files of cached tables: many appends leave few files, and few origins of blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sharkpy.base import uri
from sharkpy.base.settings import COMPACTION_BLOCKS, FOLD_BYTES
from sharkpy.catalog.local_path import local_path
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.table_statistics import TableStatistics
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.version import Origins, TableVersion
from sharkpy.execution.tables.analyzed import content_of, is_content_of
from sharkpy.execution.tables.block_loading import loading_splits
from sharkpy.execution.tables.data_files import table_files
from sharkpy.execution.tables.entry import Entry
from sharkpy.execution.tables.fold_runs import bounds_of_blocks, longest_run, small_run
from sharkpy.execution.tables.fold_writes import write_fold
from sharkpy.execution.tables.folded_blocks import FoldedBlocks, with_fold
from sharkpy.execution.tables.hidden_files import HiddenFiles
from sharkpy.execution.tables.versions import TableVersions
from sharkpy.execution.tasks.origins import file_of, origin_of
from sharkpy.sources.fold_files import is_foldable
from sharkpy.sources.folders.generations import Generation
from sharkpy.sources.folders.table_folder import TableFolder, table_folder
from sharkpy.sources.layout import DataFile


@dataclass(frozen=True, slots=True)
class FoldedRun:
    """Generations side by side that are to be folded: all their files, in order, are origins of one block."""

    folder: str
    partition: str
    generations: Sequence[tuple[Generation, Sequence[DataFile]]]
    """With their files, as they are listed."""
    is_first: bool = False
    """No files are before them."""

    @property
    def files(self) -> tuple[DataFile, ...]:
        """Files as the table's version knows them."""
        return tuple(file.in_partition(self.partition) for _, files in self.generations for file in files)


FoldWrite = Callable[[FoldedRun, str], bool]
"""Writes what files are folded to into a staging folder; False where that is not worth while."""


class FileFolding:
    """Folding of a table's small generations into one, after their blocks were merged.

    1. The new file has the rows of the old ones in their order. One rename puts it in their place, so that each reader
       sees either; the old files stay until those who may read them have left.
    2. The merged block has the new file as its origin from then on, in the same version in memory and on disk.
    3. Tables that others write too, external ones and bucketed ones keep their files, as do formats that could lose
       something (see `fold_files`).
    4. Files that are folded without their blocks, as those of states are, have blocks of what they are folded to when
       it is in place. A run then takes blocks whole.
    """

    def __init__(self, versions: TableVersions, hidden: HiddenFiles) -> None:
        self._versions = versions
        self._hidden = hidden

    def fold(self, entry: Entry, block: BlockHandle, origins: Origins) -> None:
        """Fold what a block of the entry's version was made from, if that is worth while."""
        table = entry.table
        if not may_fold(table) or any(origin.form for origin in origins):
            return
        catalog = self._versions.parts.catalog
        with catalog.readers.reading(table.location or ""):
            run = self._run(table, origins)
            if run is None:
                return
            with self._staging(run.folder) as staging:
                if not self._write(run, table, staging):
                    return
                self._folder(run.folder).sync_staged(staging)
                is_placed = self._place(entry, block, origins, run, staging)
        if is_placed:
            self._hidden.note(table.location or "", {run.folder: run.generations[-1][0].last})

    def fold_small(self, table: Table, partitions: Sequence[str]) -> None:
        """Fold the newest small generations of a table that is not in memory, those of some Hive partitions."""
        most = self._versions.parts.conf.value(FOLD_BYTES)

        def write(run: FoldedRun, staging: str) -> bool:
            return self._write(run, table, staging)

        for partition in partitions:
            self.fold_with(write, table, partition, most)

    def fold_with(self, write: FoldWrite, table: Table, partition: str, most_bytes: int) -> bool:
        """Fold the newest small generations of a table or of a Hive partition, of at most so many bytes, by `write`;
        true if it was done. A version in memory has the blocks of the new files at once, and nobody waits for them.
        """
        catalog = self._versions.parts.catalog
        with catalog.readers.reading(table.location or ""):
            run = self._small_run(table, partition, most_bytes)
            if run is None:
                return False
            with self._staging(run.folder) as staging, FoldedBlocks(self._versions, table, staging) as blocks:
                if not write(run, staging):
                    return False
                self._folder(run.folder).sync_staged(staging)
                blocks.make()
                # The lock of the table's version is not held while the catalog and the disk are waited for: until the
                # version has the blocks of the new files, it has those of the old ones, which say the same.
                with catalog.transaction():
                    placed = self._place_files(table, run, staging)
                if placed is None:
                    return False
                blocks.publish(run.files, placed)
        self._hidden.note(table.location or "", {run.folder: run.generations[-1][0].last})
        return True

    def _write(self, run: FoldedRun, table: Table, staging: str) -> bool:
        parts = self._versions.parts
        return write_fold(run.files, table, staging, parts.catalog.access_id, str(parts.engine.scratch))

    def _folder(self, location: str) -> TableFolder:
        return table_folder(location, self._versions.parts.catalog.access_id)

    def _small_run(self, table: Table, partition: str, most_bytes: int) -> FoldedRun | None:
        conf, (folder, newest) = self._versions.parts.conf, self._place_of(table, partition)
        if folder is None:
            return None
        visible, least = self._folder(folder).visible(newest), conf.value(COMPACTION_BLOCKS)
        bounds = bounds_of_blocks(visible, self._merged_files(table))
        num_unkept = len(self._unkept(table, partition, visible))
        end = max(one for one in bounds if one <= num_unkept)
        num_small = len(small_run(visible[:end], least, most_bytes))
        start = min(one for one in bounds if one >= end - num_small)
        if end - start < least:
            return None
        is_first = not any(files for _, files in visible[:start])
        return FoldedRun(folder, partition, visible[start:end], is_first)

    def _merged_files(self, table: Table) -> list[list[DataFile]]:
        """Files of each block in memory that has rows of several."""
        entry = self._versions.find(table)
        version = None if entry is None else entry.version
        return [] if version is None else [[*map(file_of, origins)] for origins in version.origins if len(origins) > 1]

    def _place_files(self, table: Table, run: FoldedRun, staging: str) -> list[DataFile] | None:
        """Put the staged files in place, in a transaction; None if the table has changed too much."""
        self._versions.parts.catalog.require(table)
        # Epochs that have come meanwhile do not matter: the generations have to be what they were.
        folder, newest = self._place_of(table, run.partition)
        if folder != run.folder:
            return None
        kept = self._statistics(table)
        home = self._folder(run.folder)
        fold = home.place_fold(staging, run.generations, newest)
        if fold is None:
            return None
        placed = [file.in_partition(run.partition) for file in home.files_of(fold)]
        # A statement that has read the table does not take this for a write of somebody else.
        self._versions.contents.note_fold(placed, run.files)
        self._keep_statistics(table, kept)
        return placed

    @contextmanager
    def _staging(self, folder: str) -> Iterator[str]:
        unfinished, home = self._versions.parts.catalog.unfinished, self._folder(folder)
        staging = home.new_staging()
        unfinished.begin(staging)
        try:
            yield home.make_staging(staging)
        finally:
            home.discard_staging(staging)
            unfinished.end(staging)

    def _run(self, table: Table, origins: Origins) -> FoldedRun | None:
        """The longest run of generations whose files, whole and in order, are among `origins`."""
        conf, (partition, *_) = self._versions.parts.conf, {origin.partition for origin in origins}
        folder, newest = self._place_of(table, partition)
        if folder is None:
            return None
        wanted = list(dict.fromkeys(map(file_of, origins)))
        found = longest_run(self._unkept(table, partition, self._folder(folder).visible(newest)), wanted)
        size = sum(file.size_bytes for _, files in found for file in files)
        if len(found) < conf.value(COMPACTION_BLOCKS) or size > conf.value(FOLD_BYTES):
            return None
        return FoldedRun(folder, partition, found)

    def _unkept(
        self, table: Table, partition: str, generations: Sequence[tuple[Generation, list[DataFile]]]
    ) -> Sequence[tuple[Generation, Sequence[DataFile]]]:
        """Generations that all kept epochs of a continuous table have: none asks for a part of them."""
        kept = self._versions.parts.catalog.oldest_generation(table, partition)
        return [pair for pair in generations if kept is None or pair[0].last <= kept]

    def _place_of(self, table: Table, partition: str) -> tuple[str | None, int | None]:
        """Folder of a table or of its Hive partition, and the last generation that counts; no folder if it is gone."""
        if not table.is_partitioned:
            return _place(table.location or ""), self._versions.parts.catalog.newest_generation(table)
        known = {one.name: one for one in self._versions.parts.catalog.partitions(table)}
        one = known.get(partition)
        return (None, None) if one is None or one.newest is None else (_place(one.folder(table)), one.newest)

    def _place(self, entry: Entry, block: BlockHandle, origins: Origins, run: FoldedRun, staging: str) -> bool:
        """Put the staged file and the block's new origins in place; False if table or version have changed too much."""
        catalog, table = self._versions.parts.catalog, entry.table
        files = run.files
        with entry.lock:
            version, known = entry.version, entry.files
            place = None if version is None else _only_place(version, block, origins, files)
            if version is None or place is None or known is None or not set(files) <= set(known):
                return False
            with catalog.transaction():
                placed = self._place_files(table, run, staging)
            if placed is None:
                return False
            parts = self._versions.parts
            splits = loading_splits(placed, table.schema, table.storage, parts.conf, parts.catalog.schema_text)
            left = _with_fold_origins(version.origins[place], files, tuple(map(origin_of, splits)))
            self._versions.publish(entry, version.with_origins(place, left))
            # Not before: a version without blocks of the new file, as a full disk leaves it, has to load them.
            entry.files = with_fold(known, files, placed)
        return True

    def _statistics(self, table: Table) -> TableStatistics | None:
        """Statistics of a table's files that hold before they are folded, and so afterwards."""
        # What a state is folded to are other rows.
        has_others = table.is_partitioned or table.is_state
        found = None if has_others else self._versions.parts.catalog.statistics(table).get("")
        if found is None or not is_content_of(found.content, table_files(table, self._versions.parts.catalog)):
            return None
        return found

    def _keep_statistics(self, table: Table, kept: TableStatistics | None) -> None:
        if kept is not None:
            content = content_of(table_files(table, self._versions.parts.catalog))
            self._versions.parts.catalog.put_statistics(table, {"": replace(kept, content=content)})


def may_fold(table: Table) -> bool:
    """False for a table whose files are never folded; those of the state of a continuous query are in another way."""
    is_own = table.kind is TableKind.MANAGED and not table.is_plain and table.location is not None
    return is_own and not table.is_state and table.buckets is None and is_foldable(table.storage)


def _place(location: str) -> str:
    """Path of a local folder; a remote one's location."""
    return location if uri.is_remote(location) else local_path(location)


def _only_place(version: TableVersion, merged: BlockHandle, known: Origins, files: Sequence[DataFile]) -> int | None:
    """Place of the merged block, if no other block has rows of the files."""
    folded, place = set(files), None
    for index, (block, origins) in enumerate(zip(version.blocks, version.origins, strict=True)):
        if block.block_id == merged.block_id:
            place = index if origins == known else None
        elif any(file_of(origin) in folded for origin in origins):
            return None
    return place


def _with_fold_origins(origins: Origins, files: Sequence[DataFile], folded: Origins) -> Origins:
    gone = set(files)
    first = next(place for place, origin in enumerate(origins) if file_of(origin) in gone)
    return (*origins[:first], *folded, *(origin for origin in origins[first:] if file_of(origin) not in gone))
