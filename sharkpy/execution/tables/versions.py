"""Versions of cached tables: updating them to the tables' files, publishing, dropping."""

from __future__ import annotations

import dataclasses
import logging
import shutil
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base.errors import ResourceError
from sharkpy.base.settings import BLOCK_ROWS, COMPACTION, COMPACTION_BLOCKS, DRIVER_LOAD_BYTES, KERNELS
from sharkpy.catalog.model import BucketSpec, Table
from sharkpy.columnar import machine_loading
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.version import Origins, TableVersion, VersionStore
from sharkpy.execution.tables.block_loading import BlockLoader, DriverLoader, LoadedBlock, loading_splits
from sharkpy.execution.tables.cached_table import (
    CacheEntry,
    EngineContext,
    blocks_with_origins,
    durable_dir,
    find_durable,
    publish_durably,
    sync_durably,
)
from sharkpy.execution.tables.file_contents import FileContents
from sharkpy.execution.tasks.block_rebuild import file_of_origin, origin_of, split_of
from sharkpy.sources import staged_files
from sharkpy.sources.folders.generations import is_folded
from sharkpy.sources.layout import DataFile
from sharkpy.sources.source import ReadMetrics, Split

if TYPE_CHECKING:
    from sharkpy.columnar.store import BlockStore

_log = logging.getLogger(__name__)
_FULL = "53100"
_HOT_BYTES = 4 << 20
"""Largest file bytes whose blocks are not stored on disk, because more will soon be merged with them."""
_HOT_APPEND_BYTES = _HOT_BYTES // 16
"""The same limit for a table that is not continuous but has had many small appends."""
_MANY_ROWS = 1 << 16
"""Number of rows of new blocks from which queries over them are likely to use kernels."""
_MANY_SMALL = 4
"""Number of small blocks at the end of a table that suggest more appends."""


class TableVersions:
    """Entries of cached tables; methods that change an entry are called under its lock.

    `changed` is called when a table's version is replaced by another one or by none.
    """

    def __init__(self, parts: EngineContext, loader: BlockLoader | None, changed: Callable[[Table], None]) -> None:
        self.parts = parts
        self._loader = loader
        self._changed = changed
        self._state_dir = str(Path(parts.catalog.state_dir, "blocks"))
        self._locations = parts.catalog.locations
        self.contents = FileContents()
        self._entries: dict[str, CacheEntry] = {}
        self._lock = threading.Lock()

    @property
    def store(self) -> BlockStore:
        return self.parts.engine.store

    # Entries

    def entry(self, table: Table) -> CacheEntry:
        with self._lock:
            return self._entries.setdefault(table.table_id, CacheEntry(table))

    def find(self, table: Table) -> CacheEntry | None:
        return self.find_id(table.table_id)

    def find_id(self, table_id: str) -> CacheEntry | None:
        return self._entries.get(table_id)

    def take_out(self, table: Table) -> CacheEntry:
        with self._lock:
            return self._entries.pop(table.table_id, None) or CacheEntry(table)

    def all(self) -> list[CacheEntry]:
        return list(self._entries.values())

    # Following the files

    def restore(self, entry: CacheEntry, files: Sequence[DataFile]) -> None:
        """Restore the blocks that an earlier session stored for these files. Damaged ones are rebuilt."""
        directory = durable_dir(self._state_dir, entry.table)
        if directory is None or (version := find_durable(entry, directory, self._locations)) is None:
            return
        damaged = {block.origins for block in version.damaged}
        handles = self.store.restore(version.blocks)
        entry.version = dataclasses.replace(version.with_blocks(handles), damaged=())
        entry.durable_blocks = None if damaged else _identity(entry.version)
        self._note_recipes(entry.table, entry.version)
        present = set(files)
        self.store.enforce_limit()
        if damaged:
            self._replace(entry, entry.version, {origins for origins in damaged if _files(origins) <= present})

    def refresh(self, entry: CacheEntry, files: tuple[DataFile, ...]) -> bool:
        """Load new `files`, keep the blocks of known ones, drop the rest. Return True if the version changed."""
        if entry.version is not None and (before := entry.files) is not None and files[: len(before)] == before:
            return self._extend(entry, files)
        table, present = entry.table, set(files)
        version = entry.version or TableVersion.empty(table.schema)
        held = {file_of_origin(origin) for origins in version.origins for origin in origins}
        gone = [block.block_id for block, origins in blocks_with_origins(version) if not _files(origins) <= present]
        kept = version.without(gone) if gone else version
        known = {file_of_origin(origin) for origins in kept.origins for origin in origins}
        # Files without rows have no blocks.
        known |= set(entry.files or ()) - held
        new_files = [file for file in files if file not in known]
        loaded = self._blocks_of(entry, new_files)
        is_another = entry.version is None or bool(loaded) or bool(gone)
        if is_another:
            self.publish_read(entry, _in_order_of_files(_extended(kept, loaded), table, files))
        entry.files = files
        return is_another

    def extend(self, entry: CacheEntry, added: Sequence[DataFile]) -> bool:
        """Load files added after the known ones; return True if the version changed."""
        return self._extend(entry, (*(entry.files or ()), *added))

    def _extend(self, entry: CacheEntry, files: tuple[DataFile, ...]) -> bool:
        """Load the files in `files` that follow the known ones."""
        version, added = entry.version or TableVersion.empty(entry.table.schema), files[len(entry.files or ()) :]
        loaded = self._blocks_of(entry, added, is_hot=self.is_hot(entry.table, added))
        if loaded:
            self.publish_read(entry, _extended(version, loaded))
        entry.files = files
        return bool(loaded)

    def _blocks_of(self, entry: CacheEntry, files: Sequence[DataFile], *, is_hot: bool = False) -> list[LoadedBlock]:
        """Return the blocks of committed files in their order: those made before, and newly loaded ones."""
        made = dict[DataFile, list[LoadedBlock]]()
        for staged in list(entry.staged):
            made |= staged.take([file for file in files if file not in made])
        left = [file for file in files if file not in made]
        try:
            loaded = self.load(entry, self.splits(entry.table, left), is_hot=is_hot, is_grouped=True) if left else []
        except BaseException:
            self._remove(block for blocks in made.values() for block in blocks)
            raise
        if not made:
            return loaded
        for block in loaded:
            made.setdefault(file_of_origin(origin_of(block.split)), []).append(block)
        return [block for file in files for block in made.get(file, ())]

    def _replace(self, entry: CacheEntry, version: TableVersion, bad: set[Origins]) -> None:
        """Publish `version` with the blocks of the origins `bad` rebuilt."""
        catalog = self.parts.catalog
        read = partial(split_of, table=entry.table, access=catalog.access_id, schema_text=catalog.schema_text)
        splits = [read(origin) for origins in bad for origin in origins]
        loaded = self.load(entry, splits)
        gone = [block.block_id for block, origins in blocks_with_origins(version) if origins in bad]
        self.publish_read(entry, _extended(version.without(gone), loaded))

    def splits(self, table: Table, files: Sequence[DataFile]) -> list[Split]:
        conf, num_threads = self.parts.conf, self.parts.engine.parallelism
        schema_text = self.parts.catalog.schema_text
        return loading_splits(files, table.schema, table.storage, conf, schema_text, num_threads)

    def load(
        self, entry: CacheEntry, splits: Sequence[Split], *, is_hot: bool = False, is_grouped: bool = False
    ) -> list[LoadedBlock]:
        """Load blocks of splits. Hot ones on one host stay in memory only, until they are merged."""
        directory = self.durable_folder(entry.table, is_hot=is_hot)
        loaded, metrics = self.make(entry.table, splits, directory, is_grouped=is_grouped)
        entry.metrics.merge(metrics)
        entry.num_loaded += len(loaded)
        entry.reads.unread = frozenset(block.handle.block_id for block in loaded)
        return loaded

    def make(
        self,
        table: Table,
        splits: Sequence[Split],
        directory: str | None,
        loader: BlockLoader | None = None,
        *,
        is_grouped: bool = False,
    ) -> tuple[list[LoadedBlock], ReadMetrics]:
        """Make blocks of splits, with copies in `directory` if it is given and has room. Return them and the figures.

        `loader` overrides the choice by the files' size.
        """
        if not splits:
            return [], ReadMetrics()
        loader = loader or self._loader or _loader(self.parts, splits, table.buckets)
        try:
            loaded, metrics = loader.load(splits, table.schema, directory, is_grouped=is_grouped)
        except ResourceError as error:
            if directory is None or error.sqlstate != _FULL:
                raise
            # The table can still be read; a later session loads it again.
            _log.warning('blocks of table "%s" are in memory alone: %s', table.name, error.message)
            loaded, metrics = loader.load(splits, table.schema, None, is_grouped=is_grouped)
        try:
            self.adopt([block.handle for block in loaded])
        except BaseException:
            self._remove(loaded)
            raise
        return loaded, metrics

    def discard(self, table: Table, made: Sequence[LoadedBlock]) -> None:
        """Free blocks that were made for a table and are in no version of it."""
        if not made:
            return
        self._remove(made)
        directory = self.durable_dir(table)
        if directory is not None and self.find(table) is None:
            # Remove the folders of a table that was dropped meanwhile.
            staged_files.remove_empty_one(directory)
            staged_files.remove_empty_one(str(Path(directory).parent))

    def loader_here(self, table: Table) -> DriverLoader | None:
        """Return the loader that makes blocks in this process, or None if they are made elsewhere."""
        engine = self.parts.engine
        if self._loader is not None or not engine.is_local:
            return None
        return DriverLoader(engine.store, self.parts.conf, engine.parallelism, table.buckets)

    def durable_folder(self, table: Table, *, is_hot: bool) -> str | None:
        """Return the folder for copies of new blocks, or None if they stay in memory only until they are merged."""
        return None if is_hot and self.parts.engine.is_local else self.durable_dir(table)

    def is_hot(self, table: Table, files: Sequence[DataFile]) -> bool:
        """True for a small append to a table that is compacted and has frequent appends.

        That is a continuous table, or one whose last blocks are small or were merged from small ones.
        """
        num_bytes, conf = sum(file.size_bytes for file in files), self.parts.conf
        if table.continuous:
            return num_bytes <= _HOT_BYTES
        if num_bytes > _HOT_APPEND_BYTES or table.is_partitioned or table.buckets or not conf.value(COMPACTION):
            return False
        entry = self.find(table)
        if entry is None or entry.version is None or not entry.version.blocks:
            return False
        last, origins = entry.version.blocks[-_MANY_SMALL:], entry.version.origins[-1]
        if last[-1].durable_path is None or len(origins) > 1 or is_folded(origins[0].path):
            return True
        most_rows = conf.value(BLOCK_ROWS) // conf.value(COMPACTION_BLOCKS)
        return len(last) == _MANY_SMALL and all(block.num_rows <= most_rows for block in last)

    def _remove(self, blocks: Iterable[LoadedBlock]) -> None:
        """Remove blocks that are in no version."""
        self.store.release([block.handle.block_id for block in blocks], durable=True)

    # Publishing and dropping

    def publish(self, entry: CacheEntry, version: TableVersion, *, is_synced: bool = True) -> None:
        """Publish `version` as the table's, first on disk (its durable blocks), then in memory.

        If not `is_synced`, `sync` must write it to the disk, which waits without the entry's lock.
        """
        directory = self.durable_dir(entry.table)
        kept = _identity(version)
        if directory is not None and (len(kept) == len(version.blocks) or kept != entry.durable_blocks):
            if entry.manifests is None or entry.manifests.directory != directory:
                entry.manifests = VersionStore(directory, self._locations)
            published = publish_durably(version, entry.manifests, is_synced)
            entry.durable_blocks = kept
            version = dataclasses.replace(version, sequence=published.sequence)
        self._publish_here(entry, version)

    def sync(self, table: Table) -> None:
        """Sync the last published version to the disk."""
        directory = self.durable_dir(table)
        if directory is not None:
            sync_durably(directory)

    def publish_read(self, entry: CacheEntry, version: TableVersion, *, is_synced: bool = True) -> None:
        """Publish a loaded version even if the disk is full."""
        try:
            self.publish(entry, version, is_synced=is_synced)
        except ResourceError as error:
            if error.sqlstate != _FULL:
                raise
            self._publish_here(entry, version)

    def _publish_here(self, entry: CacheEntry, version: TableVersion) -> None:
        old, entry.version = entry.version, version
        kept = {block.block_id for block in version.blocks}
        if old is not None:
            self._changed(entry.table)
            self.store.retire((block for block in old.blocks if block.block_id not in kept), durable=True)
        self._note_recipes(entry.table, version)

    def _note_recipes(self, table: Table, version: TableVersion | None) -> None:
        """Note the version whose recipes local tasks use to rebuild lost blocks."""
        engine = self.parts.engine
        if engine.is_local:
            engine.recipes.note(table, version, self.store.writer())

    def drop(self, entry: CacheEntry, *, durable: bool) -> None:
        for staged in list(entry.staged):
            staged.free()
        if entry.version is not None:
            self._note_recipes(entry.table, None)
            self._changed(entry.table)
            self.store.retire(entry.version.blocks, durable=durable)
        entry.version, entry.files, entry.cached_partitions, entry.known_partitions = None, None, None, None
        entry.newest, entry.partitions, entry.durable_blocks, entry.manifests = None, None, None, None
        if entry.use is not None:
            entry.use.close()
            entry.use = None
        entry.metrics = ReadMetrics()
        if durable:
            shutil.rmtree(Path(self._state_dir, entry.table.table_id), ignore_errors=True)

    def adopt(self, handles: Sequence[BlockHandle]) -> None:
        self.store.adopt(handles)
        self.store.enforce_limit()
        many_rows = sum(handle.num_rows for handle in handles) >= _MANY_ROWS
        if many_rows and self.parts.conf.value(KERNELS) == "auto":
            # The table's first query finds the machine loaded.
            machine_loading.begin()

    def durable_dir(self, table: Table) -> str | None:
        """Return the folder of a table's durable blocks, or None if it has none or the warehouse is read-only."""
        return None if self.parts.catalog.is_read_only else durable_dir(self._state_dir, table)


def _loader(parts: EngineContext, splits: Sequence[Split], buckets: BucketSpec | None) -> BlockLoader:
    """Choose the loader: RDD tasks for large data or other hosts' memory, else threads of this process."""
    files = {split.path: split.file_bytes for split in splits}
    engine = parts.engine
    is_large = sum(files.values()) > parts.conf.value(DRIVER_LOAD_BYTES)
    if is_large or not engine.is_local:
        from sharkpy.execution.tables.rdd_loading import RddLoader

        return RddLoader(engine, parts.conf, buckets)
    return DriverLoader(engine.store, parts.conf, engine.parallelism, buckets)


def _identity(version: TableVersion) -> tuple[tuple[str, Origins], ...]:
    """Return the key that distinguishes versions on disk."""
    return tuple((block.block_id, origins) for block, origins in blocks_with_origins(version) if block.durable_path)


def _files(origins: Origins) -> set[DataFile]:
    return {file_of_origin(origin) for origin in origins}


def _in_order_of_files(version: TableVersion, table: Table, files: Sequence[DataFile]) -> TableVersion:
    """Sort the version's blocks in the order of their files. Restored and new blocks may be mixed."""
    if table.is_partitioned or table.buckets:
        return version
    places = {file: place for place, file in enumerate(files)}
    return version.in_order_of([(places[file_of_origin(origins[0])], origins[0].start) for origins in version.origins])


def _extended(version: TableVersion, loaded: Sequence[LoadedBlock]) -> TableVersion:
    origins = [tuple(map(origin_of, (block.split, *block.others))) for block in loaded]
    return version.append([block.handle for block in loaded], [block.statistics for block in loaded], origins)
