"""State of a table in memory, and the parts of the engine that such tables use."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from sharkpy.base.errors import ExecutionError
from sharkpy.base.settings import Conf
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Table
from sharkpy.columnar.block_folders import FolderUse
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.version import Origins, TableVersion, VersionStore
from sharkpy.sources.layout import DataFile
from sharkpy.sources.source import ReadMetrics

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.execution.engine import Engine
    from sharkpy.execution.tables.staged_blocks import StagedBlocks


class EngineParts(Protocol):
    """Parts of an engine that its cached tables use."""

    @property
    def conf(self) -> Conf: ...

    @property
    def engine(self) -> Engine: ...

    @property
    def catalog(self) -> Catalog: ...


@dataclass(slots=True)
class Entry:
    """State of a cached table; changed only under `lock`."""

    table: Table
    lock: threading.RLock = field(default_factory=threading.RLock)
    version: TableVersion | None = None
    files: tuple[DataFile, ...] | None = None
    newest: int | None = None
    """Last generation in `files`, if generations say which files are committed."""
    partitions: tuple[HivePartition, ...] | None = None
    """Hive partitions of `files`, if these say which files are committed."""
    listed: float = -math.inf
    """Time of the last listing, by the monotonic clock."""
    kept: tuple[tuple[str, Origins], ...] | None = None
    """Block ids and origins of the version on disk; None if unknown."""
    use: FolderUse | None = None
    manifests: VersionStore | None = None
    """Store in which versions are published; None before the first."""
    compaction: Future[None] | None = None
    held: tuple[str, ...] | None = None
    """Hive partitions in memory under a cache policy, in order of eviction; None: the partitions of `version`."""
    seen: tuple[str, ...] | None = None
    """All Hive partitions when `held` was decided."""
    metrics: ReadMetrics = field(default_factory=ReadMetrics)
    staged: list[StagedBlocks] = field(default_factory=list)
    """Blocks of uncommitted files, made or being made. Writes add and remove theirs without the lock."""


def form_of(table: Table) -> tuple[object, ...]:
    """Return the properties that a table's blocks depend on, apart from its files."""
    return table.schema, table.storage, table.cache_mode, table.buckets


def is_blocks_alone(table: Table) -> bool:
    """True if the table has no files."""
    return table.location is None and table.is_stored


def version_of_blocks(entry: Entry) -> TableVersion:
    """Return the version of a table without files. Raise ExecutionError if its session has ended."""
    if entry.version is None:
        raise ExecutionError(f'table "{entry.table.name}" is in memory only and its session has ended')
    return entry.version


def blocks_with_origins(version: TableVersion) -> Iterable[tuple[BlockHandle, Origins]]:
    return zip(version.blocks, version.origins, strict=True)
