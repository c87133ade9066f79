"""Folding of small files: many appends end as few files and few origins of blocks.

A fold replaces a run of neighbouring generations. It writes into a staging folder; a remote one is written from this
machine's disk.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from sharkpy.base import uri
from sharkpy.base.records import dataclass
from sharkpy.base.settings import COMPACTION_BLOCKS, FOLD_BYTES
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.path_gate import path_or_uri
from sharkpy.catalog.table_statistics import TableStatistics
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.version import Origins, TableVersion
from sharkpy.execution.tables.block_loading import loading_splits
from sharkpy.execution.tables.cached_table import CacheEntry
from sharkpy.execution.tables.data_files import table_files
from sharkpy.execution.tables.file_contents import content_digest, is_digest_of
from sharkpy.execution.tables.hidden_files import HiddenFiles
from sharkpy.execution.tables.staged_blocks import FoldedBlocks, with_fold
from sharkpy.execution.tables.versions import TableVersions
from sharkpy.execution.tasks.block_rebuild import file_of_origin, origin_of
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.fold_files import fold_files, is_foldable
from sharkpy.sources.folders.generations import Generation, fold_name
from sharkpy.sources.folders.logged_folder import LoggedFolder
from sharkpy.sources.folders.staged_writes import STAGED
from sharkpy.sources.folders.table_folder import Access, logged_folder
from sharkpy.sources.layout import DataFile, numbered_name
from sharkpy.sources.open_files import data_file_of, local_copy, store_for_access


@dataclass(frozen=True, slots=True)
class FoldedRun:
    """Neighbouring generations to fold; all their files, in order, are origins of one block."""

    folder: str
    partition: str
    generations: Sequence[tuple[Generation, Sequence[DataFile]]]
    """Generations with their listed files."""
    is_first: bool = False
    """True if no files come before them."""

    @property
    def files(self) -> tuple[DataFile, ...]:
        """Files in the form of the table's version."""
        return tuple(file.in_partition(self.partition) for _, files in self.generations for file in files)


FoldWrite = Callable[[FoldedRun, str], bool]
"""Function that writes the folded files into a staging folder; returns False if that is not worthwhile."""


class FileFolding:
    """Folding of a table's small generations into one, after their blocks were merged.

    1. The new file has the rows of the old ones in their order. One rename replaces them, so that each reader sees
       either. The old files stay until their readers have left.
    2. From then on, the merged block has the new file as its origin, in the same version in memory and on disk.
    3. Plain tables (written by other engines too), external and bucketed tables keep their files, and so do formats
       that could lose information (see `fold_files`).
    4. If files are folded without their blocks, as for states, the new file's blocks are published when it is in place.
       Such a run takes whole blocks.
    """

    def __init__(self, versions: TableVersions, hidden: HiddenFiles) -> None:
        self._versions = versions
        self._hidden = hidden

    def fold(self, entry: CacheEntry, block: BlockHandle, origins: Origins) -> None:
        """Fold the files of a block of the entry's version, if worthwhile."""
        table = entry.table
        if not may_fold(table) or any(origin.form for origin in origins):
            return
        catalog = self._versions.parts.catalog
        with catalog.readers.reading(table.location or ""):
            run = self._run(table, origins)
            if run is None:
                return
            with self._staging(run) as staging:
                if not self._write(run, table, staging):
                    return
                self._folder(run.folder).sync_staged(staging)
                is_placed = self._place(entry, block, origins, run, staging)
        if is_placed:
            self._hidden.note(table, {run.folder: run.generations[-1][0].last})

    def fold_small(self, table: Table, partitions: Sequence[str]) -> None:
        """Fold the newest small generations of a table that is not in memory, in the given Hive partitions."""
        most = self._versions.parts.conf.value(FOLD_BYTES)

        def write(run: FoldedRun, staging: str) -> bool:
            return self._write(run, table, staging)

        for partition in partitions:
            self.fold_with(write, table, partition, most)

    def fold_with(self, write: FoldWrite, table: Table, partition: str, most_bytes: int) -> bool:
        """Fold the newest small generations, of at most `most_bytes`, with `write`. Return True if done.

        A version in memory gets the blocks of the new files at once, without making readers wait.
        """
        catalog = self._versions.parts.catalog
        with catalog.readers.reading(table.location or ""):
            run = self._small_run(table, partition, most_bytes)
            if run is None:
                return False
            with self._staging(run) as staging, FoldedBlocks(self._versions, table, staging) as blocks:
                if not write(run, staging):
                    return False
                self._folder(run.folder).sync_staged(staging)
                blocks.make()
                # The version's lock is not held while waiting for the catalog and the disk. Until the version has the
                # new files' blocks, it has the old files' blocks, with the same rows.
                with catalog.transaction():
                    placed = self._place_files(table, run, staging)
                if placed is None:
                    return False
                blocks.publish(run.files, placed)
        self._hidden.note(table, {run.folder: run.generations[-1][0].last})
        return True

    def _write(self, run: FoldedRun, table: Table, staging: str) -> bool:
        parts = self._versions.parts
        return write_fold(run.files, table, staging, parts.catalog.access_id, str(parts.engine.scratch))

    def _folder(self, location: str) -> LoggedFolder:
        return logged_folder(location, self._versions.parts.catalog)

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
        """Return the files of each block in memory that has rows of several."""
        entry = self._versions.find(table)
        version = None if entry is None else entry.version
        return (
            []
            if version is None
            else [[*map(file_of_origin, origins)] for origins in version.origins if len(origins) > 1]
        )

    def _place_files(self, table: Table, run: FoldedRun, staging: str) -> list[DataFile] | None:
        """Place the staged files, inside a transaction. Return None if the table has changed too much."""
        self._versions.parts.catalog.require(table)
        # Epochs written meanwhile do not matter, but the folded generations must be unchanged.
        folder, newest = self._place_of(table, run.partition)
        if folder != run.folder:
            return None
        kept = self._statistics(table)
        home = self._folder(run.folder)
        fold = home.place_fold(staging, run.generations, newest)
        if fold is None:
            return None
        placed = [file.in_partition(run.partition) for file in home.files_of(fold)]
        # So that a statement that has read the table does not take the fold for another write.
        self._versions.contents.note_fold(placed, run.files)
        self._keep_statistics(table, kept)
        return placed

    @contextmanager
    def _staging(self, run: FoldedRun) -> Iterator[str]:
        unfinished, home = self._versions.parts.catalog.unfinished, self._folder(run.folder)
        staging = home.new_staging(fold_name(run.generations[0][0].first, run.generations[-1][0].last))
        unfinished.begin(staging)
        try:
            yield home.make_staging(staging)
        finally:
            home.discard_staging(staging)
            unfinished.end(staging)

    def _run(self, table: Table, origins: Origins) -> FoldedRun | None:
        """Return the longest run of generations whose files, whole and in order, are among `origins`."""
        conf, (partition, *_) = self._versions.parts.conf, {origin.partition for origin in origins}
        folder, newest = self._place_of(table, partition)
        if folder is None:
            return None
        wanted = list(dict.fromkeys(map(file_of_origin, origins)))
        found = longest_run(self._unkept(table, partition, self._folder(folder).visible(newest)), wanted)
        size = sum(file.size_bytes for _, files in found for file in files)
        if len(found) < conf.value(COMPACTION_BLOCKS) or size > conf.value(FOLD_BYTES):
            return None
        return FoldedRun(folder, partition, found)

    def _unkept(
        self, table: Table, partition: str, generations: Sequence[tuple[Generation, list[DataFile]]]
    ) -> Sequence[tuple[Generation, Sequence[DataFile]]]:
        """Return the generations that all retained epochs of a continuous table contain whole."""
        kept = self._versions.parts.catalog.oldest_generation(table, partition)
        return [pair for pair in generations if kept is None or pair[0].last <= kept]

    def _place_of(self, table: Table, partition: str) -> tuple[str | None, int | None]:
        """Return a table's or Hive partition's folder, if a log names its files, and the last committed generation."""
        catalog = self._versions.parts.catalog
        if not table.is_partitioned:
            folder, newest = table.location or "", catalog.newest_generation(table)
        else:
            one = catalog.partitions(table).find(partition)
            folder, newest = ("", None) if one is None else (one.folder(table), one.newest)
        return (None, None) if catalog.log.find(folder) is None else (path_or_uri(folder), newest)

    def _place(self, entry: CacheEntry, block: BlockHandle, origins: Origins, run: FoldedRun, staging: str) -> bool:
        """Place the staged file and set the block's new origins.

        Return False if table or version have changed too much.
        """
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
            # Only now: a version without the new file's blocks, as after a full disk, has to load them.
            entry.files = with_fold(known, files, placed)
        return True

    def _statistics(self, table: Table) -> TableStatistics | None:
        """Return statistics that are valid before the fold, and so after it."""
        # The rows of a folded state differ.
        has_others = table.is_partitioned or table.is_state
        found = None if has_others else self._versions.parts.catalog.statistics(table).get("")
        if found is None or not is_digest_of(found.content, table_files(table, self._versions.parts.catalog)):
            return None
        return found

    def _keep_statistics(self, table: Table, kept: TableStatistics | None) -> None:
        if kept is not None:
            content = content_digest(table_files(table, self._versions.parts.catalog))
            self._versions.parts.catalog.put_statistics(table, {"": replace(kept, content=content)})


def may_fold(table: Table) -> bool:
    """False if files are never folded, or only in another way, as for a continuous query's state."""
    is_own = table.kind is TableKind.MANAGED and table.location is not None
    return is_own and not table.is_state and table.buckets is None and is_foldable(table.storage)


def _only_place(version: TableVersion, merged: BlockHandle, known: Origins, files: Sequence[DataFile]) -> int | None:
    """Return the place of the merged block, or None if another block has rows of the files."""
    folded, place = set(files), None
    for index, (block, origins) in enumerate(zip(version.blocks, version.origins, strict=True)):
        if block.block_id == merged.block_id:
            place = index if origins == known else None
        elif any(file_of_origin(origin) in folded for origin in origins):
            return None
    return place


def _with_fold_origins(origins: Origins, files: Sequence[DataFile], folded: Origins) -> Origins:
    gone = set(files)
    first = next(place for place, origin in enumerate(origins) if file_of_origin(origin) in gone)
    return (*origins[:first], *folded, *(origin for origin in origins[first:] if file_of_origin(origin) not in gone))


GenerationFiles: TypeAlias = tuple[Generation, Sequence[DataFile]]
Generations: TypeAlias = Sequence[GenerationFiles]
"""Generations with their listed files."""


def small_run(generations: Generations, least: int, most_bytes: int) -> list[GenerationFiles]:
    """Return the newest deltas that are worth a fold: at least `least`, with at most `most_bytes`.

    More than `least` deltas are taken only while an older one has no more bytes than all newer ones. So each byte is
    folded only a few times, however many generations come.
    """
    found: list[GenerationFiles] = []
    total = 0
    for one, files in reversed(generations):
        size = sum(file.size_bytes for file in files)
        if not one.is_delta or total + size > most_bytes or (len(found) >= least and size > total):
            break
        found.append((one, files))
        total += size
    return found[::-1] if len(found) >= least else []


def bounds_of_blocks(generations: Generations, merged: Iterable[Sequence[DataFile]]) -> list[int]:
    """Return the places between generations at which a run may begin or end, so that no block spans one.

    `merged` has the files of each block with rows of several.
    """
    places = {file: place for place, (_, files) in enumerate(generations) for file in files}
    inside = set[int]()
    for files in merged:
        found = [places[file] for file in files if file in places]
        inside.update(range(min(found, default=0) + 1, max(found, default=0) + 1))
    return [place for place in range(len(generations) + 1) if place not in inside]


def longest_run(generations: Generations, wanted: Sequence[DataFile]) -> list[GenerationFiles]:
    """Return the longest run of neighbouring deltas whose files are consecutive in `wanted`."""
    places = {file.path: place for place, file in enumerate(wanted)}
    best: list[GenerationFiles] = []
    run: list[GenerationFiles] = []
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


def write_fold(files: Sequence[DataFile], table: Table, staging: str, access: Access, temp_dir: str) -> bool:
    """Fold files like `fold_files`. Remote files are copied to `temp_dir` first. Return False if not worthwhile."""
    if not uri.is_remote(staging):
        return fold_files([file.path for file in files], table.data_schema, table.storage, staging)
    try:
        with tempfile.TemporaryDirectory(dir=temp_dir) as folder, _copies(files, Path(folder)) as paths:
            target = Path(folder, "fold")
            target.mkdir()
            if not fold_files(paths, table.data_schema, table.storage, str(target)):
                return False
            for path in target.iterdir():
                _upload(path, staging, access(staging))
    except OSError as error:
        raise io_error(error, temp_dir) from None
    return True


@contextmanager
def _copies(files: Sequence[DataFile], folder: Path) -> Iterator[list[str]]:
    """Yield the paths of local copies of remote files, whose names end like the originals."""
    copies = [local_copy(file) for file in files]
    paths = list[str]()
    for number, (file, copy) in enumerate(zip(files, copies, strict=True)):
        copy.fetch([(0, file.size_bytes)])
        path = folder / numbered_name(number, file.path)
        path.symlink_to(copy.path)
        paths.append(str(path))
    yield paths
    copies.clear()


def _upload(path: Path, staging: str, access_id: str) -> None:
    with open(path, "rb") as file:
        facts = store_for_access(staging, access_id).put(uri.join(staging, path.name), file)
    STAGED.report(staging, [data_file_of(facts, access_id)])
