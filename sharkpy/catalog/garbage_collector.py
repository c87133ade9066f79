"""Deletion of the folders of dropped tables and Hive partitions, after their readers have left, and of expired
versions.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import CancelledError, SharkError
from sharkpy.catalog.readable_catalog import ReadableCatalog
from sharkpy.catalog.trash import Leavings, remove_file

if TYPE_CHECKING:
    from sharkpy.catalog.continuous_query import ContinuousQuery
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.table_folders import TableFolders
    from sharkpy.catalog.table_history import Retention

_GARBAGE_BATCH = 256
_PURGE_SECONDS = 60.0
"""Seconds between two looks for dropped tables whose retention is over."""
_log = logging.getLogger(__name__)


class GarbageCollector(ReadableCatalog):
    """Catalog that deletes what was dropped.

    `garbage` has the folders of dropped tables until they are deleted, so that a killed DROP cannot leave rows to a
    later table of the same name.
    """

    _next_purge = 0.0
    """Time of the next look for dropped tables whose retention is over, by the monotonic clock."""

    @contextmanager
    def transaction(self, *, is_durable: bool = False) -> Iterator[None]:
        """Run a transaction: changes in it are committed together or not at all. Other writers wait.
        Transactions nest. `is_durable`: a loss of power after it does not undo it.
        """
        with self._lock, self._file.transaction(is_durable=is_durable), self._store.transaction():
            yield

    def has_earlier_versions(self) -> bool:
        """True if tables were dropped or have files that no current row needs, which may be deleted one day."""
        dropped = "EXISTS (SELECT 1 FROM dropped_) OR EXISTS (SELECT 1 FROM garbage)"
        row = self._file.row(f"SELECT {dropped} OR EXISTS (SELECT 1 FROM file_ WHERE removed IS NOT NULL)")
        return row is not None and bool(row[0])

    def forget_expired(self, table: Table) -> int:
        """Make the versions of a table unavailable whose retention is over. Return the oldest version that is left.

        For a table without a history, only the current rows are left.
        """
        if not self.has_history(table):
            return 1 << 62
        oldest = self.oldest_retained(table, self.surroundings.retention(table))
        self.history.forget_before(table.base_id, oldest)
        return oldest

    def oldest_retained(self, table: Table, retention: Retention) -> int:
        """Return the oldest version that a table retains. Streams of its changes need the versions from the last commit
        on that they have read, for the retention's `unread_seconds`.
        """
        oldest = self.history.oldest_retained(table.base_id, retention)
        known = (self.current_table(one) for one in self.streams.fed_by(table.base_id))
        if not (streams := [one.table_id for one in known if one is not None and one.follows_changes]):
            return oldest
        queries = self.streams.queries()
        wanted = min(self._last_read(one, queries) for one in streams)
        return min(oldest, max(wanted, self.history.last_older_than(retention.unread_seconds)))

    def _last_read(self, stream: str, queries: Sequence[ContinuousQuery]) -> int:
        """Return the last commit that all queries of a stream of changes have read; at first, that of its start."""
        start = self.streams.end(stream) - 1
        offsets = [one.offset(stream) or dict(one.start).get(stream, ()) for one in queries if stream in one.streams]
        return min((max(start, offset[0] - 1) if offset else start for offset in offsets), default=start)

    def forget_dropped_partition(self, table: Table, folder: str) -> bool:
        """Forget the folder of a dropped Hive partition that has no files left. Return False if it is still in use."""
        with self.transaction():
            is_used = any(one.folder(table) == folder for one in self.partitions(table))
            return not is_used and self.log.forget_empty(folder)

    def purge(self, table: Table) -> None:
        """Forget a dropped table. Its folders in the warehouse become garbage."""
        with self.transaction():
            for folder in (table.location or "", *(one.folder(table) for one in self.partitions(table))):
                if uri.below(folder, self.warehouse_dir) is not None:
                    self._file.add_garbage(folder)
            self.dropped.forget(table)
            self.streams.forget_source(table.table_id)

    def clear_garbage(self, path: str) -> None:
        """Remove garbage of dropped tables and Hive partitions at `path` and in its parents, before data is put there.
        Raise an error if that fails in a remote folder.
        """
        around = "SELECT folder FROM garbage WHERE folder = ? OR substr(?, 1, length(folder) + 1) = folder || '/'"
        stored = self.locations.stored(uri.normalized(path))
        with self._lock, self._store.transaction():
            for (folder,) in self._file.rows(around, stored, stored):
                self._clear_garbage(self.locations.absolute(folder))
        self.trash.empty()

    def keep_garbage(self, path: str) -> bool:
        """Keep the files of a dropped Hive partition at `path` if they may be read: new data has to hide them.

        Return False if nothing has to be kept, or nothing can hide it since no log names the files. Call this inside a
        transaction.
        """
        stored = self.locations.stored(uri.normalized(path))
        if self.log.find(path) is None or not self._is_garbage(path):
            return False
        if not any(map(self.readers.is_read, (path, *uri.parents(path)))):
            return False
        self._file.run("DELETE FROM garbage WHERE folder = ?", stored)
        return True

    def collect_garbage(self, *, is_local: bool = False) -> None:
        """Delete the folders of dropped tables, or only local ones. Folders that are being read, or cannot be deleted
        now, stay listed.
        """
        if time.monotonic() >= self._next_purge:
            self._next_purge = time.monotonic() + _PURGE_SECONDS
            for one in self.dropped.expired(self.surroundings.retention):
                self.purge(one)
        rows = self._file.rows("SELECT folder FROM garbage")
        # A table's folder comes before the folders of its Hive partitions in it.
        waiting = sorted(self.locations.absolute(folder) for (folder,) in rows)
        local = [path for path in waiting if not uri.is_remote(path)]
        # Each transaction is synced to disk: one per Hive partition would take seconds for thousands of them.
        for start in range(0, len(local), _GARBAGE_BATCH):
            self._collect(local[start : start + _GARBAGE_BATCH])
        if local:
            self.trash.empty()
        if not is_local:
            self._collect_remote([path for path in waiting if uri.is_remote(path)])

    def _collect_remote(self, waiting: Sequence[str]) -> None:
        """Collect remote folders one by one, since each may take long. Stop at the first failure."""
        gone = ""
        for path in waiting:
            if gone and uri.below(path, gone) is not None:
                self._file.run("DELETE FROM garbage WHERE folder = ?", self.locations.stored(path))
                continue
            try:
                self._collect([path], self._remove_data(path))
            except CancelledError:
                raise
            except SharkError as error:
                _log.warning('what was dropped in "%s" could not be deleted: %s', uri.redacted(path), error)
                return
            gone = path

    def _remove_data(self, path: str) -> Collection[str]:
        """Remove the data files in a dropped remote folder, which may be many, while other statements change the
        catalog.

        Files that are added meanwhile have other names. `_collect` removes the rest. It gets the returned list of
        removed files in other folders, which are files of Hive partitions.
        """
        if self.is_shared:
            return ()
        from sharkpy.catalog.table_folders import TableFolders

        with self._lock, self._store.transaction():
            is_read = any(map(self.readers.is_read, (path, *uri.parents(path))))
            if is_read or not self._is_garbage(path) or TableFolders(self).folder_inside(path) is not None:
                return ()
            remove = self.surroundings.removal_of_data(path, self.log.shared(path)[0])
        return remove()

    def _is_garbage(self, path: str) -> bool:
        stored = self.locations.stored(uri.normalized(path))
        return self._file.row("SELECT folder FROM garbage WHERE folder = ?", stored) is not None

    def _collect(self, waiting: Sequence[str], removed: Collection[str] = ()) -> None:
        from sharkpy.catalog.table_folders import TableFolders

        with self._lock, self._store.transaction():
            taken = TableFolders(self)
            is_read = functools.cache(self.readers.is_read)
            for path in waiting:
                folders = () if self.is_shared else (path, *uri.parents(path))
                if not any(map(is_read, folders)):
                    self._clear_garbage(path, taken, removed)

    def _clear_garbage(self, path: str, taken: TableFolders | None = None, removed: Collection[str] = ()) -> None:
        """Move a dropped table's folder away, then forget it. Call this inside a transaction.

        A folder stays if it contains another table's folder, or belongs to another managed table too.
        """
        if not self._is_garbage(path):
            return
        from sharkpy.catalog.table_folders import TableFolders

        is_others = (taken or TableFolders(self)).folder_inside(path) is not None
        if is_others or self._take(path, removed) or self.is_shared:
            self._file.run("DELETE FROM garbage WHERE folder = ?", self.locations.stored(uri.normalized(path)))

    def _take(self, path: str, removed: Collection[str]) -> bool:
        """Remove a folder with its files elsewhere, except files that other folders' rows name, too. A local folder is
        moved away if it has none of these. Return False if some files are still there.
        """
        kept, elsewhere = self.log.shared(path)
        if uri.is_remote(path):
            leavings = Leavings(frozenset(removed), frozenset(kept), frozenset(elsewhere))
            self.surroundings.remove_folder(path, leavings)
        elif not (self.trash.take_except(path, kept) if kept else self.trash.take(path)):
            return False
        else:
            for one in elsewhere:
                remove_file(one)
        self.log.forget_below(path)
        return True
