"""Log of the files of tables: which files hold the rows of a folder, from which commit on, and up to which.

A commit is a transaction of the catalog that changes the files of tables. Its number is the version of all of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import BindError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.table_history import commit_of

if TYPE_CHECKING:
    from sharkpy.catalog.database_file import CatalogFile
    from sharkpy.catalog.hive_partition import HivePartition
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.table_history import TableHistory

FILE_LOG_TABLES = (
    "CREATE TABLE commit_ (commit_id INTEGER PRIMARY KEY AUTOINCREMENT, time_ms INTEGER NOT NULL,"
    " author TEXT NOT NULL DEFAULT '', statement TEXT NOT NULL DEFAULT '')",
    "CREATE INDEX commit_time ON commit_ (time_ms)",
    "CREATE TABLE folder_ (folder_id INTEGER PRIMARY KEY, folder TEXT UNIQUE NOT NULL, newest INTEGER NOT NULL,"
    " rewritten INTEGER NOT NULL, table_id TEXT NOT NULL DEFAULT '')",
    "CREATE INDEX folder_table ON folder_ (table_id)",
    "CREATE TABLE file_ (file_id INTEGER PRIMARY KEY, folder_id INTEGER NOT NULL, position INTEGER NOT NULL,"
    " added INTEGER NOT NULL, removed INTEGER, path TEXT NOT NULL, size_bytes INTEGER NOT NULL,"
    " modified_ns INTEGER NOT NULL, num_rows INTEGER, tag TEXT NOT NULL DEFAULT '')",
    "CREATE INDEX file_now ON file_ (folder_id, position, file_id) WHERE removed IS NULL",
    "CREATE INDEX file_removed ON file_ (folder_id, removed) WHERE removed IS NOT NULL",
    "CREATE INDEX file_added ON file_ (folder_id, added)",
    "CREATE INDEX file_path ON file_ (path)",
)
"""`folder_.newest` is the last commit that has changed the folder's rows, `rewritten` the last one that replaced them.
`table_id` is the table whose history has these commits. It is empty for a continuous query's folder, which has epochs.

`file_.path` is stored like all locations. Several rows may name a file: of a version that was restored, of a clone, and
of Hive partitions that have moved. The rows of a table are the rows of its files, ordered by `position`, then by
`file_id`. A file is one of commit n's if `added` <= n < `removed`; without `removed`, it is a current one.
"""

_ALL = 1 << 62


@dataclass(frozen=True, slots=True)
class LoggedFile:
    """A file of a folder. `position` is the commit of its first rows, `added` the commit of its last ones.

    `path` is absolute, or a URI. `num_rows` is None if its writer did not count its rows. `tag`: see `DataFile`.
    """

    path: str
    size_bytes: int
    modified_ns: int
    num_rows: int | None = None
    tag: str = ""
    position: int = 0
    added: int = 0


class FileLog:
    """The catalog's rows about files of logged folders. Changes join the transaction of the catalog.

    1. A folder is logged from `begin` on. Folders without a log are listed.
    2. No reader sees a change before its transaction commits, and a transaction that fails has changed nothing.
    3. A file stays in its place, whatever folder names it, until no row names it (`release`).
    4. A fold replaces files by files with the same rows. It makes no commit: its files count from the commit of their
       last rows on, and the replaced files up to that commit.
    """

    def __init__(self, file: CatalogFile, history: TableHistory) -> None:
        self._file = file
        self._history = history

    def find(self, folder: str) -> int | None:
        """Return the id of a logged folder, or None for other folders."""
        row = self._file.row("SELECT folder_id FROM folder_ WHERE folder = ?", self._stored(folder))
        return None if row is None else int(row[0])

    def begin(self, folder: str, table_id: str) -> None:
        """Log a folder, which has no rows yet. `table_id`: see `FILE_LOG_TABLES`."""
        sql = "INSERT INTO folder_ VALUES (NULL, ?, 0, 0, ?) ON CONFLICT DO UPDATE SET table_id = excluded.table_id"
        self._file.run(sql, self._stored(folder), table_id)

    def adopt(self, folder: str, table_id: str, files: Iterable[LoggedFile], newest: int | None = None) -> None:
        """Log a folder with files whose commits are given. `newest`: the last commit that counts, if it is known."""
        given = list(files)
        last = max((one.added for one in given), default=0) if newest is None else newest
        with self._file.transaction():
            self._file.run("INSERT INTO folder_ VALUES (NULL, ?, ?, ?, ?)", self._stored(folder), last, last, table_id)
            if (folder_id := self.find(folder)) is not None:
                for one in given:
                    self._insert(folder_id, [one], one.position, one.added)
            row = self._file.row("SELECT seq FROM sqlite_sequence WHERE name = 'commit_'")
            if last > (0 if row is None else row[0]):
                now = time.time_ns() // 1_000_000
                self._file.run("INSERT INTO commit_ (commit_id, time_ms) VALUES (?, ?)", last, now)

    def owner(self, folder: str) -> str | None:
        """Return the id of the table whose history has a folder's commits: empty if none has, and None for a folder
        without a log.
        """
        row = self._file.row("SELECT table_id FROM folder_ WHERE folder = ?", self._stored(folder))
        return None if row is None else str(row[0])

    def move(self, folder: str, target: str, home: str = "") -> None:
        """Note that a folder was renamed, with the folders below it. `home`: folder of the table that it belongs to
        now, if that is another one.
        """
        self.forget_below(target)
        below, names = self._below(folder)
        for one in ("folder_", "past_partition_"):
            sql = f"UPDATE {one} SET folder = ? || substr(folder, ?) WHERE {below}"
            self._file.run(sql, self._stored(target), len(names[0]) + 1, *names)
        if home and (table_id := self.owner(home)) is not None:
            self._file.run("UPDATE folder_ SET table_id = ? WHERE folder = ?", table_id, self._stored(target))

    def _table_of(self, folder_id: int) -> str:
        row = self._file.row("SELECT table_id FROM folder_ WHERE folder_id = ?", folder_id)
        return "" if row is None else str(row[0])

    def forget_below(self, folder: str) -> None:
        """Forget a folder and the folders below it, whose files were removed."""
        below, names = self._below(folder)
        chosen = f"SELECT folder_id FROM folder_ WHERE {below}"
        self._file.run(f"DELETE FROM file_ WHERE folder_id IN ({chosen})", *names)
        self._file.run(f"DELETE FROM folder_ WHERE {below}", *names)

    def _below(self, folder: str) -> tuple[str, tuple[str, str, str]]:
        """Return the condition for a folder and the folders below it, and its parameters."""
        stored = self._stored(folder)
        # "0" is the next character after "/".
        return "(folder = ? OR (folder > ? AND folder < ?))", (stored, f"{stored}/", f"{stored}0")

    def newest(self, folder_id: int) -> int:
        """Return the last commit that has changed the folder's rows; 0 for none."""
        row = self._file.row("SELECT newest FROM folder_ WHERE folder_id = ?", folder_id)
        return 0 if row is None else int(row[0])

    def files(self, folder_id: int, at: int | None = None) -> list[LoggedFile]:
        """Return the files of a folder in the order of their rows, currently or after the commit `at`."""
        if at is None:
            return self._found("folder_id = ? AND removed IS NULL", folder_id)
        is_then = "folder_id = ? AND added <= ? AND (removed IS NULL OR removed > ?)"
        return self._found(is_then, folder_id, at, at)

    def added(self, folder_id: int, after: int, until: int) -> list[LoggedFile] | None:
        """Return the files of commits after `after`, up to `until`.

        Return None if these commits have replaced or removed files, or some of their files are folded.
        """
        row = self._file.row("SELECT rewritten FROM folder_ WHERE folder_id = ?", folder_id)
        if row is None or row[0] > after:
            return None
        # A later fold may have files of these commits, and of commits after `until`. The plus sign keeps SQLite from
        # searching all files by position.
        is_then = "folder_id = ? AND added > ? AND +position <= ? AND removed IS NULL"
        found = self._found(is_then, folder_id, after, until)
        return None if any(one.position != one.added for one in found) else found

    def files_added(self, folder_id: int, commit: int) -> list[LoggedFile]:
        """Return the files that a commit has added, even if they are folded or removed by now."""
        return self._found("folder_id = ? AND added = ? AND +position = added", folder_id, commit)

    def require_added(self, table: Table, commit: int) -> None:
        """Raise BindError 22023 if the log does not have all files that a commit has added to a table."""
        folders = "SELECT folder_id FROM folder_ WHERE table_id = ?"
        sql = f"SELECT count(*) FROM file_ WHERE folder_id IN ({folders}) AND added = ? AND +position = added"
        (number,) = self._file.row(sql, table.base_id, commit) or (0,)
        if number != self._history.files_added(table.base_id, commit):
            message = f"the rows that commit {commit} has added to {table.qualified_name} are not available"
            raise BindError(message, hint="their files are folded, or in another table by now", sqlstate="22023")

    def require_logged(self, table: Table, partitions: Iterable[HivePartition]) -> None:
        """Raise UnsupportedError if one of the Hive partitions of a table's earlier version is in a folder without a
        log.
        """
        if table.as_of is None or table.continuous:
            return
        for one in partitions:
            if self.find(folder := one.folder(table)) is None:
                place = uri.redacted(folder)
                message = f'an earlier version of {table.qualified_name}, whose partition {one.name} is in "{place}"'
                raise UnsupportedError(message, hint="changes of this folder are not recorded")

    def files_of(self, folder_id: int, commit: int) -> list[LoggedFile]:
        """Return the current files whose last rows are of a commit."""
        return self._found("folder_id = ? AND added = ? AND removed IS NULL", folder_id, commit)

    def has_files(self, place: str) -> bool:
        """True if the log names files below a place."""
        stored = self._stored(place)
        sql = "SELECT 1 FROM file_ WHERE path > ? AND path < ? LIMIT 1"
        return self._file.row(sql, f"{stored}/", f"{stored}0") is not None

    def names(self, path: str) -> bool:
        """True if the log names a file."""
        return self._file.row("SELECT 1 FROM file_ WHERE path = ? LIMIT 1", self._stored(path)) is not None

    def named(self, place: str) -> set[str]:
        """Return the files below a place that the log names."""
        stored, absolute = self._stored(place), self._absolute
        rows = self._file.rows("SELECT path FROM file_ WHERE path > ? AND path < ?", f"{stored}/", f"{stored}0")
        return {absolute(path) for (path,) in rows}

    def commit(self, folder_id: int, files: Iterable[LoggedFile], *, overwrite: bool) -> int:
        """Add files to a folder, or replace all of its files. Return the transaction's commit."""
        with self._file.transaction():
            number, given = commit_of(self._file), list(files)
            removed: tuple[int, int | None] = (0, 0)
            if overwrite:
                # Files that this very transaction has added never count for anyone.
                fresh = "DELETE FROM file_ WHERE folder_id = ? AND added = ? AND removed IS NULL"
                self._file.run(fresh, folder_id, number)
                removed = self._counts(folder_id)
                sql = "UPDATE file_ SET removed = ? WHERE folder_id = ? AND removed IS NULL"
                self._file.run(sql, number, folder_id)
                self._file.run("UPDATE folder_ SET rewritten = ? WHERE folder_id = ?", number, folder_id)
            newest = "UPDATE folder_ SET newest = ? WHERE folder_id = ? RETURNING table_id"
            self._insert(folder_id, given, number, number)
            for (table_id,) in filter(any, self._file.rows(newest, number, folder_id)):
                rows = [one.num_rows for one in given]
                num_rows = None if None in rows else sum(filter(None, rows))
                self._history.note(table_id, (len(given), num_rows), removed)
            return number

    def _counts(self, folder_id: int, first: int = 0, last: int = 1 << 62) -> tuple[int, int | None]:
        """Return the number of current files at some positions, and of their rows if all are counted."""
        sql = "SELECT count(*), count(num_rows), sum(num_rows) FROM file_ WHERE folder_id = ? AND removed IS NULL"
        row = self._file.row(f"{sql} AND position BETWEEN ? AND ?", folder_id, first, last)
        num_files, num_counted, num_rows = row or (0, 0, 0)
        return num_files, (num_rows or 0) if num_counted == num_files else None

    def fold(self, folder_id: int, first: int, last: int, files: Iterable[LoggedFile]) -> None:
        """Replace the current files at the positions from `first` to `last` by files with the same rows."""
        sql = "UPDATE file_ SET removed = ? WHERE folder_id = ? AND removed IS NULL AND position BETWEEN ? AND ?"
        with self._file.transaction():
            _, num_rows = self._counts(folder_id, first, last)
            given = list(files)
            if len(given) == 1 and self._table_of(folder_id):
                given = [replace(given[0], num_rows=num_rows)]
            self._file.run(sql, last, folder_id, first, last)
            self._insert(folder_id, given, first, last)

    def refresh_times(self) -> None:
        """Record the times of all files again, since a copy of a warehouse may not keep them."""
        for file_id, path, size_bytes, modified_ns in self._file.rows(
            "SELECT file_id, path, size_bytes, modified_ns FROM file_"
        ):
            with suppress(OSError):
                status = os.stat(self._absolute(path))  # noqa: PTH116  there may be many
                if status.st_size == size_bytes and status.st_mtime_ns != modified_ns:
                    change = "UPDATE file_ SET modified_ns = ? WHERE file_id = ?"
                    self._file.run(change, status.st_mtime_ns, file_id)

    def removed(self, folder_id: int, until: int | None = None) -> set[str]:
        """Return the paths of files that no current row needs, of the commits up to `until`."""
        sql = "SELECT path FROM file_ WHERE folder_id = ? AND removed IS NOT NULL AND removed <= ?"
        rows = self._file.rows(sql, folder_id, _ALL if until is None else until)
        return {self._absolute(path) for (path,) in rows}

    def unneeded(self, folder: str, until: int) -> list[LoggedFile]:
        """Return the files that only commits up to `until` of a folder need, by path."""
        other = "other.path = file_.path AND (other.folder_id <> file_.folder_id OR other.removed IS NULL"
        others = f"SELECT 1 FROM file_ other WHERE {other} OR other.removed > ?)"
        of_folder = "folder_id = ? AND removed IS NOT NULL AND removed <= ?"
        found = self._found(f"{of_folder} AND NOT EXISTS ({others})", self.find(folder), until, until)
        return sorted({one.path: one for one in found}.values(), key=lambda one: one.path)

    def release(self, folder_id: int, paths: Iterable[str], until: int | None = None) -> list[str]:
        """Forget files that `removed` has returned if other rows of the log name them, too. Return the other files,
        which are to be deleted, and then to be forgotten by `forget_removed`.
        """
        last, found = _ALL if until is None else until, list[str]()
        ours = "folder_id = ? AND removed IS NOT NULL AND removed <= ?"
        with self._file.transaction():
            for path in paths:
                stored = self._stored(path)
                if self._file.row(f"SELECT 1 FROM file_ WHERE path = ? AND NOT ({ours})", stored, folder_id, last):
                    self._file.run(f"DELETE FROM file_ WHERE path = ? AND {ours}", stored, folder_id, last)
                else:
                    found.append(path)
        return found

    def shared(self, folder: str) -> tuple[set[str], set[str]]:
        """Return the files below a folder that rows of other folders name, and the files elsewhere that only rows of
        this folder and the folders below it name.
        """
        below, names = self._below(folder)
        ours = f"SELECT folder_id FROM folder_ WHERE {below}"
        inside = f"path > ? AND path < ? AND folder_id NOT IN ({ours})"
        kept = self._file.rows(f"SELECT path FROM file_ WHERE {inside}", *names[1:], *names)
        elsewhere = f"folder_id IN ({ours}) AND NOT (path > ? AND path < ?)"
        others = f"SELECT 1 FROM file_ other WHERE other.path = file_.path AND other.folder_id NOT IN ({ours})"
        sql = f"SELECT path FROM file_ WHERE {elsewhere} AND NOT EXISTS ({others})"
        gone, absolute = self._file.rows(sql, *names, *names[1:], *names), self._absolute
        return {absolute(path) for (path,) in kept}, {absolute(path) for (path,) in gone}

    def folders(self, table_id: str) -> set[str]:
        """Return the paths of a table's folders."""
        rows = self._file.rows("SELECT folder FROM folder_ WHERE table_id = ?", table_id)
        return {self._absolute(folder) for (folder,) in rows}

    def changed_folders(self, table_id: str, after: int, until: int) -> set[str]:
        """Return the paths of a table's folders with files of commits after `after`, up to `until`, or files that were
        removed by them.
        """
        some = "SELECT 1 FROM file_ WHERE file_.folder_id = folder_.folder_id AND {0} > ? AND {0} <= ?"
        either = " OR ".join(f"EXISTS ({some.format(name)})" for name in ("added", "removed"))
        sql = f"SELECT folder FROM folder_ WHERE table_id = ? AND ({either})"
        rows = self._file.rows(sql, table_id, after, until, after, until)
        return {self._absolute(folder) for (folder,) in rows}

    def tables_to_sweep(self) -> list[str]:
        """Return the ids of tables with files that no current row needs."""
        removed = "SELECT folder_id FROM file_ WHERE removed IS NOT NULL"
        rows = self._file.rows(f"SELECT DISTINCT table_id FROM folder_ WHERE folder_id IN ({removed})")
        return [table_id for (table_id,) in rows if table_id]

    def folders_below(self, folder: str) -> list[str]:
        """Return the paths of a logged folder and of the logged folders below it."""
        below, names = self._below(folder)
        return [self._absolute(one) for (one,) in self._file.rows(f"SELECT folder FROM folder_ WHERE {below}", *names)]

    def folders_to_sweep(self, table_id: str, until: int) -> list[str]:
        """Return the paths of a table's folders with files that no current row needs, of the commits up to `until`."""
        sql = "SELECT folder FROM folder_ WHERE table_id = ? AND EXISTS (SELECT 1 FROM file_"
        removed = "WHERE file_.folder_id = folder_.folder_id AND removed IS NOT NULL AND removed <= ?)"
        rows = self._file.rows(f"{sql} {removed}", table_id, until)
        return [self._absolute(folder) for (folder,) in rows]

    def forget_empty(self, folder: str) -> bool:
        """Forget a folder without files. Return False if it has files, of any version, or no log."""
        empty = "folder = ? AND NOT EXISTS (SELECT 1 FROM file_ WHERE file_.folder_id = folder_.folder_id)"
        return bool(self._file.run(f"DELETE FROM folder_ WHERE {empty}", self._stored(folder)))

    def forget_removed(self, folder_id: int, paths: Iterable[str]) -> None:
        """Forget files that `removed` has returned."""
        sql = "DELETE FROM file_ WHERE folder_id = ? AND path = ? AND removed IS NOT NULL"
        with self._file.transaction():
            for path in paths:
                self._file.run(sql, folder_id, self._stored(path))

    def _insert(self, folder_id: int, files: Iterable[LoggedFile], position: int, added: int) -> None:
        sql = "INSERT INTO file_ VALUES (NULL, ?, ?, ?, NULL, ?, ?, ?, ?, ?)"
        for one in files:
            facts = (one.size_bytes, one.modified_ns, one.num_rows, one.tag)
            self._file.run(sql, folder_id, position, added, self._stored(one.path), *facts)

    def _found(self, condition: str, *parameters: object) -> list[LoggedFile]:
        columns = "path, size_bytes, modified_ns, num_rows, tag, position, added"
        sql, absolute = f"SELECT {columns} FROM file_ WHERE {condition} ORDER BY position, file_id", self._absolute
        return [LoggedFile(absolute(path), *facts) for path, *facts in self._file.rows(sql, *parameters)]

    def _absolute(self, stored: str) -> str:
        return self._file.locations.absolute(stored)

    def _stored(self, folder: str) -> str:
        return self._file.locations.stored(uri.normalized(folder))
