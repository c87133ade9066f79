"""Hive partitions of the catalog's tables in memory. A statement reads only what has changed since."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.json_rows import partition_format_from_text
from sharkpy.catalog.partition_list import PartitionList

if TYPE_CHECKING:
    from sharkpy.catalog.database_file import CatalogFile
    from sharkpy.catalog.file_log import FileLog
    from sharkpy.catalog.model import Table

PARTITION_TABLES = (
    "CREATE TABLE partition_change_ (table_id TEXT PRIMARY KEY, changed INTEGER NOT NULL, shrunk INTEGER NOT NULL)"
    " WITHOUT ROWID",
    "CREATE INDEX partition_changed ON partition_ (table_id, changed)",
    "CREATE INDEX partition_added ON partition_ (table_id, added)",
)
"""`changed` counts the transactions that have changed a table's Hive partitions. `shrunk` is the count of the last one
that has removed or renamed one, and `partition_.changed` of the last one that has added or changed this one.
"""
_COLUMNS = "partition_id, name, folder, newest, form"
_MOST_PARTITIONS = 200_000
"""Most Hive partitions that the cache keeps of all tables, except for the last table. Each takes about 200 bytes, and
2 KB with its typed values for planning and for writes.
"""


class PartitionCache:
    """Current Hive partitions by table. Thread-safe; changes of other processes are found."""

    def __init__(self, file: CatalogFile) -> None:
        self._file = file
        self._known: OrderedDict[str, tuple[int, PartitionList]] = OrderedDict()
        self._size = 0
        """Number of Hive partitions in all lists."""
        self._lock = threading.Lock()

    def current(self, table_id: str) -> PartitionList:
        """Return a table's Hive partitions. An unchanged table gives the same list."""
        with self._file.reading():
            sql = "SELECT changed, shrunk FROM partition_change_ WHERE table_id = ?"
            changed, shrunk = self._file.row(sql, table_id) or (0, 0)
            number, known = self._known.get(table_id, (-1, None))
            if known is not None and number == changed:
                found = known
            elif known is not None and shrunk <= number < changed:
                sql = f"SELECT {_COLUMNS} FROM partition_ WHERE table_id = ? AND changed > ?"
                found = known.with_changes(_decoded(self._file, self._file.rows(sql, table_id, number)))
            else:
                found = read_partitions(self._file, table_id)
            # A transaction may be rolled back.
            if not self._file.is_in_transaction:
                self._keep(table_id, changed, found)
        return found

    def forget(self, table_id: str) -> None:
        """Forget the Hive partitions of a table that is removed. Call this inside the transaction."""
        self._file.run("DELETE FROM partition_ WHERE table_id = ?", table_id)
        self._file.run("DELETE FROM partition_change_ WHERE table_id = ?", table_id)
        with self._lock:
            self._drop(table_id)

    def _keep(self, table_id: str, number: int, found: PartitionList) -> None:
        with self._lock:
            self._drop(table_id)
            self._known[table_id] = (number, found)
            self._size += len(found)
            while self._size > _MOST_PARTITIONS and len(self._known) > 1:
                self._drop(next(iter(self._known)))

    def _drop(self, table_id: str) -> None:
        self._size -= len(self._known.pop(table_id, (0, ()))[1])


def read_partitions(file: CatalogFile, table_id: str) -> PartitionList:
    """Return the Hive partitions of a table, all from one state of the catalog."""
    rows = file.rows(f"SELECT {_COLUMNS} FROM partition_ WHERE table_id = ? ORDER BY name", table_id)
    return PartitionList(_decoded(file, rows))


def partitions_at(file: CatalogFile, table_id: str, version: int, now: PartitionList) -> PartitionList:
    """Return the Hive partitions that a table had at a version. `now` are its current ones."""
    later = file.rows("SELECT name FROM partition_ WHERE table_id = ? AND added > ?", table_id, version)
    sql = "SELECT partition_id, name, folder, NULL, form FROM past_partition_"
    past = file.rows(f"{sql} WHERE table_id = ? AND until > ? AND added <= ?", table_id, version, version)
    return now.at(version, (name for (name,) in later), _decoded(file, past))


def partitions_read(file: CatalogFile, table: Table, version: int, now: PartitionList, log: FileLog) -> PartitionList:
    """Return the Hive partitions of a table's version that are read. If only rows that another version lacks are read,
    partitions with the same files in both are left out.
    """
    found, point = partitions_at(file, table.base_id, version, now), table.as_of
    other = None if point is None else version - 1 if point.is_added else point.without
    if other is None:
        return found
    before = partitions_at(file, table.base_id, other, now)
    same = log.folders(table.base_id) - log.changed_folders(table.base_id, *sorted((version, other)))
    return found.changed_since(before, lambda one: one.folder(table) not in same)


def _decoded(file: CatalogFile, rows: Sequence[Any]) -> list[HivePartition]:
    absolute = file.locations.absolute
    return [
        HivePartition(number, name, folder and absolute(folder), newest, *partition_format_from_text(form))
        if folder or form
        else HivePartition(number, name, None, newest)
        for number, name, folder, newest, form in rows
    ]
