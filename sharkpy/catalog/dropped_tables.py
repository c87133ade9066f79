"""Dropped tables and databases, which can be restored while their files remain."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import DatabaseNotFoundError, TableNotFoundError
from sharkpy.base.records import dataclass
from sharkpy.catalog.json_rows import table_from_json
from sharkpy.catalog.table_history import commit_of

if TYPE_CHECKING:
    from sharkpy.catalog.database_file import CatalogFile
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.table_history import Retention, TableHistory

_HINT = "shark.table.retention says how long dropped tables are retained"


@dataclass(frozen=True, slots=True)
class _Dropped:
    """A dropped table, with the commit that dropped it, and its time in milliseconds since 1970."""

    table: Table
    version: int
    time_ms: int


class DroppedTables:
    """The catalog's rows about dropped tables. Call methods that change them inside a transaction of the catalog.

    A dropped table keeps its folders, its Hive partitions and its history, but not its name.
    """

    def __init__(self, file: CatalogFile, history: TableHistory) -> None:
        self._file = file
        self._history = history

    def keep(self, table: Table) -> None:
        """Drop a table of the catalog, and keep what restores it."""
        commit = self._history.note(table.table_id)
        kept = "SELECT table_id, ?, database, name, definition FROM table_ WHERE table_id = ?"
        self._file.run(f"INSERT OR REPLACE INTO dropped_ {kept}", commit, table.table_id)
        self._file.run("DELETE FROM table_ WHERE table_id = ?", table.table_id)

    def keep_database(self, name: str) -> None:
        """Keep what restores a database that the commit drops."""
        kept = "SELECT name, ?, folder, comment, body FROM database_ WHERE name = ?"
        self._file.run(f"INSERT OR REPLACE INTO dropped_database_ {kept}", commit_of(self._file), name)

    def restore(self, database: str, name: str) -> str:
        """Restore the last dropped table with a name, which no table has now. Return its id.

        Raise TableNotFoundError if none is retained.
        """
        found = next((one for one in self._all() if (one.table.database, one.table.name) == (database, name)), None)
        if found is None:
            raise TableNotFoundError(f"no dropped table {database}.{name} is retained", hint=_HINT)
        self._restore(found)
        return found.table.table_id

    def restore_database(self, name: str) -> list[str]:
        """Restore a dropped database, which does not exist now, with the tables that were dropped with it. Return their
        ids.

        Raise DatabaseNotFoundError if none is retained.
        """
        row = self._file.row("SELECT max(commit_id) FROM dropped_database_ WHERE name = ?", name)
        if row is None or row[0] is None:
            raise DatabaseNotFoundError(f"no dropped database {name} is retained", hint=_HINT)
        kept = "SELECT name, folder, comment, body FROM dropped_database_ WHERE name = ? AND commit_id = ?"
        self._file.run(f"INSERT INTO database_ (name, folder, comment, body) {kept}", name, row[0])
        self._file.run("DELETE FROM dropped_database_ WHERE name = ? AND commit_id = ?", name, row[0])
        found = [one for one in self._all() if one.table.database == name and one.version == row[0]]
        for one in found:
            self._restore(one)
        return [one.table.table_id for one in found]

    def _restore(self, one: _Dropped) -> None:
        kept = "SELECT database, name, table_id, definition FROM dropped_ WHERE table_id = ?"
        self._file.run(f"INSERT INTO table_ (database, name, table_id, definition) {kept}", one.table.table_id)
        self._file.run("DELETE FROM dropped_ WHERE table_id = ?", one.table.table_id)
        self._history.note(one.table.table_id)

    def expired(self, retention: Callable[[Table], Retention]) -> list[Table]:
        """Return the dropped tables whose retention is over."""
        now_ms = time.time() * 1000
        return [one.table for one in self._all() if one.time_ms + retention(one.table).seconds * 1000 <= now_ms]

    def around(self, location: str) -> list[Table]:
        """Return the dropped tables with a folder that is `location`, or contains it."""
        stored = self._file.locations.stored(uri.normalized(location))
        places = [stored, *uri.parents(stored)]
        marks = ", ".join("?" * len(places))
        sql = f"SELECT DISTINCT table_id FROM folder_ JOIN dropped_ USING (table_id) WHERE folder IN ({marks})"
        found = {table_id for (table_id,) in self._file.rows(sql, *places)}
        return [one.table for one in self._all() if one.table.table_id in found] if found else []

    def forget(self, table: Table) -> None:
        """Forget a dropped table. The caller removes its folders."""
        for one in ("partition_", "partition_change_", "dropped_"):
            self._file.run(f"DELETE FROM {one} WHERE table_id = ?", table.table_id)
        self._history.forget(table.table_id)

    def _all(self) -> Iterator[_Dropped]:
        """Yield dropped tables, the last dropped first."""
        sql = (
            "SELECT table_id, database, name, definition, commit_id, time_ms FROM dropped_ JOIN commit_"
            " USING (commit_id) ORDER BY commit_id DESC, name"
        )
        for table_id, database, name, definition, commit, time_ms in self._file.rows(sql):
            table = table_from_json(table_id, database, name, definition)
            if table.location is not None:
                table = replace(table, location=self._file.locations.absolute(table.location))
            yield _Dropped(table, commit, time_ms)
