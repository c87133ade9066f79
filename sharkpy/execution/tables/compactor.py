"""Compaction of cached tables, immediately or in the background."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from sharkpy.base.errors import SharkError
from sharkpy.base.settings import BLOCK_ROWS, COMPACTION, COMPACTION_BLOCKS
from sharkpy.catalog.model import Table
from sharkpy.columnar.version import TableVersion
from sharkpy.execution.tables.block_lineage import BlockLineage
from sharkpy.execution.tables.compaction import MergedBlock, merge_run, small_runs, with_merged
from sharkpy.execution.tables.entry import Entry
from sharkpy.execution.tables.file_folding import FileFolding, may_fold
from sharkpy.execution.tables.versions import TableVersions
from sharkpy.sources.folders.generations import is_folded

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

    def _fold_left(self, entry: Entry) -> None:
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

    def compact_later(self, entry: Entry) -> None:
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
        runs = (_behind_folds(run, version) for run in small_runs(version, block_rows, least))
        return [run for run in runs if len(run) >= least]

    def _note_merged(self, merged: MergedBlock) -> None:
        pieces = [self._lineage.of(block.block_id) for block in merged.replaced]
        if all(pieces):
            self._lineage.note(merged.handle, tuple(itertools.chain.from_iterable(pieces)))


def _behind_folds(run: range, version: TableVersion) -> range:
    """Shorten the run to the blocks after the last one with rows of folds."""
    folds = [place for place in run if any(is_folded(origin.path) for origin in version.origins[place])]
    return range(folds[-1] + 1 if folds else run.start, run.stop)
