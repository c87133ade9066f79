"""History of logged tables: their commits, earlier definitions and earlier Hive partitions.

Together with `file_log`, which keeps removed files for a time, it makes earlier versions readable. A version is the
number of a commit.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from sharkpy.base.cancellation import current_cancellation
from sharkpy.base.errors import BindError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import RETAINED_VERSIONS, RETENTION, UNREAD_RETENTION, Conf, duration_seconds

if TYPE_CHECKING:
    from sharkpy.catalog.database_file import CatalogFile
    from sharkpy.catalog.model import Table

HISTORY_TABLES = (
    "CREATE TABLE change_ (table_id TEXT, commit_id INTEGER, files_added INTEGER NOT NULL,"
    " files_removed INTEGER NOT NULL, rows_added INTEGER, rows_removed INTEGER, PRIMARY KEY (table_id, commit_id))"
    " WITHOUT ROWID",
    "CREATE TABLE past_definition_ (table_id TEXT, until INTEGER, definition TEXT NOT NULL,"
    " PRIMARY KEY (table_id, until)) WITHOUT ROWID",
    "CREATE TABLE past_partition_ (table_id TEXT, until INTEGER, partition_id INTEGER, added INTEGER NOT NULL,"
    " name TEXT NOT NULL, folder TEXT NOT NULL, form TEXT NOT NULL, PRIMARY KEY (table_id, until, partition_id))"
    " WITHOUT ROWID",
    "CREATE TABLE dropped_ (table_id TEXT PRIMARY KEY, commit_id INTEGER NOT NULL, database TEXT NOT NULL,"
    " name TEXT NOT NULL, definition TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE dropped_database_ (name TEXT, commit_id INTEGER, folder TEXT NOT NULL, comment TEXT,"
    " body TEXT NOT NULL, PRIMARY KEY (name, commit_id)) WITHOUT ROWID",
)
"""`until` is the commit that replaced a definition or a Hive partition. It counted in the commits before."""
LAST = 1 << 62
"""In place of the last commit."""
_MOST_TEXT = 1000
"""Characters of a statement that the history keeps."""


@dataclass(frozen=True, slots=True)
class VersionPoint:
    """Version at which a statement reads a table: by number, by name, or the last one at a moment.

    `moment_ms` is in milliseconds since 1970. Only lake tables have names of versions.
    """

    number: int | None = None
    name: str = ""
    moment_ms: int | None = None
    is_added: bool = False
    """True for only the rows that the commit `number` has added."""
    without: int | None = None
    """Version whose files are left out, or None for all rows."""

    def __str__(self) -> str:
        if self.is_added:
            return f"commit {self.number}"
        if self.without is not None:
            return f"version {self.number} without version {self.without}"
        if self.moment_ms is not None:
            return f"time {self.moment_ms}"
        return self.name or f"version {self.number}"


@dataclass(frozen=True, slots=True)
class Retention:
    """Versions that a table retains: the versions of the last `seconds`, but at most `versions` of them.

    Versions that a stream of the table's changes has not read stay for `unread_seconds`.
    """

    seconds: float = 0.0
    versions: int = 1
    unread_seconds: float = 0.0

    @staticmethod
    def of(table: Table, conf: Conf) -> Retention:
        """Return the retention by the table's property, else by the settings."""
        text = dict(table.properties).get(RETENTION.key, conf.value(RETENTION))
        unread = duration_seconds(conf.value(UNREAD_RETENTION))
        return Retention(duration_seconds(text), conf.value(RETAINED_VERSIONS), unread)


@dataclass(frozen=True, slots=True)
class Change:
    """Change of a table by a commit. Counts of rows are None if the writers of the files did not count them."""

    version: int
    time_ms: int
    user: str
    statement: str
    files_added: int
    files_removed: int
    rows_added: int | None
    rows_removed: int | None
    moves_partitions: bool
    """True if it has changed no files, but which Hive partitions have them."""


def commit_of(file: CatalogFile) -> int:
    """Return the commit of the current transaction. The first call in a transaction makes it."""
    number, commit = file.last_commit
    if number != file.transaction_number:
        statement = current_cancellation()
        whole = None if statement is None else statement.whole
        author = ("", "") if whole is None else (whole.user, whole.text[:_MOST_TEXT])
        # A clock that is set back must not order commits in another way than their numbers.
        latest = "coalesce((SELECT time_ms FROM commit_ ORDER BY commit_id DESC LIMIT 1), 0)"
        sql = f"INSERT INTO commit_ VALUES (NULL, max(?, {latest}), ?, ?)"
        commit = file.insert(sql, time.time_ns() // 1_000_000, *author)
        file.last_commit = (file.transaction_number, commit)
    return commit


class TableHistory:
    """The catalog's rows about versions of tables. Call methods that change them inside a transaction of the catalog.

    A table has a row of `change_` for each commit that has changed it, back to its oldest version that can be read.
    """

    def __init__(self, file: CatalogFile) -> None:
        self._file = file

    # What commits change

    def note(
        self, table_id: str, added: tuple[int, int | None] = (0, 0), removed: tuple[int, int | None] = (0, 0)
    ) -> int:
        """Record that the transaction's commit changes a table. Return the commit.

        `added` and `removed` are numbers of files and of their rows, which add to earlier ones of the same commit.
        """
        commit = commit_of(self._file)
        names = ("files_added", "files_removed", "rows_added", "rows_removed")
        sums = ", ".join(f"{name} = {name} + excluded.{name}" for name in names)
        sql = f"INSERT INTO change_ VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET {sums}"
        self._file.run(sql, table_id, commit, added[0], removed[0], added[1], removed[1])
        return commit

    def note_altered(self, table_id: str) -> None:
        """Record that the commit replaces a table's current definition."""
        commit = self.note(table_id)
        sql = "INSERT OR IGNORE INTO past_definition_ SELECT table_id, ?, definition FROM table_ WHERE table_id = ?"
        self._file.run(sql, commit, table_id)

    def note_partition(self, table_id: str, partition_id: int, added: int, name: str, folder: str, form: str) -> None:
        """Record that the commit drops or changes a Hive partition, which the commit `added` has made or changed."""
        commit = self.note(table_id)
        if added < commit:
            row = (table_id, commit, partition_id, added, name, folder, form)
            self._file.run("INSERT OR IGNORE INTO past_partition_ VALUES (?, ?, ?, ?, ?, ?, ?)", *row)

    # Versions

    def changes(self, table_id: str, first: int = 0, last: int = LAST, limit: int = LAST) -> list[Change]:
        """Return the changes of a table by the commits from `first` to `last`, the newest first, at most `limit`."""
        moved = (
            "EXISTS (SELECT 1 FROM past_partition_ WHERE table_id = change_.table_id AND until = commit_id)"
            " OR EXISTS (SELECT 1 FROM partition_ WHERE table_id = change_.table_id AND added = commit_id)"
        )
        sql = (
            "SELECT commit_id, time_ms, author, statement, files_added, files_removed, rows_added, rows_removed,"
            f" files_added + files_removed = 0 AND ({moved})"
            " FROM change_ JOIN commit_ USING (commit_id)"
            " WHERE table_id = ? AND commit_id BETWEEN ? AND ? ORDER BY commit_id DESC LIMIT ?"
        )
        return [Change(*row) for row in self._file.rows(sql, table_id, first, last, limit)]

    def require_all_since(self, table_id: str, name: str, first: int) -> None:
        """Raise BindError 22023, with the table's `name`, if changes since the commit `first` may be forgotten."""
        oldest, _ = self.versions(table_id) or (0, 0)
        if first < oldest:
            hint = f"its oldest version is {oldest}; shark.table.retention says how long versions are available"
            raise BindError(f"changes of {name} since version {first} may be forgotten", hint=hint, sqlstate="22023")

    def files_added(self, table_id: str, version: int) -> int:
        """Return the number of files that a commit has added to a table."""
        row = self._file.row("SELECT files_added FROM change_ WHERE table_id = ? AND commit_id = ?", table_id, version)
        return 0 if row is None else int(row[0])

    def wanted(self, table_id: str, name: str, point: VersionPoint) -> int:
        """Return the version that a statement names. Raise BindError 22023, with the table's `name`, if it is not
        available.
        """
        if point.without is not None:
            self.wanted(table_id, name, VersionPoint(point.without))
        sql = "SELECT min(commit_id), (SELECT max(commit_id) FROM commit_) FROM change_ WHERE table_id = ?"
        oldest, last = self._file.row(sql, table_id) or (None, 0)
        number = point.number if point.moment_ms is None else self.last_before(point.moment_ms + 1)
        if number is None or oldest is None or not int(oldest) <= number <= int(last):
            hint = "DESCRIBE HISTORY lists its versions, and shark.table.retention says how long they are available"
            raise BindError(f"{replace(point, without=None)} of {name} is not available", hint=hint, sqlstate="22023")
        return number

    def last_before(self, time_ms: int) -> int:
        """Return the last commit before a time in milliseconds since 1970; 0 if there is none."""
        sql = "SELECT commit_id FROM commit_ WHERE time_ms < ? ORDER BY time_ms DESC, commit_id DESC LIMIT 1"
        row = self._file.row(sql, time_ms)
        return 0 if row is None else int(row[0])

    def last_older_than(self, seconds: float) -> int:
        """Return the last commit that is older than some seconds; 0 if there is none."""
        return self.last_before(int((time.time() - seconds) * 1000))

    def versions(self, table_id: str) -> tuple[int, int] | None:
        """Return the oldest and the last version of a table that can be read, or None if there is none."""
        sql = "SELECT min(commit_id), max(commit_id) FROM change_ WHERE table_id = ?"
        row = self._file.row(sql, table_id)
        return None if row is None or row[0] is None else (int(row[0]), int(row[1]))

    def sizes(self, table_id: str, first: int, limit: int) -> list[tuple[int, int]]:
        """Return at most `limit` commits of a table from `first` on, each with its number of changed files."""
        sql = "SELECT commit_id, files_added + files_removed FROM change_ WHERE table_id = ? AND commit_id >= ?"
        return [*self._file.rows(f"{sql} ORDER BY commit_id LIMIT ?", table_id, first, limit)]

    def definition(self, table_id: str, version: int) -> str | None:
        """Return the definition that a table had at a version, or None if it is the current one."""
        sql = "SELECT definition FROM past_definition_ WHERE table_id = ? AND until > ? ORDER BY until LIMIT 1"
        row = self._file.row(sql, table_id, version)
        return None if row is None else str(row[0])

    # Retention

    def oldest_retained(self, table_id: str, retention: Retention) -> int:
        """Return the oldest version that a table retains."""
        if retention.seconds <= 0:
            return 1 << 62
        by_time = self.last_older_than(retention.seconds)
        sql = "SELECT commit_id FROM change_ WHERE table_id = ? ORDER BY commit_id DESC LIMIT 1 OFFSET ?"
        row = self._file.row(sql, table_id, retention.versions - 1)
        return by_time if row is None else max(by_time, int(row[0]))

    def forget_before(self, table_id: str, version: int) -> None:
        """Make the versions before `version` unavailable."""
        newest = "(SELECT max(commit_id) FROM change_ WHERE table_id = ? AND commit_id <= ?)"
        condition = f"table_id = ? AND commit_id < {newest}"
        names = (table_id, table_id, version)
        if self._file.row(f"SELECT 1 FROM change_ WHERE {condition} LIMIT 1", *names) is None:
            return
        with self._file.transaction():
            self._file.run(f"DELETE FROM change_ WHERE {condition}", *names)
            for past in ("past_definition_", "past_partition_"):
                self._file.run(f"DELETE FROM {past} WHERE table_id = ? AND until <= ?", table_id, version)

    def forget(self, table_id: str) -> None:
        """Forget all versions of a table."""
        for one in ("change_", "past_definition_", "past_partition_"):
            self._file.run(f"DELETE FROM {one} WHERE table_id = ?", table_id)

    def forget_commits(self, time_ms: int) -> None:
        """Forget the commits before a time that no history has, and the databases that they have dropped."""
        sql = "DELETE FROM commit_ WHERE time_ms < ? AND commit_id NOT IN (SELECT commit_id FROM change_)"
        with self._file.transaction():
            self._file.run(f"{sql} AND commit_id NOT IN (SELECT commit_id FROM dropped_)", time_ms)
            commits = "SELECT commit_id FROM commit_"
            self._file.run(f"DELETE FROM dropped_database_ WHERE commit_id NOT IN ({commits})")
