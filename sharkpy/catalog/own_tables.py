"""Store of tables in the warehouse itself, as rows of the catalog's SQLite file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from sharkpy.base import uri
from sharkpy.catalog.database_file import CatalogFile
from sharkpy.catalog.folder_names import folder_name
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Database, Table
from sharkpy.catalog.names import DEFAULT_DATABASE
from sharkpy.catalog.partition_changes import PartitionChanges, read_partitions
from sharkpy.catalog.serialize import database_from_row, database_to_json, table_from_json, table_to_json


class OwnTables:
    """`TableStore` on the catalog's SQLite file."""

    is_shared = False

    def __init__(self, file: CatalogFile, warehouse_dir: str) -> None:
        self._file = file
        self._warehouse_dir = warehouse_dir
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
        marks = ", ".join("?" * len(table_ids))
        sql = f"SELECT table_id, database, name, definition FROM table_ WHERE table_id IN ({marks})"
        rows = self._file.rows(sql, *table_ids)
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
        changes = PartitionChanges(self._file, old)
        for before, after in kept:
            changes.alter(before, after)
        row = (new.database, new.name, self._encode(new), new.table_id)
        self._file.run("UPDATE table_ SET database = ?, name = ?, definition = ? WHERE table_id = ?", *row)

    def remove(self, table: Table) -> None:
        self._file.run("DELETE FROM table_ WHERE table_id = ?", table.table_id)
        self._file.run("DELETE FROM partition_ WHERE table_id = ?", table.table_id)

    def note_written(self, table: Table) -> None:
        pass

    def partitions(self, table: Table) -> tuple[HivePartition, ...]:
        return read_partitions(self._file, table)

    def placed_partitions(self) -> frozenset[str]:
        rows = self._file.rows("SELECT DISTINCT table_id FROM partition_ WHERE folder IS NOT NULL")
        return frozenset(table_id for (table_id,) in rows)

    @contextmanager
    def partition_changes(self, table: Table) -> Iterator[PartitionChanges]:
        yield PartitionChanges(self._file, table)

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
