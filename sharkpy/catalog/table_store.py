"""Store of permanent databases, tables and Hive partitions: its interface, and the store in the catalog's SQLite
file.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Protocol

from sharkpy.base import uri
from sharkpy.base.errors import BindError
from sharkpy.base.records import dataclass
from sharkpy.catalog.database_file import CatalogFile
from sharkpy.catalog.epoch_store import EpochStore
from sharkpy.catalog.file_log import FileLog
from sharkpy.catalog.folder_index import FolderIndex
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.json_rows import (
    database_from_row,
    database_to_json,
    partition_format_to_text,
    table_from_json,
    table_to_json,
)
from sharkpy.catalog.model import Database, StorageFormat, Table
from sharkpy.catalog.names import DEFAULT_DATABASE, folder_name
from sharkpy.catalog.partition_cache import PartitionCache
from sharkpy.catalog.partition_list import ChangedPartitions, PartitionList
from sharkpy.catalog.table_history import TableHistory
from sharkpy.values.types import Schema


@dataclass(frozen=True, slots=True)
class FolderOwner:
    """A database, a table, or one of its Hive partitions in a folder of its own, and its location."""

    owner: Database | Table
    location: str
    partition: str = ""


FindOwners = Callable[[str, bool], Iterable[FolderOwner]]


def table_owners(tables: Iterable[Table]) -> Iterator[FolderOwner]:
    """Yield the owners of the tables' folders."""
    return (FolderOwner(table, table.location) for table in tables if table.location is not None)


class TableStore(Protocol):
    """Store of databases and tables. Names are in lower case. The catalog calls methods that change it inside
    `transaction`, after its own checks.

    1. `find` and `tables` return the same object as before for an unchanged table.
    2. `current` returns the current table with an id, whatever its name. `current_ones` returns several by id, without
       dropped ones, and at one moment if the store has transactions.
    """

    is_shared: bool
    """True if other systems read and write the same tables: no log names their files, and dropped files are deleted at
    once.
    """

    def transaction(self) -> AbstractContextManager[None]: ...

    def find_database(self, name: str) -> Database | None: ...

    def database_names(self) -> list[str]: ...

    def database_location(self, name: str) -> str:
        """Return the folder of a new database whose statement names none."""

    def put_database(self, database: Database) -> None: ...

    def remove_database(self, name: str) -> None: ...

    def find(self, database: str, name: str) -> Table | None: ...

    def current(self, table: Table) -> Table | None: ...

    def current_ones(self, table_ids: Collection[str]) -> dict[str, Table]: ...

    def table_names(self, database: str) -> list[str]: ...

    def tables(self, database: str) -> list[Table]: ...

    def add(self, table: Table) -> None: ...

    def alter(
        self, old: Table, new: Table, kept: Sequence[tuple[HivePartition, HivePartition]], cascade: bool, /
    ) -> None:
        """Replace `old` by `new`. In each pair of `kept`, the second Hive partition replaces the first."""

    def remove(self, table: Table) -> None:
        """Remove a table and its Hive partitions. The caller removes their data."""

    def note_written(self, table: Table) -> None:
        """Record that the files of a table, or of its Hive partitions, have changed."""

    def partitions(self, table: Table) -> PartitionList: ...

    def folder_owners(self) -> FindOwners:
        """Return a function for one check, which returns at least the owners of the folders at, above or below a real
        path. Its flag tells whether owners whose folder is a link are of interest.
        """

    def partition_changes(self, table: Table) -> AbstractContextManager[PartitionChanges]: ...


class SqliteTables:
    """`TableStore` on the catalog's SQLite file."""

    is_shared = False

    def __init__(self, file: CatalogFile, warehouse_dir: str) -> None:
        self._file = file
        self._warehouse_dir = warehouse_dir
        self._folders = FolderIndex(file)
        self.partition_cache = PartitionCache(file)
        self._decoded: dict[tuple[str, str], tuple[str, Table]] = {}

    def transaction(self) -> AbstractContextManager[None]:
        return self._file.transaction()

    def find_database(self, name: str) -> Database | None:
        row = self._file.row("SELECT name, folder, comment, body FROM database_ WHERE name = ?", name)
        if row is not None:
            return database_from_row(row[0], self._file.locations.absolute(row[1]), *row[2:])
        return Database(DEFAULT_DATABASE, self._warehouse_dir) if name == DEFAULT_DATABASE else None

    def database_names(self) -> list[str]:
        return [DEFAULT_DATABASE, *(name for (name,) in self._file.rows("SELECT name FROM database_"))]

    def database_location(self, name: str) -> str:
        if name == DEFAULT_DATABASE:
            return self._warehouse_dir
        return uri.join(self._warehouse_dir, folder_name(name, ".db"))

    def put_database(self, database: Database) -> None:
        sql = "INSERT OR REPLACE INTO database_ (name, folder, comment, body) VALUES (?, ?, ?, ?)"
        folder = self._file.locations.stored(database.location)
        self._file.run(sql, database.name, folder, database.comment, database_to_json(database))

    def remove_database(self, name: str) -> None:
        self._file.run("DELETE FROM database_ WHERE name = ?", name)

    def find(self, database: str, name: str) -> Table | None:
        row = self._file.row("SELECT table_id, definition FROM table_ WHERE database = ? AND name = ?", database, name)
        return None if row is None else self._decode((database, name), *row)

    def current(self, table: Table) -> Table | None:
        row = self._file.row("SELECT database, name, definition FROM table_ WHERE table_id = ?", table.table_id)
        return None if row is None else self._decode((row[0], row[1]), table.table_id, row[2])

    def current_ones(self, table_ids: Collection[str]) -> dict[str, Table]:
        ids = "SELECT value FROM json_each(?)"
        sql = f"SELECT table_id, database, name, definition FROM table_ WHERE table_id IN ({ids})"
        rows = self._file.rows(sql, json.dumps(list(table_ids)))
        return {table_id: self._decode((database, name), table_id, body) for table_id, database, name, body in rows}

    def table_names(self, database: str) -> list[str]:
        return [name for (name,) in self._file.rows("SELECT name FROM table_ WHERE database = ?", database)]

    def tables(self, database: str) -> list[Table]:
        rows = self._file.rows("SELECT name, table_id, definition FROM table_ WHERE database = ?", database)
        return [self._decode((database, name), table_id, body) for name, table_id, body in rows]

    def add(self, table: Table) -> None:
        row = (table.database, table.name, table.table_id, self._encode(table))
        self._file.run("INSERT INTO table_ (database, name, table_id, definition) VALUES (?, ?, ?, ?)", *row)

    def alter(
        self, old: Table, new: Table, kept: Sequence[tuple[HivePartition, HivePartition]], _cascade: bool
    ) -> None:
        changes = PartitionChanges(self._file, old, self.partitions(old))
        for before, after in kept:
            changes.alter(before, after)
        row = (new.database, new.name, self._encode(new), new.table_id)
        self._file.run("UPDATE table_ SET database = ?, name = ?, definition = ? WHERE table_id = ?", *row)

    def remove(self, table: Table) -> None:
        self._file.run("DELETE FROM table_ WHERE table_id = ?", table.table_id)
        self.partition_cache.forget(table.table_id)

    def note_written(self, table: Table) -> None:
        pass

    def partitions(self, table: Table) -> PartitionList:
        return self.partition_cache.current(table.table_id)

    def folder_owners(self) -> FindOwners:
        return self._owners_near

    def _owners_near(self, place: str, with_links: bool) -> list[FolderOwner]:
        near = partial(self._folders.near, place=place, with_links=with_links)
        with self._file.reading():
            names = {DEFAULT_DATABASE, *(name for (name,) in near("database_", "name"))}
            tables = near("table_", "table_id")
            partitions = near("partition_", "table_id, name, folder")
            current = self.current_ones({row[0] for row in (*tables, *partitions)})
            databases = [one for one in map(self.find_database, sorted(names)) if one is not None]
        # Dropped tables keep their Hive partitions for a time.
        placed = [(current[table_id], folder, name) for table_id, name, folder in partitions if table_id in current]
        absolute = self._file.locations.absolute
        return [
            *(FolderOwner(one, one.location) for one in databases),
            *table_owners(current[table_id] for (table_id,) in tables),
            *(FolderOwner(table, absolute(folder), name) for table, folder, name in placed),
        ]

    @contextmanager
    def partition_changes(self, table: Table) -> Iterator[PartitionChanges]:
        yield PartitionChanges(self._file, table, self.partitions(table))

    def _encode(self, table: Table) -> str:
        if table.location is None:
            return table_to_json(table)
        return table_to_json(replace(table, location=self._file.locations.stored(table.location)))

    def _decode(self, key: tuple[str, str], table_id: str, definition: str) -> Table:
        """Decode a table, or return the known object if it is unchanged, since decoding thousands of tables is slow."""
        known = self._decoded.get(key)
        if known is not None and known[0] == definition and known[1].table_id == table_id:
            return known[1]
        table = table_from_json(table_id, *key, definition)
        if table.location is not None:
            table = replace(table, location=self._file.locations.absolute(table.location))
        self._decoded[key] = (definition, table)
        return table


class PartitionChanges:
    """Changes of one transaction to the Hive partitions of `table`. `before` has the earlier ones, and `known` the
    current ones by name.

    For a continuous table, the earlier state is stored for its kept epochs, and for a table with a history, for its
    versions.
    """

    def __init__(self, file: CatalogFile, table: Table, before: PartitionList) -> None:
        self._file = file
        self.table = table
        self.before = before
        self.known = ChangedPartitions(before)
        self._history = TableHistory(file)
        self._log = FileLog(file, self._history)
        self._has_history = table.location is not None and self._log.owner(table.location) == table.table_id
        self._commit = 0
        self._number = 0

    def add(
        self,
        name: str,
        location: str | None = None,
        newest: int | None = None,
        storage: StorageFormat | None = None,
        columns: Schema | None = None,
    ) -> HivePartition:
        """Add a Hive partition. Raise BindError 42710 if the name exists."""
        self._check_free(name)
        columns_of_row = "table_id, name, folder, newest, form, added, changed"
        row = (self._stored(location), newest, partition_format_to_text(storage, columns), self._noted())
        sql = f"INSERT INTO partition_ ({columns_of_row}) VALUES (?, ?, ?, ?, ?, ?, ?)"
        partition_id = self._file.insert(sql, self.table.table_id, name, *row, self._changed())
        self._note(partition_id, None)
        one = HivePartition(partition_id, name, location, newest, storage, columns)
        self.known.put(one)
        return one

    def alter(self, old: HivePartition, new: HivePartition) -> None:
        """Replace `old` by `new`, under the same id. Raise BindError 42710 if another one has its name."""
        if new.name != old.name:
            self._check_free(new.name)
        sql = "UPDATE partition_ SET name = ?, folder = ?, newest = ?, form = ?, changed = ? WHERE partition_id = ?"
        form = partition_format_to_text(new.storage, new.columns)
        if old.newest is not None and new.newest != old.newest:
            self._note(old.partition_id, old.newest)
        self._keep(old, new)
        number = self._changed(is_shrunk=new.name != old.name)
        self._file.run(sql, new.name, self._stored(new.location), new.newest, form, number, old.partition_id)
        self.known.remove(old.name)
        self.known.put(dataclasses.replace(new, partition_id=old.partition_id))

    def drop(self, partitions: Iterable[HivePartition], *, with_data: bool) -> None:
        """Forget Hive partitions. `with_data` removes the files of logged folders, and lists other folders as garbage
        (see `Catalog.collect_garbage`).
        """
        for one in partitions:
            self._keep(one)
            self._changed(is_shrunk=True)
            self._file.run("DELETE FROM partition_ WHERE partition_id = ?", one.partition_id)
            folder = one.folder(self.table)
            logged = self._log.find(folder) if with_data and self._has_history else None
            if logged is not None:
                self._log.commit(logged, (), overwrite=True)
            elif with_data:
                self._file.add_garbage(folder)
            self.known.remove(one.name)

    def _changed(self, *, is_shrunk: bool = False) -> int:
        """Return the number of these changes: see `PARTITION_TABLES`."""
        if not self._number:
            counted = "ON CONFLICT DO UPDATE SET changed = changed + 1 RETURNING changed"
            sql = f"INSERT INTO partition_change_ VALUES (?, 1, 0) {counted}"
            ((self._number,),) = self._file.rows(sql, self.table.table_id)
        if is_shrunk:
            sql = "UPDATE partition_change_ SET shrunk = changed WHERE table_id = ?"
            self._file.run(sql, self.table.table_id)
        return self._number

    def _noted(self) -> int:
        """Return the commit of these changes, for the history; 0 for a table without one."""
        if self._has_history and not self._commit:
            self._commit = self._history.note(self.table.table_id)
        return self._commit

    def _keep(self, old: HivePartition, new: HivePartition | None = None) -> None:
        """Keep a Hive partition in the history, unless `new` has the same name, folder and form."""
        if not self._has_history or (new is not None and replace(new, newest=old.newest) == old):
            return
        (added,) = self._file.row("SELECT added FROM partition_ WHERE partition_id = ?", old.partition_id) or (0,)
        form = partition_format_to_text(old.storage, old.columns)
        row = (old.name, self._file.locations.stored(old.folder(self.table)), form)
        self._history.note_partition(self.table.table_id, old.partition_id, added, *row)
        self._file.run("UPDATE partition_ SET added = ? WHERE partition_id = ?", self._noted(), old.partition_id)

    def _check_free(self, name: str) -> None:
        if name in self.known:
            raise BindError(f"{self.table.qualified_name} has the partition {name} already", sqlstate="42710")

    def _note(self, partition_id: int, newest: int | None) -> None:
        if self.table.continuous:
            EpochStore(self._file).note_change(self.table.continuous, partition_id, newest)

    def _stored(self, location: str | None) -> str | None:
        return None if location is None else self._file.locations.stored(location)
