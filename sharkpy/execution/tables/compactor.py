"""Compaction of cached tables, at once or in the background."""

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
"""Times as many blocks of a state are merged as of another table: folds put them together sooner, if few epochs are
kept.
"""


class Compactor:
    """Compactor: publishes versions with merged runs of small blocks, one table at a time in the background. The files
    that a merged block was made from are folded, too.

    Of the state of a continuous query that is otherwise: its folds merge blocks together with files. Blocks of epochs
    that these leave for long, since they are kept, are merged in memory alone.
    """

    def __init__(self, versions: TableVersions, lineage: BlockLineage, folding: FileFolding) -> None:
        self._versions = versions
        self._lineage = lineage
        self._folding = folding
        self._lock = threading.Lock()
        self._background: ThreadPoolExecutor | None = None
        self._written: Counter[tuple[str, str]] = Counter()
        """Writes into tables, by id, and their Hive partitions since the files of these were folded."""
        self._left: Counter[str] = Counter()
        """Blocks of tables, by id, that were looked at because their files had not been folded."""
        self._folds: dict[str, Future[None]] = {}

    def compact(self, table: Table) -> TableVersion | None:
        """Publish a version with merged runs of small blocks; readers keep theirs."""
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
        """Fold what blocks of many files were made from: epochs that were kept have held that back."""
        version, least = entry.version, self._versions.parts.conf.value(COMPACTION_BLOCKS)
        if version is None or not entry.table.continuous:
            return
        many = [place for place, origins in enumerate(version.origins) if len(origins) >= least]
        # Each comes to its turn: those of a Hive partition that is written all the time are never without new files.
        first = self._left[entry.table.table_id]
        self._left[entry.table.table_id] += _FOLDS_AT_ONCE
        for number in range(first, first + min(_FOLDS_AT_ONCE, len(many))):
            place = many[number % len(many)]
            self._folding.fold(entry, version.blocks[place], version.origins[place])

    def compact_later(self, entry: Entry) -> None:
        """Compact the table in the background, if that is worth while. Called under the entry's lock."""
        is_busy = entry.compaction is not None and not entry.compaction.done()
        if entry.version is None or is_busy or not self._versions.parts.conf.value(COMPACTION):
            return
        if self._small_runs(entry.table, entry.version):
            entry.compaction = self._submit(partial(self._try_to_compact, entry.table))

    def fold_later(self, table: Table, partitions: Sequence[str]) -> None:
        """Fold the files of a table that is not in memory, in the folders of Hive partitions that were written, each
        time that so many writes have left some there as make a fold.
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
        """Forget a table that was dropped."""
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
        """End background work."""
        if self._background is not None:
            self._background.shutdown(wait=True, cancel_futures=True)

    def _try_to_compact(self, table: Table) -> None:
        # Small blocks are slower to read and nothing worse: whatever fails is tried again after the next append.
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
    """The run without blocks that have rows of folds."""
    folds = [place for place in run if any(is_folded(origin.path) for origin in version.origins[place])]
    return range(folds[-1] + 1 if folds else run.start, run.stop)
