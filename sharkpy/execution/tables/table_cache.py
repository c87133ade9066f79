"""Cached tables: each one's version in the memory store, kept in step with its files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from time import monotonic

from sharkpy.base.cancellation import cancellable_lock, submit
from sharkpy.base.errors import SourceError
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import CacheMode, PolicyKind, Table
from sharkpy.catalog.partition_list import NO_PARTITIONS, CommittedFiles, PartitionList
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.statistics_table import PackedStatistics
from sharkpy.columnar.version import TableVersion, partition_of
from sharkpy.execution.tables.block_lineage import BlockLineage, Contents
from sharkpy.execution.tables.block_loading import BlockLoader
from sharkpy.execution.tables.cached_table import (
    BlockReads,
    CacheEntry,
    EngineContext,
    added_files,
    block_properties,
    blocks_with_origins,
    committed_state,
    files_added_to,
    files_of_partitions,
    has_no_files,
    locked,
    partitions_to_cache,
    version_of_blocks,
)
from sharkpy.execution.tables.compaction import Compactor
from sharkpy.execution.tables.data_files import partition_files, table_files
from sharkpy.execution.tables.file_folding import FileFolding
from sharkpy.execution.tables.hidden_files import HiddenFiles
from sharkpy.execution.tables.staged_blocks import StagedBlocks
from sharkpy.execution.tables.table_repair import TableRepair
from sharkpy.execution.tables.versions import TableVersions
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sources.folders.generations import Placed
from sharkpy.sources.folders.table_folder import files_of_write
from sharkpy.sources.layout import DataFile
from sharkpy.sources.source import ReadMetrics

_TABLES_AT_ONCE = 4


class TableCache:
    """Versions of the tables that a session caches. Thread-safe.

    1. A table is cached by its property `shark.cache`, or by CACHE TABLE for this session.
    2. `version` compares the table's files (path, size, time) with its blocks' files, loads new ones and drops the
       blocks of removed ones. An answer never mixes old and new files.
    3. MEMORY tables store blocks and manifest in <warehouse>/.sharkpy/blocks/<table id>/ for later sessions.
    4. Blocks dropped from a version are removed when no query has them.
    5. Lost or damaged blocks are rebuilt from their splits. Runs of small blocks are merged in the background.
    """

    def __init__(
        self,
        parts: EngineContext,
        loader: BlockLoader | None = None,
        changed: Callable[[Table], None] = lambda table: None,  # noqa: ARG005
    ) -> None:
        """Make a cache. `changed` is called when a table's version is replaced by another one or by none."""
        self._parts = parts
        self.lineage = BlockLineage()
        self.hidden = HiddenFiles(parts.catalog.readers, parts.catalog)
        self.versions = TableVersions(parts, loader, changed)
        self._repair = TableRepair(self.versions, self.lineage)
        self.folding = FileFolding(self.versions, self.hidden)
        self._compactor = Compactor(self.versions, self.lineage, self.folding)
        self._session_cached: set[str] = set()

    # Lookups

    def is_cached(self, table: Table) -> bool:
        """True if queries of `table` read blocks."""
        if not table.is_stored:
            return False
        is_named = table.cache_mode is not CacheMode.NONE or table.table_id in self._session_cached
        return is_named or has_no_files(table)

    def is_loaded(self, table: Table) -> bool:
        return self.loaded_version(table) is not None

    def loaded_version(self, table: Table) -> TableVersion | None:
        """Return the version in memory, even if outdated, for EXPLAIN and estimates."""
        entry = self.versions.find(table)
        return None if entry is None else entry.version

    def bytes_by_partition(self, table: Table) -> dict[str, int]:
        """Return the encoded bytes of blocks by Hive partition in memory."""
        entry = self.versions.find(table)
        if entry is None or entry.version is None:
            return {}
        sizes: dict[str, int] = dict.fromkeys(entry.cached_partitions or (), 0)
        for block, origins in blocks_with_origins(entry.version):
            name = partition_of(origins)
            sizes[name] = sizes.get(name, 0) + block.size_bytes
        return sizes

    def metrics(self, table: Table) -> ReadMetrics:
        """Return the figures of loading `table`, such as malformed lines and fields."""
        entry = self.versions.find(table)
        return ReadMetrics() if entry is None else entry.metrics

    def reads(self, table: Table) -> BlockReads:
        """Return the counts of block reads since the engine started, or since UNCACHE TABLE."""
        entry = self.versions.find(table)
        return BlockReads() if entry is None else entry.reads

    def note_reads(self, table_id: str, blocks: Sequence[BlockHandle]) -> None:
        """Count a scan that has read `blocks`."""
        entry = self.versions.find_id(table_id)
        if entry is not None:
            entry.reads.add(blocks, self.versions.store.num_outside(blocks))

    # Versions

    def version(self, table: Table, published: CommittedFiles | None = None) -> TableVersion | None:
        """Return the version with exactly the rows of the table's current files, or of the files in `published`.

        Return None if the table is not cached, or its policy holds only some Hive partitions (see `partial_version`).
        """
        if not self.is_cached(table):
            return None
        if table.cache_policy.kind is not PolicyKind.ALL:
            known = self._parts.catalog.partitions(table) if published is None else published.partitions
            self.partial_version(table, known, ())
            return None
        entry = self.versions.entry(table)
        with locked(entry):
            if has_no_files(table):
                return version_of_blocks(entry)
            entry.cached_partitions = None
            self._set_table(entry, table)
            catalog = self._parts.catalog
            newest, partitions = committed_state(table, catalog, published)
            added = None if newest is None else added_files(entry, newest, catalog)
            if added is None and partitions is not None:
                added = files_added_to(entry, partitions, catalog)
            if added is not None and (extended := self._extended(entry, added, newest, partitions)) is not None:
                return extended
            files = None if partitions is None else files_of_partitions(entry, partitions, catalog)
            if files is None:
                entry.listed = monotonic()
                counted = newest is not None or partitions is not None
                files = table_files(
                    table, catalog, CommittedFiles(newest, partitions or NO_PARTITIONS) if counted else published
                )
            version = self._current(entry, files)
            entry.newest, entry.partitions = newest, partitions
            return version

    def add(self, table: Table, placed: Placed) -> bool:
        """Add the rows of a generation that was just placed to the table's version.

        Return False if that needs a listing. Readers list the files anyway, and so find other writes.
        """
        entry = self.versions.entry(table)
        with cancellable_lock(entry.lock):
            is_known = (
                entry.version is not None
                and entry.files is not None
                and block_properties(entry.table) == block_properties(table)
            )
            if not is_known or table.continuous or table.is_partitioned or not self.is_cached(table):
                return False
            added = files_of_write(placed, self._parts.catalog)
            if entry.files is None or not added or added[-1] in entry.files:
                return False
            return self._extended(entry, added, None, None) is not None

    def stage(self, table: Table) -> StagedBlocks:
        """Begin blocks of staged files; `version` takes them after the commit."""
        return StagedBlocks(self.versions, table)

    @contextmanager
    def locked_versions(self, tables: Iterable[Table]) -> Iterator[None]:
        """Lock the versions of some tables against updates during the body."""
        entries = {table.table_id: self.versions.entry(table) for table in tables}
        with ExitStack() as locks:
            for _, entry in sorted(entries.items()):
                locks.enter_context(cancellable_lock(entry.lock))
            yield

    def partial_version(
        self, table: Table, partitions: Sequence[HivePartition], needed: Sequence[str]
    ) -> tuple[TableVersion | None, frozenset[str]]:
        """Return the version with some of the table's `partitions`, and their names.

        The table's cache policy chooses them; `needed` are the partitions that a query is about to read.
        """
        if not self.is_cached(table):
            return None, frozenset()
        entry = self.versions.entry(table)
        with locked(entry):
            self._set_table(entry, table)
            if entry.version is None:
                self.versions.restore(entry, partition_files(table, partitions, self._parts.catalog))
            known = [one.name for one in sorted(partitions, key=lambda one: one.partition_id)]
            before = (
                _partitions_of(entry.version, known) if entry.cached_partitions is None else entry.cached_partitions
            )
            entry.cached_partitions = partitions_to_cache(
                table.cache_policy, before, known, entry.known_partitions, needed
            )
            entry.known_partitions = tuple(known)
            chosen = frozenset(entry.cached_partitions)
            held_ones = [one for one in partitions if one.name in chosen]
            version = self._current(entry, partition_files(table, held_ones, self._parts.catalog))
            return version, chosen

    def _set_table(self, entry: CacheEntry, table: Table) -> None:
        if block_properties(entry.table) != block_properties(table):
            self.versions.drop(entry, durable=True)
        entry.table = table

    def _extended(
        self,
        entry: CacheEntry,
        added: list[DataFile],
        newest: int | None,
        partitions: PartitionList | None,
    ) -> TableVersion | None:
        """Return the version with the rows of `added` files, or None if one of them is gone."""
        try:
            is_another = bool(added) and self.versions.extend(entry, added)
        except SourceError as error:
            # Files folded by another process exist until they are deleted; a listing leaves them out.
            if error.sqlstate != "58P01":
                raise
            return None
        if is_another:
            self._compactor.compact_later(entry)
        entry.newest, entry.partitions = newest, partitions
        if entry.version is not None:
            self.versions.store.touch(entry.version.blocks)
        return entry.version

    def _current(self, entry: CacheEntry, files: tuple[DataFile, ...]) -> TableVersion | None:
        """Return the version of exactly these files."""
        if entry.version is None:
            self.versions.restore(entry, files)
        is_stale = entry.version is None or entry.files != files
        if not is_stale:
            entry.files = files  # Equal files; next time they are compared by identity.
        elif self.versions.refresh(entry, files):
            self._compactor.compact_later(entry)
        if entry.version is not None:
            self.versions.store.touch(entry.version.blocks)
        return entry.version

    def load_all(self, tables: Iterable[Table]) -> None:
        """Load the cached tables that are not loaded yet, in parallel."""
        wanted = {table.table_id: table for table in tables if self.is_cached(table) and not self.is_loaded(table)}
        if len(wanted) > 1:
            with ThreadPoolExecutor(min(len(wanted), _TABLES_AT_ONCE)) as pool:
                for loading in [submit(pool, self.version, table) for table in wanted.values()]:
                    loading.result()

    # Repair, compaction

    def repair(self, blocks: Iterable[BlockHandle]) -> None:
        """Rebuild the lost or damaged ones of `blocks` in their places, with the same rows.

        Raise CorruptionError, naming table and block, if the source is gone, has changed, or never was a file.
        """
        self._repair.repair(blocks)

    def contents(self, query: LogicalPlan) -> Contents:
        """Return the contents of the tables of `query`; equal for equal rows."""
        return self._repair.contents(query)

    def compact(self, table: Table) -> TableVersion | None:
        """Merge runs of small blocks and publish the new version; readers keep theirs."""
        return self._compactor.compact(table)

    def fold_later(self, table: Table, partitions: Sequence[str]) -> None:
        """Fold the small files of a table that is not in memory, in the background.

        Files are folded in the written Hive partitions, when these have enough of them.
        """
        self._compactor.fold_later(table, partitions)

    def settle(self) -> None:
        """Wait for background work."""
        self._compactor.settle()

    def close(self) -> None:
        """Stop background work."""
        self._compactor.close()
        for entry in self.versions.all():
            if entry.use is not None:
                entry.use.close()

    # CACHE, UNCACHE

    def cache(self, table: Table, *, lazy: bool = False) -> None:
        """Cache a table for this session; with `lazy`, its first query loads it."""
        was_cached = table.table_id in self._session_cached
        self._session_cached.add(table.table_id)
        if lazy:
            return
        try:
            self._load_first(table)
            # No query has waited for these blocks.
            self.reads(table).unread = frozenset()
        except BaseException:
            if not was_cached:
                self._session_cached.discard(table.table_id)
            if not self.is_cached(table):
                self.forget(table)
            raise

    def _load_first(self, table: Table) -> None:
        if table.cache_policy.kind is PolicyKind.ALL:
            self.version(table)
            return
        partitions = self._parts.catalog.partitions(table)
        newest = sorted(partitions, key=lambda one: one.partition_id)[-table.cache_policy.limit :]
        self.partial_version(table, partitions, [one.name for one in newest])

    def uncache(self, table: Table) -> None:
        self._session_cached.discard(table.table_id)
        self.forget(table)

    def clear(self) -> None:
        """Free all memory; tables cached by property load again when they are queried."""
        self._session_cached.clear()
        for entry in self.versions.all():
            self.release(entry.table)

    def release(self, table: Table) -> None:
        """Free the memory of `table`; durable blocks and tables without files stay."""
        entry = self.versions.find(table)
        if entry is not None and not has_no_files(entry.table):
            with entry.lock:
                self.versions.drop(entry, durable=False)

    def forget(self, table: Table) -> None:
        """Drop all blocks of `table`, durable ones included."""
        entry = self.versions.take_out(table)
        with entry.lock:
            self.versions.drop(entry, durable=True)

    def drop(self, table: Table) -> None:
        """Drop the blocks and records of a table that is no longer in the catalog."""
        self.forget(table)
        self._compactor.forget(table)
        if table.location is not None:
            self.versions.contents.forget(table.location)

    def properties_changed(self, old: Table, new: Table) -> None:
        """Apply new properties after ALTER TABLE.

        Blocks of another form are dropped, and a new policy applies at once.
        """
        if block_properties(old) != block_properties(new):
            self.forget(old)
        elif old.cache_policy != new.cache_policy and self.is_loaded(new):
            self.version(new)

    # Tables without files

    def put(self, table: Table, blocks: Iterable[tuple[BlockHandle, PackedStatistics]]) -> TableVersion:
        """Publish the first version of a table that a query made in memory."""
        return self.append(table, blocks, overwrite=True)

    def append(
        self, table: Table, blocks: Iterable[tuple[BlockHandle, PackedStatistics]], *, overwrite: bool = False
    ) -> TableVersion:
        made = list(blocks)
        entry = self.versions.entry(table)
        with entry.lock:
            old = entry.version or TableVersion.empty(table.schema)
            base = old.without([block.block_id for block in old.blocks]) if overwrite else old
            handles = [handle for handle, _ in made]
            self.versions.adopt(handles)
            self.versions.publish(entry, base.append(handles, [statistics for _, statistics in made]))
            self._compactor.compact_later(entry)
            return version_of_blocks(entry)

    def discard(self, blocks: Iterable[tuple[BlockHandle, PackedStatistics]]) -> None:
        """Free blocks that were made for a table and are in no version of it."""
        handles = [handle for handle, _ in blocks]
        self.versions.store.adopt(handles)
        self.versions.store.retire(handles)


def _partitions_of(version: TableVersion | None, known: Sequence[str]) -> tuple[str, ...]:
    """Return the Hive partitions with blocks in `version`, in the order of `known`."""
    found = {origin.partition for origins in version.origins for origin in origins} if version is not None else set()
    return tuple(name for name in known if name in found)
