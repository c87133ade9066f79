"""State of one table in memory, and the parts of the engine that all such tables use."""

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
from sharkpy.columnar.folder_use import FolderUse
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.version import Origins, TableVersion, VersionStore
from sharkpy.sources.layout import DataFile
from sharkpy.sources.metrics import ReadMetrics

if TYPE_CHECKING:
    from sharkpy.catalog.store import Catalog
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
    """State of one cached table. Changed under `lock` only."""

    table: Table
    lock: threading.RLock = field(default_factory=threading.RLock)
    version: TableVersion | None = None
    files: tuple[DataFile, ...] | None = None
    newest: int | None = None
    """Last generation that `files` have, where that says which files count."""
    partitions: tuple[HivePartition, ...] | None = None
    """Hive partitions that `files` have, where these say which files count."""
    listed: float = -math.inf
    """When the files were listed, by the monotonic clock."""
    kept: tuple[tuple[str, Origins], ...] | None = None
    """Blocks of the version that is on the disk, by their ids, with their origins; None: it is not known."""
    use: FolderUse | None = None
    manifests: VersionStore | None = None
    """Where versions are published; None before the first one."""
    compaction: Future[None] | None = None
    held: tuple[str, ...] | None = None
    """Hive partitions in memory under a cache policy, the first to go first. None: those of `version`."""
    seen: tuple[str, ...] | None = None
    """All Hive partitions when `held` was decided."""
    metrics: ReadMetrics = field(default_factory=ReadMetrics)
    staged: list[StagedBlocks] = field(default_factory=list)
    """Blocks of files that do not count yet, made or being made. Writes add and remove theirs without the lock."""


def form_of(table: Table) -> tuple[object, ...]:
    """What the blocks of a table depend on beside its files."""
    return table.schema, table.storage, table.cache_mode, table.buckets


def is_blocks_alone(table: Table) -> bool:
    """True if the table has no files."""
    return table.location is None and table.is_stored


def version_of_blocks(entry: Entry) -> TableVersion:
    """Version of a table that is blocks alone."""
    if entry.version is None:
        raise ExecutionError(f'table "{entry.table.name}" is in memory only and its session has ended')
    return entry.version


def blocks_with_origins(version: TableVersion) -> Iterable[tuple[BlockHandle, Origins]]:
    return zip(version.blocks, version.origins, strict=True)
