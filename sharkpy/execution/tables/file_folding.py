"""Folding of small files of cached tables: many appends leave few files, and few origins of blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

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
from sharkpy.execution.tables.hidden_files import HiddenFiles
from sharkpy.execution.tables.versions import TableVersions
from sharkpy.execution.tasks.origins import file_of, origin_of
from sharkpy.sources.fold_files import fold_files, is_foldable
from sharkpy.sources.folders.generations import Generation
from sharkpy.sources.folders.table_folder import table_folder
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
        return tuple(replace(file, partition=self.partition) for _, files in self.generations for file in files)


FoldWrite = Callable[[FoldedRun, str], bool]
"""Writes what files are folded to into a staging folder; False where that is not worth while."""


class FileFolding:
    """Folding of a table's small generations into one, after their blocks were merged.

    1. The new file has the rows of the old ones in their order. One rename puts it in their place, so that each reader
       sees either; the old files stay until those who may read them have left.
    2. The merged block has the new file as its origin from then on, in the same version in memory and on disk.
    3. Tables that others write too, external ones and bucketed ones keep their files, as do formats that could lose
       something (see `fold_files`).
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
                schema = table.data_schema
                if not fold_files([file.path for file in run.files], schema, table.storage, staging):
                    return
                table_folder(run.folder).sync_staged(staging)
                is_placed = self._place(entry, block, origins, run, staging)
        if is_placed:
            self._hidden.note(table.location or "", {run.folder: run.generations[-1][0].last})

    def fold_small(self, table: Table, partitions: Sequence[str]) -> None:
        """Fold the newest small generations of a table that is not in memory, those of some Hive partitions."""
        most = self._versions.parts.conf.value(FOLD_BYTES)

        def write(run: FoldedRun, staging: str) -> bool:
            return fold_files([file.path for file in run.files], table.data_schema, table.storage, staging)

        for partition in partitions:
            self.fold_with(write, table, partition, most)

    def fold_with(self, write: FoldWrite, table: Table, partition: str, most_bytes: int) -> bool:
        """Fold the newest small generations of a table or of a Hive partition, of at most so many bytes, by `write`;
        true if it was done.
        """
        catalog = self._versions.parts.catalog
        with catalog.readers.reading(table.location or ""):
            run = self._small_run(table, partition, most_bytes)
            if run is None:
                return False
            with self._staging(run.folder) as staging:
                if not write(run, staging):
                    return False
                table_folder(run.folder).sync_staged(staging)
                with catalog.transaction():
                    is_placed = bool(self._place_files(table, run, staging))
        if is_placed:
            self._hidden.note(table.location or "", {run.folder: run.generations[-1][0].last})
        return is_placed

    def _small_run(self, table: Table, partition: str, most_bytes: int) -> FoldedRun | None:
        conf, (folder, newest) = self._versions.parts.conf, self._place_of(table, partition)
        if folder is None:
            return None
        unkept = self._unkept(table, partition, table_folder(folder).visible(newest))
        found = small_run(unkept, conf.value(COMPACTION_BLOCKS), most_bytes)
        is_first = not any(files for _, files in unkept[: len(unkept) - len(found)])
        return FoldedRun(folder, partition, found, is_first) if found else None

    def _place_files(self, table: Table, run: FoldedRun, staging: str) -> list[DataFile]:
        """Put the staged files in place, in a transaction; none if the table has changed too much."""
        self._versions.parts.catalog.require(table)
        # Epochs that have come meanwhile do not matter: the generations have to be what they were.
        folder, newest = self._place_of(table, run.partition)
        if folder != run.folder:
            return []
        kept = self._statistics(table)
        home = table_folder(run.folder)
        fold = home.place_fold(staging, run.generations, newest)
        if fold is None:
            return []
        placed = [replace(file, partition=run.partition) for file in home.files_of(fold)]
        for one in placed:
            # A statement that has read the table does not take this for a write of somebody else.
            self._versions.contents.note_fold(one, run.files)
        self._keep_statistics(table, kept)
        return placed

    @contextmanager
    def _staging(self, folder: str) -> Iterator[str]:
        unfinished, home = self._versions.parts.catalog.unfinished, table_folder(folder)
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
        found = longest_run(self._unkept(table, partition, table_folder(folder).visible(newest)), wanted)
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
            return local_path(table.location or ""), self._versions.parts.catalog.newest_generation(table)
        known = {one.name: one for one in self._versions.parts.catalog.partitions(table)}
        one = known.get(partition)
        return (None, None) if one is None or one.newest is None else (local_path(one.folder(table)), one.newest)

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
            if not placed:
                return False
            (folded,) = placed
            splits = loading_splits([folded], table.schema, table.storage, self._versions.parts.conf)
            left = _with_fold_origins(version.origins[place], files, tuple(map(origin_of, splits)))
            self._versions.publish(entry, version.with_origins(place, left))
            # Not before: a version without blocks of the new file, as a full disk leaves it, has to load them.
            entry.files = _with_fold(known, files, folded)
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


def small_run(
    generations: Sequence[tuple[Generation, Sequence[DataFile]]], least: int, most_bytes: int
) -> list[tuple[Generation, Sequence[DataFile]]]:
    """The newest deltas that are worth a fold: at least `least`, of at most `most_bytes`, the older ones only if they
    have no more bytes than those behind them. So each byte is folded a few times, however many generations come.
    """
    found: list[tuple[Generation, Sequence[DataFile]]] = []
    total = 0
    for one, files in reversed(generations):
        size = sum(file.size_bytes for file in files)
        if not one.is_delta or total + size > most_bytes or (len(found) >= least and size > total):
            break
        found.append((one, files))
        total += size
    return found[::-1] if len(found) >= least else []


def longest_run(
    generations: Sequence[tuple[Generation, Sequence[DataFile]]], wanted: Sequence[DataFile]
) -> list[tuple[Generation, Sequence[DataFile]]]:
    """The longest run of deltas, side by side, whose files are side by side in `wanted` in the same order."""
    places = {file.path: place for place, file in enumerate(wanted)}
    best: list[tuple[Generation, Sequence[DataFile]]] = []
    run: list[tuple[Generation, Sequence[DataFile]]] = []
    after = -1
    for one, files in generations:
        found = [places.get(file.path, -1) for file in files]
        is_whole = one.is_delta and bool(found) and found[0] >= 0
        is_whole = is_whole and found == list(range(found[0], found[0] + len(found)))
        is_whole = is_whole and all(_is_same(file, wanted[place]) for file, place in zip(files, found, strict=True))
        if not is_whole:
            run = []
            continue
        run = [*run, (one, files)] if run and found[0] == after else [(one, files)]
        after = found[-1] + 1
        best = run if len(run) > len(best) else best
    return best


def _is_same(listed: DataFile, known: DataFile) -> bool:
    return (listed.size_bytes, listed.modified_ns) == (known.size_bytes, known.modified_ns)


def _only_place(version: TableVersion, merged: BlockHandle, known: Origins, files: Sequence[DataFile]) -> int | None:
    """Place of the merged block, if no other block has rows of the files."""
    folded, place = set(files), None
    for index, (block, origins) in enumerate(zip(version.blocks, version.origins, strict=True)):
        if block.block_id == merged.block_id:
            place = index if origins == known else None
        elif any(file_of(origin) in folded for origin in origins):
            return None
    return place


def _with_fold(known: Sequence[DataFile], files: Sequence[DataFile], folded: DataFile) -> tuple[DataFile, ...]:
    """Files of a table, as they are listed, with `folded` in the place of `files`."""
    gone = set(files)
    first = known.index(files[0])
    return (*known[:first], folded, *(file for file in known[first:] if file not in gone))


def _with_fold_origins(origins: Origins, files: Sequence[DataFile], folded: Origins) -> Origins:
    gone = set(files)
    first = next(place for place, origin in enumerate(origins) if file_of(origin) in gone)
    return (*origins[:first], *folded, *(origin for origin in origins[first:] if file_of(origin) not in gone))
