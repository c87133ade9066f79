"""Places of tables' files in a backup, which holds all that the warehouse owns."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field

from sharkpy.base import uri
from sharkpy.base.errors import SourceError
from sharkpy.base.locations import Locations
from sharkpy.catalog.database_file import CatalogFile
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.lake_tables import is_lake
from sharkpy.catalog.local_path import local_path
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.own_tables import OwnTables
from sharkpy.catalog.store import Catalog
from sharkpy.execution.tables.data_files import table_files
from sharkpy.sources.folders.table_folder import table_folder


@dataclass(slots=True)
class SavedTables:
    """Files of a warehouse's tables by their paths in the backup, and folders that have to be there.

    A folder in the warehouse has the same place in the backup. Others are saved if they belong to a table that deletes
    its files with itself, under a name of their own, so that the restored warehouse owns all it deletes. Remote folders
    are left out, and stay where they are.
    """

    warehouse: str
    num_tables: int = 0
    files: dict[str, str] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def add_all(self, catalog: Catalog) -> None:
        """Add all permanent tables; inside a transaction, so that no write is half in the backup.

        Their folders are entered as by a reader, and left with the process.
        """
        for database in catalog.database_names():
            for table in catalog.tables(database, with_states=True):
                self.num_tables += 1
                if table.location is not None:
                    catalog.readers.enter(table.location)
                    self._add(table, catalog)
        for entry in catalog.functions.entries():
            for kind, path in entry.resources:
                if (place := uri.below(path, self.warehouse)) is not None:
                    self.files[place] = path
                else:
                    self.left_out.append(f"{kind.lower()} of function {entry.qualified_name}: {path}")

    def _add(self, table: Table, catalog: Catalog) -> None:
        location, place = table.location or "", self.place(table, None)
        if place is None or is_lake(table):
            # What lists a lake table's files has their paths whole, and would mean those of the original.
            self._leave_out(table, location)
        elif not table.is_partitioned:
            self._add_files(local_path(location), place, _data_files(table, catalog))
        elif table.owns_data:
            self.folders.append(place)
        for one in catalog.partitions(table):
            folder, place = one.folder(table), self.place(table, one)
            if place is not None:
                files = table_folder(folder).partition_files(one.newest, one.name)
                self._add_files(local_path(folder), place, [file.path for file in files])
            elif one.location is not None:
                self._leave_out(table, folder)

    def _leave_out(self, table: Table, folder: str) -> None:
        self.left_out.append(f"files of table {table.qualified_name}: {uri.shown(folder)}")

    def _add_files(self, folder: str, place: str, paths: list[str]) -> None:
        if paths == [folder]:
            self.files[place] = folder
            return
        self.folders.append(place)
        for path in paths:
            self.files[f"{place}/{uri.below(path, folder)}"] = path

    def place(self, table: Table, one: HivePartition | None) -> str | None:
        """Place of the folder of a table or Hive partition; None if it is not saved."""
        folder = (table.location or "") if one is None else one.folder(table)
        if uri.is_remote(folder):
            return None
        inside = uri.below(local_path(folder), self.warehouse)
        if inside is not None or not table.owns_data:
            return inside
        top = f"outside-{table.table_id}"
        return top if one is None else f"{top}/{one.name}"


def _data_files(table: Table, catalog: Catalog) -> list[str]:
    try:
        return [file.path for file in table_files(table, catalog)]
    except SourceError:
        if table.owns_data:
            raise
        # An external table describes files that may come later.
        return []


def settle_catalog(path: str, saved: SavedTables, folder: str) -> None:
    """Let the copy of a catalog, for a warehouse in `folder`, have the saved places, and nothing of the original's."""
    file = CatalogFile(path, folder, Locations.below(folder))
    store = OwnTables(file, folder)
    try:
        with file.transaction():
            file.run("DELETE FROM garbage")
            file.run("DELETE FROM place_")
            for name in store.database_names():
                database = store.find_database(name)
                if database is not None and not _stays(database.location, folder):
                    store.put_database(dataclasses.replace(database, location=store.database_location(name)))
                for table, partitions in list(_outside(store, name, folder)):
                    _bring_in(store, table, partitions, saved, folder)
                for table in [one for one in store.tables(name) if _is_of_original(one)]:
                    store.alter(table, dataclasses.replace(table, kind=TableKind.EXTERNAL), [], False)
    finally:
        file.close()


def _is_of_original(table: Table) -> bool:
    """True for a table whose files are not in the backup, and would go with a DROP in the restored warehouse."""
    return table.kind is TableKind.MANAGED and uri.is_remote(table.location or "")


def _stays(location: str, folder: str) -> bool:
    """True for a folder of the restored warehouse, and for a remote one."""
    return uri.is_remote(location) or uri.below(location, folder) is not None


def _outside(store: OwnTables, database: str, folder: str) -> Iterator[tuple[Table, tuple[HivePartition, ...]]]:
    """Tables with data of their own outside of the warehouse, and those of their Hive partitions that have places."""
    for table in store.tables(database):
        placed = tuple(one for one in store.partitions(table) if one.location and not _stays(one.location, folder))
        if table.owns_data and table.location and (placed or not _stays(table.location, folder)):
            yield table, placed


def _bring_in(
    store: OwnTables, table: Table, partitions: tuple[HivePartition, ...], saved: SavedTables, folder: str
) -> None:
    place = saved.place(table, None)
    moved = table if _stays(table.location or "", folder) else dataclasses.replace(table, location=f"{folder}/{place}")
    kept = [(one, dataclasses.replace(one, location=f"{folder}/{saved.place(table, one)}")) for one in partitions]
    store.alter(table, moved, kept, False)
