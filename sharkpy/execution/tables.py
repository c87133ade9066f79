"""Cached tables: for each its version in the memory store, kept in step with the table's files."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import itertools
import shutil
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sharkpy.cancellation import held, submit
from sharkpy.catalog.cache_policy import PolicyKind
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import BucketSpec, CacheMode, Table
from sharkpy.columnar.folder_use import FolderUse
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.statistics import BlockStatistics
from sharkpy.columnar.store_folder import storage_error
from sharkpy.columnar.version import Origins, TableVersion, VersionStore
from sharkpy.conf import BLOCK_ROWS, COMPACTION, COMPACTION_BLOCKS, DRIVER_LOAD_BYTES, Conf
from sharkpy.errors import BlocksReplacedError, CorruptionError, ExecutionError, InternalError, SharkError
from sharkpy.execution.block_loading import BlockLoader, DriverLoader, LoadedBlock, loading_splits
from sharkpy.execution.block_repair import file_of, origin_of, rebuild_blocks, split_of
from sharkpy.execution.compaction import MergedBlock, merge_run, small_runs, with_merged
from sharkpy.execution.held_partitions import held_partitions
from sharkpy.execution.lineage import Contents, Lineage, Recipe, pieces_of
from sharkpy.execution.recipe_repair import RecipeRepair
from sharkpy.execution.report import BlockResult
from sharkpy.execution.row_buckets import hash_id
from sharkpy.execution.table_files import table_files
from sharkpy.logical import LogicalPlan, Scan
from sharkpy.sources.layout import DataFile
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.split import Split

if TYPE_CHECKING:
    from sharkpy.columnar.store import BlockStore
    from sharkpy.execution.engine import Engine as SparkEngine

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

    def partitions(self, table: Table) -> tuple[HivePartition, ...]: ...


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
    held: tuple[str, ...] | None = None
    """Under a cache policy: the Hive partitions in memory, the first to go first. None: those of `version`."""
    seen: tuple[str, ...] | None = None
    """All Hive partitions that there were when `held` was decided."""
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
        self.lineage = Lineage()
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

    def bytes_by_partition(self, table: Table) -> dict[str, int]:
        """Encoded bytes of the blocks of each Hive partition that is in memory; one without rows has none."""
        entry = self._entries.get(table.table_id)
        if entry is None or entry.version is None:
            return {}
        sizes: dict[str, int] = dict.fromkeys(entry.held or (), 0)
        for block, origins in _pairs(entry.version):
            name = origins[0].partition if origins else ""
            sizes[name] = sizes.get(name, 0) + block.size_bytes
        return sizes

    def metrics(self, table: Table) -> ReadMetrics:
        """What loading `table` observed: malformed lines and fields among it."""
        entry = self._entries.get(table.table_id)
        return ReadMetrics() if entry is None else entry.metrics

    # Versions

    def version(self, table: Table) -> TableVersion | None:
        """The version that holds exactly the rows of the table's files now.

        None where it is not cached, or under a policy that holds some Hive partitions alone (see `held_version`).
        """
        if not self.is_cached(table):
            return None
        if table.cache_policy.kind is not PolicyKind.ALL:
            self.held_version(table, self._host.catalog.partitions(table), ())
            return None
        entry = self._entry(table)
        with held(entry.lock):
            if _is_blocks(table):
                return _blocks_alone(entry)
            entry.held = None
            self._set_table(entry, table)
            return self._current(entry, table_files(table, self._host.catalog.partitions(table)))

    def held_version(
        self, table: Table, partitions: Sequence[HivePartition], needed: Sequence[str]
    ) -> tuple[TableVersion | None, frozenset[str]]:
        """A version of some Hive partitions of `partitions`, all there are, and the names of these.

        Which ones they are the table's cache policy says; `needed` are those that a query is about to read.
        """
        if not self.is_cached(table):
            return None, frozenset()
        entry = self._entry(table)
        with held(entry.lock):
            self._set_table(entry, table)
            if entry.version is None:
                self._restore(entry, table_files(table, partitions))
            known = [one.name for one in sorted(partitions, key=lambda one: one.partition_id)]
            before = _partitions_of(entry.version, known) if entry.held is None else entry.held
            entry.held = held_partitions(table.cache_policy, before, known, entry.seen, needed)
            entry.seen = tuple(known)
            chosen = frozenset(entry.held)
            version = self._current(entry, table_files(table, [one for one in partitions if one.name in chosen]))
            return version, chosen

    def _set_table(self, entry: _Entry, table: Table) -> None:
        if not _is_same_form(entry.table, table):
            self._drop(entry, durable=True)
        entry.table = table

    def _current(self, entry: _Entry, files: tuple[DataFile, ...]) -> TableVersion | None:
        """The version of these files alone."""
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
                for loading in [submit(pool, self.version, table) for table in wanted.values()]:
                    loading.result()

    def repair(self, blocks: Iterable[BlockHandle]) -> None:
        """Make those of `blocks` whole again that are lost or damaged, at their places and with the same rows.

        CorruptionError naming table and block where the source is gone or changed, or never was a file.
        """
        unmended = [handle for handle in blocks if not self._store.mend(handle)]
        made = [handle for handle in unmended if self.lineage.of(handle.block_id)]
        if made:
            self._repair_made(made)
        lost = {handle.block_id for handle in unmended} - {handle.block_id for handle in made}
        for entry in list(self._entries.values()):
            with held(entry.lock):
                known = [block for block in entry.version.blocks if block.block_id in lost] if entry.version else []
                # Another query may have met the same loss, and have been faster.
                again = {block.block_id for block in known if not self._store.mend(block)}
                if again and entry.version is not None:
                    self._rebuild(again, entry.version, entry.table)
                lost -= {block.block_id for block in known}
        for block_id in lost:
            raise BlocksReplacedError.of_block(block_id, "lost, and its table is gone or was changed since")

    def _rebuild(self, lost: set[str], version: TableVersion, table: Table) -> None:
        conf, num_threads = self._host.conf, self._host.engine.parallelism
        rebuild_blocks(lost, version, table, self._store, conf, num_threads)

    def _repair_made(self, lost: Sequence[BlockHandle]) -> None:
        """Make blocks again by the queries that made them.

        BlocksReplacedError where these gave their rows in another order: all their blocks are others now.
        """
        repair = RecipeRepair(_spark_engine(self._host), self, self.lineage)
        changed = repair.rebuild(lost)
        self._store.enforce_limit()
        if not changed:
            return
        for entry in list(self._entries.values()):
            if entry.version is not None:
                self._replace_made(entry, entry.version, changed, repair, lost[0])
        raise BlocksReplacedError.of_block(lost[0].block_id, "lost, and its table was made again: run the query again")

    def _replace_made(
        self, entry: _Entry, version: TableVersion, changed: set[Recipe], repair: RecipeRepair, lost: BlockHandle
    ) -> None:
        """Publish a version in which all that the recipes `changed` made is made anew."""
        pieces = pieces_of(version, changed, self.lineage)
        made: list[BlockResult] = []
        for recipe, old in pieces.items():
            new_recipe, results = repair.remake(recipe, old, lost)
            self.lineage.note_made(new_recipe, results)
            made += results
        parts = ((block.block_id, self.lineage.of(block.block_id)) for block in version.blocks)
        gone = [block_id for block_id, known in parts if any(piece.recipe in pieces for piece in known)]
        with held(entry.lock):
            is_current = entry.version is not None and set(gone) <= {one.block_id for one in entry.version.blocks}
            if gone and is_current and entry.version is not None:
                rest = entry.version.without(gone)
                self._publish(entry, rest.append([one.handle for one in made], [one.statistics for one in made]))
            else:
                repair.discard(made)

    def contents(self, query: LogicalPlan) -> Contents:
        """What the tables of `query` hold now: equal for equal rows."""
        return tuple(self._content(node.table) for node in query.walk() if isinstance(node, Scan))

    def _content(self, table: Table) -> object:
        if not _is_blocks(table):
            return table_files(table, self._host.catalog.partitions(table))
        version = self.known_version(table)
        blocks = version.blocks if version is not None else ()
        return tuple(piece for block in blocks for piece in self.lineage.of(block.block_id) or (block.block_id,))

    def table_name(self, block: BlockHandle) -> str:
        """The table that has `block` now, empty where none has."""
        for entry in list(self._entries.values()):
            if entry.version is not None and any(one.block_id == block.block_id for one in entry.version.blocks):
                return entry.table.qualified_name
        return ""

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
                merged.append(merge_run(run, version, self._store, conf, directory))
                self._note_merged(merged[-1])
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

    def _note_merged(self, merged: MergedBlock) -> None:
        pieces = [self.lineage.of(block.block_id) for block in merged.replaced]
        if all(pieces):
            self.lineage.note(merged.handle, tuple(itertools.chain.from_iterable(pieces)))

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
        if lazy:
            return
        if table.cache_policy.kind is PolicyKind.ALL:
            self.version(table)
            return
        partitions = self._host.catalog.partitions(table)
        newest = sorted(partitions, key=lambda one: one.partition_id)[-table.cache_policy.limit :]
        self.held_version(table, partitions, [one.name for one in newest])

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
        """After ALTER TABLE: what was loaded in another way is dropped, and another policy holds at once."""
        if not _is_same_form(old, new):
            self.forget(old)
        elif old.cache_policy != new.cache_policy and self.is_loaded(new):
            self.version(new)

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
        loader = self._loader or _loader(self._host, splits, entry.table.buckets)
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
        entry.version, entry.files, entry.held, entry.seen = None, None, None, None
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
        parts: tuple[object, ...] = (table.schema, table.storage)
        if table.buckets is not None:
            parts = (*parts, table.buckets, hash_id())
        form = hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
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


def _loader(host: CacheHost, splits: Sequence[Split], buckets: BucketSpec | None) -> BlockLoader:
    """RDD tasks for what is large or is to lie in the memory of other hosts, threads of this process for the rest."""
    from sharkpy.execution.engine import Engine as SparkEngine

    files = {split.path: split.file_bytes for split in splits}
    engine = host.engine
    is_large = sum(files.values()) > host.conf.value(DRIVER_LOAD_BYTES)
    if isinstance(engine, SparkEngine) and (is_large or not engine.is_local):
        from sharkpy.execution.rdd_loading import RddLoader

        return RddLoader(engine, host.conf, buckets)
    return DriverLoader(engine.store, host.conf, engine.parallelism, buckets)


def _spark_engine(host: CacheHost) -> SparkEngine:
    from sharkpy.execution.engine import Engine as SparkEngine

    if not isinstance(host.engine, SparkEngine):
        raise InternalError("queries cannot be run by this engine")
    return host.engine


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


def _partitions_of(version: TableVersion | None, known: Sequence[str]) -> tuple[str, ...]:
    """The Hive partitions with blocks in `version`, in the order of `known`."""
    found = {origin.partition for origins in version.origins for origin in origins} if version is not None else set()
    return tuple(name for name in known if name in found)


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
