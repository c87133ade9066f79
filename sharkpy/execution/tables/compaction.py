"""Compaction: runs of small neighbouring blocks, left by small appends, are merged into full ones.

It runs immediately or in the background, and then folds the files of the merged blocks.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pyarrow as pa

from sharkpy.base import settings
from sharkpy.base.errors import SharkError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import BLOCK_ROWS, COMPACTION, COMPACTION_BLOCKS, Conf
from sharkpy.catalog.model import Table
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.statistics_table import PackedStatistics
from sharkpy.columnar.store import BlockStore, open_block
from sharkpy.columnar.version import Origins, TableVersion
from sharkpy.execution.tables.block_lineage import BlockLineage
from sharkpy.execution.tables.cached_table import CacheEntry
from sharkpy.execution.tables.file_folding import FileFolding, may_fold
from sharkpy.execution.tables.versions import TableVersions
from sharkpy.sources.folders.generations import is_folded
from sharkpy.values.nested_arrow import cast_table
from sharkpy.values.types import arrow_schema

_FOLDS_AT_ONCE = 4
_STATE_FACTOR = 4
"""Factor for the number of blocks that a state's merge needs, as folds usually merge them sooner."""


class Compactor:
    """Compactor: merges runs of small blocks, one table at a time in the background, and folds their files.

    Blocks of a continuous query's state are merged by its folds, together with the files. If retained epochs delay the
    folds for long, the blocks are merged in memory only.
    """

    def __init__(self, versions: TableVersions, lineage: BlockLineage, folding: FileFolding) -> None:
        self._versions = versions
        self._lineage = lineage
        self._folding = folding
        self._lock = threading.Lock()
        self._background: ThreadPoolExecutor | None = None
        self._written: Counter[tuple[str, str]] = Counter()
        """Number of writes since the files were last folded, by table id and Hive partition."""
        self._left: Counter[str] = Counter()
        """Number of blocks examined because their files had not been folded, by table id."""
        self._folds: dict[str, Future[None]] = {}

    def compact(self, table: Table) -> TableVersion | None:
        """Merge runs of small blocks and publish the new version; readers keep theirs."""
        versions, store = self._versions, self._versions.store
        entry = versions.entry(table)
        version = entry.version
        if version is None:
            return None
        directory = versions.durable_dir(entry.table)
        kept_in = None if entry.table.is_state else directory
        merged: list[MergedBlock] = []
        used: list[MergedBlock] = []
        try:
            for run in self._small_runs(entry.table, version):
                merged.append(merge_run(run, version, store, versions.parts.conf, kept_in))
                self._note_merged(merged[-1])
            with entry.lock:
                if entry.version is not None and directory == versions.durable_dir(entry.table):
                    newer, found = with_merged(entry.version, merged)
                    if found:
                        versions.publish(entry, newer)
                        used = found
        finally:
            store.release([block.handle.block_id for block in merged if block not in used], durable=True)
        store.enforce_limit()
        for block in used:
            self._folding.fold(entry, block.handle, block.origins)
        self._fold_left(entry)
        return entry.version

    def _fold_left(self, entry: CacheEntry) -> None:
        """Fold the files of blocks with many files, which retained epochs had delayed."""
        version, least = entry.version, self._versions.parts.conf.value(COMPACTION_BLOCKS)
        if version is None or not entry.table.continuous:
            return
        many = [place for place, origins in enumerate(version.origins) if len(origins) >= least]
        # Take turns: a Hive partition that is always being written would otherwise never be done.
        first = self._left[entry.table.table_id]
        self._left[entry.table.table_id] += _FOLDS_AT_ONCE
        for number in range(first, first + min(_FOLDS_AT_ONCE, len(many))):
            place = many[number % len(many)]
            self._folding.fold(entry, version.blocks[place], version.origins[place])

    def compact_later(self, entry: CacheEntry) -> None:
        """Compact the table in the background if worthwhile; called under the entry's lock."""
        is_busy = entry.compaction is not None and not entry.compaction.done()
        if entry.version is None or is_busy or not self._versions.parts.conf.value(COMPACTION):
            return
        if self._small_runs(entry.table, entry.version):
            entry.compaction = self._submit(partial(self._try_to_compact, entry.table))

    def fold_later(self, table: Table, partitions: Sequence[str]) -> None:
        """Fold the files of a table that is not in memory in the background, in the written Hive partitions.

        A partition is folded after as many writes as make a fold.
        """
        if not may_fold(table):
            return
        conf, table_id = self._versions.parts.conf, table.table_id
        self._written.update((table_id, one) for one in partitions)
        due = [one for one in partitions if self._written[table_id, one] >= conf.value(COMPACTION_BLOCKS)]
        if not due or not conf.value(COMPACTION):
            return
        known = self._folds.get(table_id)
        if known is None or known.done():
            for one in due:
                del self._written[table_id, one]
            if (begun := self._submit(partial(self._try_to_fold, table, due))) is not None:
                self._folds[table_id] = begun

    def forget(self, table: Table) -> None:
        """Remove the records of a dropped table."""
        for key in [key for key in list(self._written) if key[0] == table.table_id]:
            del self._written[key]
        self._left.pop(table.table_id, None)
        self._folds.pop(table.table_id, None)

    def _submit(self, work: Callable[[], None]) -> Future[None] | None:
        with self._lock:
            if self._background is None:
                self._background = ThreadPoolExecutor(1, thread_name_prefix="sharkpy-compaction")
            with contextlib.suppress(RuntimeError):  # The session is ending.
                return self._background.submit(work)
        return None

    def _try_to_fold(self, table: Table, partitions: Sequence[str]) -> None:
        with contextlib.suppress(SharkError, OSError):
            self._folding.fold_small(table, partitions)

    def settle(self) -> None:
        """Wait for background work."""
        for fold in list(self._folds.values()):
            fold.result()
        for entry in self._versions.all():
            if entry.compaction is not None:
                entry.compaction.result()

    def close(self) -> None:
        """Stop background work."""
        if self._background is not None:
            self._background.shutdown(wait=True, cancel_futures=True)

    def _try_to_compact(self, table: Table) -> None:
        # Small blocks are only slower to read, so a failure is retried after the next append.
        with contextlib.suppress(SharkError, OSError):
            self.compact(table)

    def _small_runs(self, table: Table, version: TableVersion) -> list[range]:
        conf = self._versions.parts.conf
        block_rows, least = conf.value(BLOCK_ROWS), conf.value(COMPACTION_BLOCKS)
        if not table.is_state:
            return small_runs(version, block_rows, least)
        least *= _STATE_FACTOR
        if len(version.blocks) < least:
            return []
        runs = (_after_last_fold(run, version) for run in small_runs(version, block_rows, least))
        return [run for run in runs if len(run) >= least]

    def _note_merged(self, merged: MergedBlock) -> None:
        pieces = [self._lineage.of(block.block_id) for block in merged.replaced]
        if all(pieces):
            self._lineage.note(merged.handle, tuple(itertools.chain.from_iterable(pieces)))


def _after_last_fold(run: range, version: TableVersion) -> range:
    """Shorten the run to the blocks after the last one with rows of folds."""
    folds = [place for place in run if any(is_folded(origin.path) for origin in version.origins[place])]
    return range(folds[-1] + 1 if folds else run.start, run.stop)


_SMALL = 2
"""A block is small if its rows times this are fewer than a full block's."""


@dataclass(frozen=True, slots=True)
class MergedBlock:
    """Block that replaces the blocks `replaced`, with their rows in order."""

    handle: BlockHandle
    statistics: PackedStatistics
    origins: Origins
    replaced: tuple[BlockHandle, ...]


def small_runs(version: TableVersion, block_rows: int, min_blocks: int) -> list[range]:
    """Return runs of at least `min_blocks` small blocks that fit one block.

    Blocks that share a split, and different buckets, are not merged. A run begins with a block that has no more rows
    than all that follow it together. So each row is merged only a few times, however many appends there are.
    """
    if sum(block.num_rows * _SMALL < block_rows for block in version.blocks) < min_blocks:
        return []
    # A block with several origins was merged from whole blocks.
    shared = Counter(origins[0] for origins in version.origins if len(origins) == 1)
    runs: list[range] = []
    start, rows = 0, 0
    buckets = [block.bucket for block in version.blocks]
    for place, (block, origins) in enumerate(zip(version.blocks, version.origins, strict=True)):
        is_small = block.num_rows * _SMALL < block_rows and (len(origins) != 1 or shared[origins[0]] == 1)
        is_alike = place > start and _partitions(origins) == _partitions(version.origins[place - 1])
        is_alike = is_alike and buckets[place] == buckets[place - 1]
        if not is_small or not is_alike or rows + block.num_rows > block_rows:
            runs.append(range(start, place))
            start, rows = (place, 0) if is_small else (place + 1, 0)
        if is_small:
            rows += block.num_rows
    runs.append(range(start, len(version.blocks)))
    rows_of = [block.num_rows for block in version.blocks]
    return [run for run in (_balanced(run, rows_of) for run in runs) if len(run) >= min_blocks]


def _balanced(run: range, rows: Sequence[int]) -> range:
    """Drop the blocks at the run's start that have more rows than all that follow."""
    behind = sum(rows[place] for place in run)
    for place in run:
        behind -= rows[place]
        if rows[place] <= behind:
            return range(place, run.stop)
    return range(run.stop, run.stop)


def _partitions(origins: Origins) -> set[str]:
    """Return the Hive partition of a block with origins as a set of one; without origins, the empty set."""
    return {origin.partition for origin in origins}


def merge_run(run: range, version: TableVersion, store: BlockStore, conf: Conf, durable_dir: str | None) -> MergedBlock:
    """Write the merged block, not published yet. Raise CorruptionError naming a block that must be repaired first."""
    from sharkpy.columnar.block import encode_block

    replaced = tuple(version.blocks[place] for place in run)
    schema = version.schema
    tables = [open_block(handle).read(schema.names, decoded=True) for handle in replaced]
    rows = pa.concat_tables([cast_table(table, arrow_schema(schema)) for table in tables])
    encoded = encode_block(rows, schema, force_encoding=conf.value(settings.FORCE_ENCODING))
    origins = tuple(origin for place in run for origin in version.origins[place])
    handle = replace(store.writer().write(encoded, durable_dir), bucket=replaced[0].bucket)
    store.adopt([handle])
    return MergedBlock(handle, encoded.statistics, origins, replaced)


def with_merged(version: TableVersion, merged: Sequence[MergedBlock]) -> tuple[TableVersion, list[MergedBlock]]:
    """Put merged blocks into `version` if their parts are still in it. Return it and the blocks used."""
    used = []
    for block in merged:
        ids = [part.block_id for part in block.replaced]
        places = [place for place, held in enumerate(version.blocks) if held.block_id == ids[0]]
        first = places[0] if places else 0
        if [held.block_id for held in version.blocks[first : first + len(ids)]] == ids:
            version = version.with_merged(first, len(ids), block.handle, block.statistics, block.origins)
            used.append(block)
    return version, used
