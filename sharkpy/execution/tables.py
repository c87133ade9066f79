"""Cached tables: for each its version in the memory store, kept in step with the table's files."""

from __future__ import annotations

import dataclasses
import hashlib
import shutil
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sharkpy.catalog.model import CacheMode, Table
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.statistics import BlockStatistics
from sharkpy.columnar.version import BlockOrigin, TableVersion, VersionStore
from sharkpy.conf import Conf
from sharkpy.errors import CorruptionError, ExecutionError
from sharkpy.execution.block_loading import BlockLoader, DriverLoader, LoadedBlock, loading_splits
from sharkpy.sources.layout import DataFile, list_data_files
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.split import Split

if TYPE_CHECKING:
    from sharkpy.columnar.store import BlockStore

_CONFLICT = "40001"


class Engine(Protocol):
    @property
    def store(self) -> BlockStore: ...

    @property
    def parallelism(self) -> int: ...


class Catalog(Protocol):
    @property
    def state_dir(self) -> str: ...


class CacheHost(Protocol):
    """The session, as far as its cache needs it."""

    @property
    def conf(self) -> Conf: ...

    @property
    def engine(self) -> Engine: ...

    @property
    def catalog(self) -> Catalog: ...


@dataclasses.dataclass(slots=True)
class _Entry:
    """What is known of one cached table. `retired` blocks may still be read by queries that began before."""

    table: Table
    lock: threading.RLock = dataclasses.field(default_factory=threading.RLock)
    version: TableVersion | None = None
    files: tuple[DataFile, ...] | None = None
    retired: tuple[BlockHandle, ...] = ()
    metrics: ReadMetrics = dataclasses.field(default_factory=ReadMetrics)


class TableCache:
    """Versions of the tables that a session keeps in memory. Safe to use from several threads.

    1. A table is cached by its property `shark.cache`, or by CACHE TABLE for this session.
    2. `version` compares the table's files (path, size, time) with those its blocks came from, loads the new
       ones and drops the blocks of vanished ones: an answer never mixes old and new files.
    3. MEMORY tables keep blocks and manifest under <warehouse>/.sharkpy/blocks/<table id>/, where a later
       session finds them; lost ones are made again from their splits.
    4. Blocks dropped from a version are removed with the next change, so that running queries keep theirs.
    """

    def __init__(self, host: CacheHost, loader: BlockLoader | None = None) -> None:
        self._host = host
        self._loader = loader
        self._state_dir = str(Path(host.catalog.state_dir, "blocks"))
        self._entries: dict[str, _Entry] = {}
        self._session_cached: set[str] = set()
        self._lock = threading.Lock()

    # What is cached

    def is_cached(self, table: Table) -> bool:
        """Whether queries of `table` read blocks."""
        if table.is_view:
            return False
        return table.cache_mode is not CacheMode.NONE or table.table_id in self._session_cached or _is_blocks(table)

    def is_loaded(self, table: Table) -> bool:
        return self.known_version(table) is not None

    def known_version(self, table: Table) -> TableVersion | None:
        """The version in memory, however old; for EXPLAIN and estimates."""
        entry = self._entries.get(table.table_id)
        return None if entry is None else entry.version

    def metrics(self, table: Table) -> ReadMetrics:
        """What loading `table` observed: malformed lines and fields among it."""
        entry = self._entries.get(table.table_id)
        return ReadMetrics() if entry is None else entry.metrics

    # Versions

    def version(self, table: Table) -> TableVersion | None:
        """The version that holds exactly the rows of the table's files now; None where it is not cached."""
        if not self.is_cached(table):
            return None
        entry = self._entry(table)
        with entry.lock:
            if _is_blocks(table):
                return _blocks_alone(entry)
            if not _is_same_form(entry.table, table):
                self._drop(entry, durable=True)
            entry.table = table
            files = tuple(list_data_files(table.location or ""))
            if entry.version is None:
                self._restore(entry, files)
            if entry.version is None or entry.files != files:
                self._refresh(entry, files)
            if entry.version is not None:
                self._store.touch(entry.version.blocks)
            return entry.version

    def load(self, table: Table) -> TableVersion | None:
        return self.version(table)

    def rebuild(self, table: Table, block_ids: Iterable[str]) -> TableVersion | None:
        """A new version in which lost or corrupt blocks are made again from their splits.

        CorruptionError where a lost block has no split (a table in memory only).
        """
        lost, entry = set(block_ids), self._entry(table)
        with entry.lock:
            version = entry.version
            if version is None:
                return self.version(table)
            bad = {origin for block, origin in _pairs(version) if block.block_id in lost}
            if None in bad:
                raise CorruptionError(f'a block of table "{table.name}" is lost, and it is in memory only')
            self._replace(entry, version, {origin for origin in bad if origin is not None})
            return entry.version

    # CACHE, UNCACHE

    def cache(self, table: Table, *, lazy: bool = False) -> None:
        """With `lazy` the table is loaded by the first query that reads it."""
        self._session_cached.add(table.table_id)
        if not lazy:
            self.version(table)

    def uncache(self, table: Table) -> None:
        self._session_cached.discard(table.table_id)
        self.forget(table)

    def clear(self) -> None:
        """Empty the memory. Tables cached by property load again when they are queried."""
        self._session_cached.clear()
        for entry in list(self._entries.values()):
            self.release(entry.table)

    def release(self, table: Table) -> None:
        """Give the memory of `table` back; what is durable stays, and so do tables that are blocks alone."""
        entry = self._entries.get(table.table_id)
        if entry is not None and not _is_blocks(entry.table):
            with entry.lock:
                self._drop(entry, durable=False)

    def forget(self, table: Table) -> None:
        """Drop all that is kept of `table`, durable blocks included."""
        with self._lock:
            entry = self._entries.pop(table.table_id, None) or _Entry(table)
        with entry.lock:
            self._drop(entry, durable=True)

    def properties_changed(self, old: Table, new: Table) -> None:
        """After ALTER TABLE: what was loaded in another way is dropped."""
        if not _is_same_form(old, new):
            self.forget(old)

    # Tables that are blocks alone

    def put(self, table: Table, blocks: Iterable[tuple[BlockHandle, BlockStatistics]]) -> TableVersion:
        """The first version of a table that a query made in memory."""
        return self.append(table, blocks, overwrite=True)

    def append(
        self, table: Table, blocks: Iterable[tuple[BlockHandle, BlockStatistics]], *, overwrite: bool = False
    ) -> TableVersion:
        made = list(blocks)
        entry = self._entry(table)
        with entry.lock:
            old = entry.version or TableVersion.empty(table.schema)
            base = old.without([block.block_id for block in old.blocks]) if overwrite else old
            handles = [handle for handle, _ in made]
            self._adopt(handles)
            self._publish(entry, base.append(handles, [statistics for _, statistics in made]))
            return _blocks_alone(entry)

    @property
    def _store(self) -> BlockStore:
        return self._host.engine.store

    def _entry(self, table: Table) -> _Entry:
        with self._lock:
            return self._entries.setdefault(table.table_id, _Entry(table))

    def _refresh(self, entry: _Entry, files: tuple[DataFile, ...]) -> None:
        """Load what is new in `files`, keep what is known, drop the rest."""
        table, present = entry.table, set(files)
        version = entry.version or TableVersion.empty(table.schema)
        known = {_file(origin) for origin in version.origins} | set(entry.files or ())
        new_files = [file for file in files if file not in known]
        loaded = self._load(entry, loading_splits(new_files, table.schema, table.storage, self._host.conf))
        gone = [block.block_id for block, origin in _pairs(version) if _file(origin) not in present]
        if entry.version is None or loaded or gone:
            self._publish(entry, _extended(version.without(gone) if gone else version, loaded))
        entry.files = files

    def _replace(self, entry: _Entry, version: TableVersion, bad: set[BlockOrigin]) -> None:
        """Publish `version` with the blocks of the origins `bad` made again."""
        loaded = self._load(entry, [_split(origin, entry.table) for origin in bad])
        gone = [block.block_id for block, origin in _pairs(version) if origin in bad]
        self._publish(entry, _extended(version.without(gone), loaded))

    def _load(self, entry: _Entry, splits: Sequence[Split]) -> list[LoadedBlock]:
        if not splits:
            return []
        engine = self._host.engine
        loader = self._loader or DriverLoader(engine.store, self._host.conf, engine.parallelism)
        loaded, metrics = loader.load(splits, entry.table.schema, self._durable_dir(entry.table))
        entry.metrics.merge(metrics)
        self._adopt([block.handle for block in loaded])
        return loaded

    def _adopt(self, handles: Sequence[BlockHandle]) -> None:
        self._store.adopt(handles)
        self._store.enforce_limit()

    def _publish(self, entry: _Entry, version: TableVersion) -> None:
        """Make `version` the table's, first on disk, then here."""
        directory = self._durable_dir(entry.table)
        if directory is not None:
            version = _publish_durably(version, directory)
        old, entry.version = entry.version, version
        kept = {block.block_id for block in version.blocks}
        self._remove(entry.retired)
        entry.retired = tuple(block for block in (old.blocks if old else ()) if block.block_id not in kept)

    def _remove(self, blocks: Sequence[BlockHandle], *, durable: bool = True) -> None:
        self._store.release([block.block_id for block in blocks], durable=durable)

    def _drop(self, entry: _Entry, *, durable: bool) -> None:
        if entry.version is not None:
            self._remove(entry.retired)
            self._remove(entry.version.blocks, durable=durable)
        entry.version, entry.files, entry.retired = None, None, ()
        entry.metrics = ReadMetrics()
        if durable:
            shutil.rmtree(Path(self._state_dir, entry.table.table_id), ignore_errors=True)

    # Durable versions

    def _durable_dir(self, table: Table) -> str | None:
        """Named after the form of the files too: blocks read in another way are not found again."""
        if table.cache_mode is not CacheMode.MEMORY or _is_blocks(table):
            return None
        form = hashlib.sha256(repr((table.schema, table.storage)).encode()).hexdigest()[:16]
        return str(Path(self._state_dir, table.table_id, form))

    def _restore(self, entry: _Entry, files: Sequence[DataFile]) -> None:
        """Take back what an earlier session kept of these files; what is damaged is made again."""
        directory = self._durable_dir(entry.table)
        if directory is None:
            return
        try:
            version = VersionStore(directory).load()
        except CorruptionError:
            return
        if version is None or version.schema != entry.table.schema or None in version.origins:
            return
        damaged = {block.origin for block in version.damaged if block.origin is not None}
        handles = self._store.restore(version.blocks)
        entry.version = dataclasses.replace(version.with_blocks(handles), damaged=())
        present = set(files)
        self._store.enforce_limit()
        if damaged:
            self._replace(entry, entry.version, {origin for origin in damaged if _file(origin) in present})


def _is_blocks(table: Table) -> bool:
    """Whether the table has no files."""
    return table.location is None and not table.is_view


def _is_same_form(old: Table, new: Table) -> bool:
    return old.schema == new.schema and old.storage == new.storage and old.cache_mode is new.cache_mode


def _blocks_alone(entry: _Entry) -> TableVersion:
    if entry.version is None:
        raise ExecutionError(f'table "{entry.table.name}" is in memory only and its session has ended')
    return entry.version


def _pairs(version: TableVersion) -> Iterable[tuple[BlockHandle, BlockOrigin | None]]:
    return zip(version.blocks, version.origins, strict=True)


def _file(origin: BlockOrigin | None) -> DataFile | None:
    return None if origin is None else DataFile(origin.path, origin.file_bytes, origin.modified_ns)


def _split(origin: BlockOrigin, table: Table) -> Split:
    return Split(
        origin.path,
        table.storage.name,
        table.storage.properties,
        origin.start,
        origin.length,
        origin.file_bytes,
        origin.modified_ns,
    )


def _extended(version: TableVersion, loaded: Sequence[LoadedBlock]) -> TableVersion:
    origins = [
        BlockOrigin(split.path, split.start, split.length, split.file_bytes, split.modified_ns)
        for split in (block.split for block in loaded)
    ]
    return version.append([block.handle for block in loaded], [block.statistics for block in loaded], origins)


def _publish_durably(version: TableVersion, directory: str) -> TableVersion:
    """The version under the next free number: another process may publish the same table."""
    store = VersionStore(directory)
    while True:
        try:
            store.publish(version)
        except ExecutionError as error:
            latest = store.latest_sequence()
            if error.sqlstate != _CONFLICT or latest is None or latest < version.sequence:
                raise
            version = dataclasses.replace(version, sequence=latest + 1)
        else:
            return version
