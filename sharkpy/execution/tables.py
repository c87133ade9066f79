"""Cached tables: for each its version in the memory store, kept in step with the table's files."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import shutil
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sharkpy.catalog.model import CacheMode, Table
from sharkpy.columnar.folder_use import FolderUse
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.statistics import BlockStatistics
from sharkpy.columnar.store_folder import storage_error
from sharkpy.columnar.version import Origins, TableVersion, VersionStore
from sharkpy.conf import BLOCK_ROWS, COMPACTION, COMPACTION_BLOCKS, DRIVER_LOAD_BYTES, Conf
from sharkpy.errors import CorruptionError, ExecutionError, SharkError
from sharkpy.execution.block_loading import BlockLoader, DriverLoader, LoadedBlock, loading_splits
from sharkpy.execution.block_repair import file_of, origin_of, rebuild_blocks, split_of
from sharkpy.execution.compaction import MergedBlock, merge_run, small_runs, with_merged
from sharkpy.sources.layout import DataFile, list_data_files
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.split import Split

if TYPE_CHECKING:
    from sharkpy.columnar.store import BlockStore

_CONFLICT = "40001"
_TABLES_AT_ONCE = 4


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
    """What is known of one cached table."""

    table: Table
    lock: threading.RLock = dataclasses.field(default_factory=threading.RLock)
    version: TableVersion | None = None
    files: tuple[DataFile, ...] | None = None
    use: FolderUse | None = None
    compaction: Future[None] | None = None
    metrics: ReadMetrics = dataclasses.field(default_factory=ReadMetrics)


class TableCache:
    """Versions of the tables that a session keeps in memory. Safe to use from several threads.

    1. A table is cached by its property `shark.cache`, or by CACHE TABLE for this session.
    2. `version` compares the table's files (path, size, time) with those its blocks came from, loads the new
       ones and drops the blocks of vanished ones: an answer never mixes old and new files.
    3. MEMORY tables keep blocks and manifest under <warehouse>/.sharkpy/blocks/<table id>/, where a later
       session finds them.
    4. Blocks dropped from a version are removed once no query has them any more.
    5. Lost or damaged blocks are made again from their splits. Runs of small blocks are put together in the
       background.
    """

    def __init__(
        self,
        host: CacheHost,
        loader: BlockLoader | None = None,
        changed: Callable[[Table], None] = lambda table: None,  # noqa: ARG005
    ) -> None:
        """`changed` is called when a table's version gives way to another one or to none."""
        self._host = host
        self._loader = loader
        self._changed = changed
        self._state_dir = str(Path(host.catalog.state_dir, "blocks"))
        self._entries: dict[str, _Entry] = {}
        self._session_cached: set[str] = set()
        self._lock = threading.Lock()
        self._background: ThreadPoolExecutor | None = None

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

    def load_all(self, tables: Iterable[Table]) -> None:
        """Load those of `tables` that are cached and not loaded yet, side by side."""
        wanted = {table.table_id: table for table in tables if self.is_cached(table) and not self.is_loaded(table)}
        if len(wanted) > 1:
            with ThreadPoolExecutor(min(len(wanted), _TABLES_AT_ONCE)) as pool:
                list(pool.map(self.version, wanted.values()))

    def repair(self, blocks: Iterable[BlockHandle]) -> None:
        """Make those of `blocks` whole again that are lost or damaged, at their places and with the same rows.

        CorruptionError naming table and block where the source is gone or changed, or never was a file.
        """
        lost = {handle.block_id for handle in blocks if not self._store.mend(handle)}
        for entry in list(self._entries.values()):
            with entry.lock:
                held = [block for block in entry.version.blocks if block.block_id in lost] if entry.version else []
                # Another query may have met the same loss, and have been faster.
                again = {block.block_id for block in held if not self._store.mend(block)}
                if again and entry.version is not None:
                    rebuild_blocks(again, entry.version, entry.table, self._store, self._host.conf)
                lost -= {block.block_id for block in held}
        for block_id in lost:
            raise CorruptionError.of_block(block_id, "lost, and its table is gone or was changed since")

    # Compaction

    def compact(self, table: Table) -> TableVersion | None:
        """Publish a version whose runs of small blocks are put together; readers keep theirs."""
        entry = self._entry(table)
        version, conf = entry.version, self._host.conf
        if version is None:
            return None
        directory = self._durable_dir(entry.table)
        merged: list[MergedBlock] = []
        used: list[MergedBlock] = []
        try:
            for run in self._small_runs(version):
                merged.append(merge_run(run, version, self._store, conf, directory))  # noqa: PERF401 - kept on failure
            with entry.lock:
                if entry.version is not None and directory == self._durable_dir(entry.table):
                    newer, found = with_merged(entry.version, merged)
                    if found:
                        self._publish(entry, newer)
                        used = found
        finally:
            self._remove([block.handle for block in merged if block not in used])
        self._store.enforce_limit()
        return entry.version

    def settle(self) -> None:
        """Wait for what goes on in the background."""
        for entry in list(self._entries.values()):
            if entry.compaction is not None:
                entry.compaction.result()

    def close(self) -> None:
        """End what goes on in the background."""
        if self._background is not None:
            self._background.shutdown(wait=True, cancel_futures=True)
        for entry in list(self._entries.values()):
            if entry.use is not None:
                entry.use.close()

    def _small_runs(self, version: TableVersion) -> list[range]:
        conf = self._host.conf
        return small_runs(version, conf.value(BLOCK_ROWS), max(conf.value(COMPACTION_BLOCKS), 2))

    def _compact_later(self, entry: _Entry) -> None:
        is_busy = entry.compaction is not None and not entry.compaction.done()
        if entry.version is None or is_busy or not self._host.conf.value(COMPACTION):
            return
        if self._small_runs(entry.version):
            with self._lock:
                if self._background is None:
                    self._background = ThreadPoolExecutor(1, thread_name_prefix="sharkpy-compaction")
                with contextlib.suppress(RuntimeError):  # The session is ending.
                    entry.compaction = self._background.submit(self._try_to_compact, entry.table)

    def _try_to_compact(self, table: Table) -> None:
        # Small blocks are slower to read and nothing worse: whatever fails is tried again after the next append.
        with contextlib.suppress(SharkError, OSError):
            self.compact(table)

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
            self._compact_later(entry)
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
        held = {file_of(origin) for origins in version.origins for origin in origins}
        gone = [block.block_id for block, origins in _pairs(version) if not _files(origins) <= present]
        kept = version.without(gone) if gone else version
        known = {file_of(origin) for origins in kept.origins for origin in origins}
        # Files without rows have no blocks.
        known |= set(entry.files or ()) - held
        new_files = [file for file in files if file not in known]
        loaded = self._load(entry, self._splits(table, new_files))
        if entry.version is None or loaded or gone:
            self._publish(entry, _extended(kept, loaded))
            self._compact_later(entry)
        entry.files = files

    def _splits(self, table: Table, files: Sequence[DataFile]) -> list[Split]:
        conf, num_threads = self._host.conf, self._host.engine.parallelism
        return loading_splits(files, table.schema, table.storage, conf, num_threads)

    def _replace(self, entry: _Entry, version: TableVersion, bad: set[Origins]) -> None:
        """Publish `version` with the blocks of the origins `bad` made again."""
        splits = [split_of(origin, entry.table) for origins in bad for origin in origins]
        loaded = self._load(entry, splits)
        gone = [block.block_id for block, origins in _pairs(version) if origins in bad]
        self._publish(entry, _extended(version.without(gone), loaded))

    def _load(self, entry: _Entry, splits: Sequence[Split]) -> list[LoadedBlock]:
        if not splits:
            return []
        loader = self._loader or _loader(self._host, splits)
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
        if old is not None:
            self._changed(entry.table)
            self._store.retire((block for block in old.blocks if block.block_id not in kept), durable=True)

    def _remove(self, blocks: Sequence[BlockHandle]) -> None:
        self._store.release([block.block_id for block in blocks], durable=True)

    def _drop(self, entry: _Entry, *, durable: bool) -> None:
        if entry.version is not None:
            self._changed(entry.table)
            self._store.retire(entry.version.blocks, durable=durable)
        entry.version, entry.files = None, None
        if entry.use is not None:
            entry.use.close()
            entry.use = None
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
        versions = VersionStore(directory)
        try:
            entry.use = entry.use or FolderUse(directory)
            version = versions.load()
            if entry.use.is_alone:
                with contextlib.suppress(ValueError):  # A damaged manifest may need any of them.
                    versions.sweep()
        except CorruptionError:
            return
        except OSError as error:
            raise storage_error(directory, error) from None
        finally:
            if entry.use is not None:
                entry.use.share()
        if version is None or version.schema != entry.table.schema or () in version.origins:
            return
        damaged = {block.origins for block in version.damaged}
        handles = self._store.restore(version.blocks)
        entry.version = dataclasses.replace(version.with_blocks(handles), damaged=())
        present = set(files)
        self._store.enforce_limit()
        if damaged:
            self._replace(entry, entry.version, {origins for origins in damaged if _files(origins) <= present})


def _loader(host: CacheHost, splits: Sequence[Split]) -> BlockLoader:
    """RDD tasks for what is large, threads of this process for the rest."""
    from sharkpy.execution.engine import Engine as SparkEngine

    files = {split.path: split.file_bytes for split in splits}
    engine = host.engine
    if isinstance(engine, SparkEngine) and sum(files.values()) > host.conf.value(DRIVER_LOAD_BYTES):
        from sharkpy.execution.rdd_loading import RddLoader

        return RddLoader(engine, host.conf)
    return DriverLoader(engine.store, host.conf, engine.parallelism)


def _is_blocks(table: Table) -> bool:
    """Whether the table has no files."""
    return table.location is None and not table.is_view


def _is_same_form(old: Table, new: Table) -> bool:
    return old.schema == new.schema and old.storage == new.storage and old.cache_mode is new.cache_mode


def _blocks_alone(entry: _Entry) -> TableVersion:
    if entry.version is None:
        raise ExecutionError(f'table "{entry.table.name}" is in memory only and its session has ended')
    return entry.version


def _pairs(version: TableVersion) -> Iterable[tuple[BlockHandle, Origins]]:
    return zip(version.blocks, version.origins, strict=True)


def _files(origins: Origins) -> set[DataFile]:
    return {file_of(origin) for origin in origins}


def _extended(version: TableVersion, loaded: Sequence[LoadedBlock]) -> TableVersion:
    origins = [(origin_of(block.split),) for block in loaded]
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
