"""State of a cached table: its version, the files that it covers, its partitions in memory, its durable copy.

The files added to a continuous table are found by their generations, without listing its folder. A MEMORY table's
version on disk serves later sessions.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import math
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sharkpy.base.cancellation import cancellable_lock, current_cancellation
from sharkpy.base.errors import CorruptionError, ExecutionError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import Conf
from sharkpy.base.uri import Locations
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.json_rows import partition_format_to_text
from sharkpy.catalog.model import CacheMode, CachePolicy, PolicyKind, Table
from sharkpy.columnar.block_folders import UNWRITABLE, FolderUse, storage_error
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.version import Origins, TableVersion, VersionStore
from sharkpy.execution.statement import Statement
from sharkpy.execution.statement_figures import TableLoad
from sharkpy.execution.tables.data_files import partition_files
from sharkpy.execution.tasks.buckets import hash_id
from sharkpy.sources.folders.logged_folder import LoggedFolder
from sharkpy.sources.folders.table_folder import table_folder
from sharkpy.sources.layout import DataFile
from sharkpy.sources.source import ReadMetrics

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.partition_list import CommittedFiles, PartitionList
    from sharkpy.execution.engine import Engine
    from sharkpy.execution.tables.staged_blocks import StagedBlocks


class EngineContext(Protocol):
    """Parts of an engine that its cached tables use."""

    @property
    def conf(self) -> Conf: ...

    @property
    def engine(self) -> Engine: ...

    @property
    def catalog(self) -> Catalog: ...


@dataclass(slots=True)
class BlockReads:
    """Counts of the blocks that scans of a cached table have read, by the place that answered.

    They take no lock: scans that end at the same time may lose a count.
    """

    from_memory: int = 0
    from_disk: int = 0
    """Reads of blocks that were evicted, or had no room in memory."""
    loaded: int = 0
    """Reads that waited until their block was made from the table's files."""
    unread: frozenset[str] = frozenset()
    """Blocks of the last load, if no scan has read one of them."""

    def add(self, blocks: Sequence[BlockHandle], num_outside: int) -> None:
        """Count a scan of `blocks`, of which `num_outside` were read from a disk."""
        loaded = 0
        if (unread := self.unread) and (loaded := sum(block.block_id in unread for block in blocks)):
            self.unread = frozenset()
        from_disk = min(num_outside, len(blocks) - loaded)
        self.loaded += loaded
        self.from_disk += from_disk
        self.from_memory += len(blocks) - loaded - from_disk


@dataclass(slots=True)
class CacheEntry:
    """State of a cached table; changed only under `lock`."""

    table: Table
    lock: threading.RLock = field(default_factory=threading.RLock)
    version: TableVersion | None = None
    files: tuple[DataFile, ...] | None = None
    newest: int | None = None
    """Last generation in `files`, if generations say which files are committed."""
    partitions: PartitionList | None = None
    """Hive partitions of `files`, if these say which files are committed."""
    listed: float = -math.inf
    """Time of the last listing, by the monotonic clock."""
    durable_blocks: tuple[tuple[str, Origins], ...] | None = None
    """Block ids and origins of the version on disk; None if unknown."""
    use: FolderUse | None = None
    manifests: VersionStore | None = None
    """Store in which versions are published; None before the first."""
    compaction: Future[None] | None = None
    cached_partitions: tuple[str, ...] | None = None
    """Hive partitions in memory under a cache policy, in order of eviction; None: the partitions of `version`."""
    known_partitions: tuple[str, ...] | None = None
    """All Hive partitions when `cached_partitions` was decided."""
    metrics: ReadMetrics = field(default_factory=ReadMetrics)
    reads: BlockReads = field(default_factory=BlockReads)
    num_loaded: int = 0
    """Number of blocks that were ever loaded from files."""
    staged: list[StagedBlocks] = field(default_factory=list)
    """Blocks of uncommitted files, made or being made. Writes add and remove theirs without the lock."""


@contextlib.contextmanager
def locked(entry: CacheEntry) -> Iterator[None]:
    """Hold the lock of an entry. If blocks are loaded meanwhile, this thread's statement has waited for them.

    While it waited for the lock, another statement may have loaded them.
    """
    before, started, began = entry.num_loaded, time.time(), time.perf_counter()
    with cancellable_lock(entry.lock):
        yield
        num_loaded = entry.num_loaded - before
    statement = current_cancellation()
    if num_loaded and isinstance(statement, Statement):
        seconds = time.perf_counter() - began
        statement.loads.append(TableLoad(entry.table.qualified_name, started, seconds, num_loaded))


def block_properties(table: Table) -> tuple[object, ...]:
    """Return the properties that a table's blocks depend on, apart from its files."""
    return table.schema, table.storage, table.cache_mode, table.buckets


def has_no_files(table: Table) -> bool:
    """True if the table has no files."""
    return table.location is None and table.is_stored


def version_of_blocks(entry: CacheEntry) -> TableVersion:
    """Return the version of a table without files. Raise ExecutionError if its session has ended."""
    if entry.version is None:
        raise ExecutionError(f'table "{entry.table.name}" is in memory only and its session has ended')
    return entry.version


def blocks_with_origins(version: TableVersion) -> Iterable[tuple[BlockHandle, Origins]]:
    return zip(version.blocks, version.origins, strict=True)


_LIST_SECONDS = 10.0
"""Seconds after which a folder is listed anyway: another process may have folded files, which changes no row."""


def committed_state(
    table: Table, catalog: Catalog, published: CommittedFiles | None
) -> tuple[int | None, PartitionList | None]:
    """Return the catalog's state that changes with each change of a continuous table's rows.

    It is the last generation, or the Hive partitions. Both are None for other tables: only the query of a continuous
    table writes its files.
    """
    if not table.continuous or table.as_of is not None:
        return None, None
    if table.is_partitioned:
        return None, catalog.partitions(table) if published is None else published.partitions
    return (catalog.newest_generation(table) if published is None else published.newest), None


def files_of_partitions(
    entry: CacheEntry, partitions: Sequence[HivePartition], catalog: Catalog | None = None
) -> tuple[DataFile, ...] | None:
    """Return the files of Hive partitions, listing only changed ones, or None if all must be listed."""
    if entry.version is None or entry.files is None or entry.partitions is None:
        return None
    if time.monotonic() - entry.listed >= _LIST_SECONDS:
        return None
    if entry.partitions == partitions:
        return entry.files
    before, known = set(entry.partitions), dict[str, list[DataFile]]()
    for file in entry.files:
        known.setdefault(file.partition, []).append(file)
    found = list[DataFile]()
    for one in partitions:
        found += known.get(one.name, ()) if one in before else partition_files(entry.table, [one], catalog)
    return tuple(found)


def files_added_to(
    entry: CacheEntry, partitions: Sequence[HivePartition], catalog: Catalog | None = None
) -> list[DataFile] | None:
    """Return the files added to Hive partitions since `entry` was loaded.

    Return None if anything else has changed, or if all must be listed to know.
    """
    if entry.version is None or entry.files is None or entry.partitions is None:
        return None
    if time.monotonic() - entry.listed >= _LIST_SECONDS or len(partitions) < len(entry.partitions):
        return None
    before = {one.partition_id: one for one in entry.partitions}
    found, num_known = list[DataFile](), 0
    for one in partitions:
        old = before.get(one.partition_id)
        num_known += old is not None
        if old is one or old == one:
            continue
        files = _added_to(entry.table, old, one, catalog)
        if files is None:
            return None
        found += files
    return found if num_known == len(before) else None


def _added_to(
    table: Table, old: HivePartition | None, one: HivePartition, catalog: Catalog | None
) -> Sequence[DataFile] | None:
    """Return the files added to a Hive partition, all of a new one, or None after other changes."""
    if old is None:
        return partition_files(table, [one], catalog)
    if old.newest is None or one.newest is None or replace(old, newest=one.newest) != one:
        return None
    if one.newest <= old.newest:
        return None
    files = _deltas(one.folder(table), old.newest, one.newest, catalog)
    form = partition_format_to_text(one.storage, one.columns)
    return None if files is None else [replace(file, partition=one.name, form=form) for file in files]


def added_files(entry: CacheEntry, newest: int, catalog: Catalog | None = None) -> list[DataFile] | None:
    """Return the files added since `entry` was loaded, up to generation `newest`.

    Return None if only a listing can tell.
    """
    before = entry.newest
    if entry.version is None or entry.files is None or before is None:
        return None
    if newest < before or time.monotonic() - entry.listed >= _LIST_SECONDS:
        return None
    return _deltas(entry.table.location or "", before, newest, catalog)


def _deltas(location: str, after: int, until: int, catalog: Catalog | None) -> list[DataFile] | None:
    """Return the files of the commits after `after`, up to `until`, or None if only a listing can tell."""
    folder = table_folder(location, catalog)
    return folder.deltas(after, until) if isinstance(folder, LoggedFolder) else None


def partitions_to_cache(
    policy: CachePolicy, held: Sequence[str], known: Sequence[str], seen: Sequence[str] | None, needed: Sequence[str]
) -> tuple[str, ...]:
    """Return the Hive partitions to hold now, in order of eviction.

    `held` are those held so far. `known` are all of the table, in order of registration. `seen` are those known at the
    last call, None at first. `needed` are the partitions that a query reads now.

    1. LRU holds those used or registered last. If a query needs more than fit, those already held stay, and its later
       ones do not evict its first ones.
    2. FIFO holds those registered last, regardless of use.
    """
    there = set(known)
    kept = [name for name in held if name in there]
    was_seen, is_held = set(seen or ()), set(kept)
    new = [name for name in known if name not in was_seen and name not in is_held]
    if policy.kind is PolicyKind.FIFO:
        return _last([*kept, *new], policy.limit)
    wanted = set(needed)
    order = [name for name in needed if name in is_held] + [name for name in needed if name not in is_held]
    used = order[: policy.limit]
    others = [name for name in [*kept, *(() if seen is None else new)] if name not in wanted]
    return _last([*others, *used], policy.limit)


def _last(names: list[str], limit: int) -> tuple[str, ...]:
    return tuple(names[max(len(names) - limit, 0) :])


_CONFLICT = "40001"


def durable_dir(state_dir: str, table: Table) -> str | None:
    """Return the folder of a table's durable blocks, or None if it has none.

    Its name depends on the table's form, so that blocks of another form are not found.
    """
    if table.cache_mode is not CacheMode.MEMORY or has_no_files(table):
        return None
    parts: tuple[object, ...] = (table.schema, table.storage)
    if table.buckets is not None:
        parts = (*parts, table.buckets, hash_id())
    form = hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
    return str(Path(state_dir, table.table_id, form))


def publish_durably(version: TableVersion, store: VersionStore, is_synced: bool = True) -> TableVersion:
    """Publish a version under the next free number, as another process may publish the same table.

    If not `is_synced`, `sync_durably` must write it to the disk.
    """
    while True:
        try:
            store.publish(version, is_synced=is_synced)
        except ExecutionError as error:
            latest = store.latest_sequence()
            if error.sqlstate != _CONFLICT or latest is None or latest < version.sequence:
                raise
            version = dataclasses.replace(version, sequence=latest + 1)
        else:
            return version


def sync_durably(directory: str) -> None:
    """Sync the last published version to the disk. If that fails, a later session loads more."""
    with contextlib.suppress(ExecutionError, OSError):
        VersionStore(directory).sync()


def find_durable(entry: CacheEntry, directory: str, locations: Locations) -> TableVersion | None:
    """Return the version that an earlier session stored in the folder, or None if none fits.

    The entry then uses the folder. Raise an error if the folder cannot be read.
    """
    versions = VersionStore(directory, locations)
    try:
        entry.use = entry.use or FolderUse(directory)
        version = versions.load()
        if entry.use.is_alone:
            with contextlib.suppress(ValueError):  # A damaged manifest may need any of them.
                versions.sweep()
    except CorruptionError:
        return None
    except OSError as error:
        if error.errno in UNWRITABLE and not Path(directory).is_dir():
            return None
        raise storage_error(directory, error) from None
    finally:
        if entry.use is not None:
            entry.use.share()
    if version is None or version.schema != entry.table.schema or () in version.origins:
        return None
    return version
