"""Copies of a catalog, whose paths are changed to paths of a backup or of a restored warehouse."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.errors import SourceError
from sharkpy.base.uri import STATE_FOLDER, Locations
from sharkpy.catalog.catalog_format import is_outdated
from sharkpy.catalog.database_file import CatalogFile
from sharkpy.catalog.function_catalog import FunctionCatalog
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.lake_tables import is_lake
from sharkpy.catalog.listed_folders import begin_histories, log_listed_folders
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.stream_store import StreamStore
from sharkpy.catalog.table_store import SqliteTables
from sharkpy.execution.backup.saved_tables import SavedTables
from sharkpy.sources.layout import DataFile

_HISTORY = ("commit_", "change_", "past_definition_", "past_partition_", "dropped_", "dropped_database_")
"""Tables about earlier versions, whose files a backup does not have."""


def relocate_catalog(path: str, saved: SavedTables, folder: str) -> None:
    """Adapt a copied catalog to a warehouse in a local `folder`.

    It gets the saved places, and loses all references to the original.
    """
    file = CatalogFile(path, folder, Locations.below(folder))
    store = SqliteTables(file, folder)
    try:
        with file.transaction():
            for name in ("garbage", "place_", "owner_", "folder_", "file_", *_HISTORY):
                file.run(f"DELETE FROM {name}")
            file.run("DELETE FROM partition_ WHERE table_id NOT IN (SELECT table_id FROM table_)")
            for name in store.database_names():
                database = store.find_database(name)
                if database is not None and not _is_in_warehouse(database.location, folder):
                    store.put_database(dataclasses.replace(database, location=store.database_location(name)))
                for table, partitions in list(_outside(store, name, saved, folder)):
                    _move_into_warehouse(store, table, partitions, saved, folder)
                for table in [one for one in store.tables(name) if _is_not_saved(one, folder)]:
                    store.alter(table, dataclasses.replace(table, kind=TableKind.EXTERNAL), [], False)
            for table_id, files in saved.wanted.items():
                for one in files:
                    sql = "UPDATE stream_file_ SET name = ?, tag = '' WHERE table_id = ? AND number = ?"
                    file.run(sql, one.name, table_id, one.number)
    finally:
        file.close()


def relocate_to_uri(path: str, warehouse: str, home: str) -> dict[str, str]:
    """Adapt the catalog of a backup to a warehouse at a URI with the local folder `home`.

    State that a local warehouse stores with its catalog moves to `home`, and so do the files of functions. Return the
    new places of these files, relative to `home`, by their places in the backup.
    """
    file = CatalogFile(path, home, Locations.below(warehouse))
    store = SqliteTables(file, warehouse)
    functions = FunctionCatalog(file, str(Path(home, STATE_FOLDER, "functions")))
    moved = dict[str, str]()
    try:
        with file.transaction():
            for name in store.database_names():
                for table in store.tables(name):
                    place = uri.below(table.location or "", warehouse)
                    if place is not None and is_in_state_folder(place):
                        store.alter(table, dataclasses.replace(table, location=f"{home}/{place}"), [], False)
            for entry in functions.entries():
                resources = list[tuple[str, str]]()
                for kind, resource in entry.resources:
                    if (place := uri.below(resource, warehouse)) is not None:
                        moved[place] = f"{STATE_FOLDER}/functions/{entry.function_id}/{place}"
                        resource = f"{home}/{moved[place]}"
                    resources.append((kind, resource))
                if tuple(resources) != entry.resources:
                    functions.create(dataclasses.replace(entry, resources=tuple(resources)), replace=True)
    finally:
        file.close()
    return moved


def relocate_streams(path: str, warehouse: str, home: str, restored: Mapping[str, DataFile]) -> None:
    """Update streams' records of their files, by places, to the times and tags in the restored warehouse."""
    file = CatalogFile(path, home, Locations.below(warehouse))
    store, streams = SqliteTables(file, warehouse), StreamStore(file)
    sql = "UPDATE stream_file_ SET modified_ns = ?, tag = ? WHERE table_id = ? AND number = ?"
    try:
        with file.transaction():
            for name in store.database_names():
                for table in store.tables(name):
                    location = table.location or ""
                    place = uri.below(location, warehouse) or uri.below(location, home)
                    if not table.is_stream or place is None:
                        continue
                    for one in streams.files(table.table_id, 0, streams.end(table.table_id)):
                        found = restored.get(f"{place}/{one.name}")
                        if found is not None:
                            file.run(sql, found.modified_ns, found.tag, table.table_id, one.number)
    finally:
        file.close()


def log_files(path: str, folder: str) -> None:
    """Log the files of a restored warehouse in a local `folder`, which a backup has in folders of generations.

    Do nothing for a catalog of an older format: its upgrade does it.
    """
    try:
        with closing(sqlite3.connect(path)) as connection, connection:
            if not is_outdated(connection, path):
                log_listed_folders(connection, Locations.below(folder))
                begin_histories(connection)
    except sqlite3.Error as error:
        raise SourceError(f"the catalog of the restored warehouse cannot be written: {error}") from None


def is_in_state_folder(place: str) -> bool:
    """True for a place in the state folder of a warehouse's catalog."""
    return place.startswith(f"{STATE_FOLDER}/")


def _is_not_saved(table: Table, folder: str) -> bool:
    """True for a managed table whose files were not saved.

    DROP in the restored warehouse would delete the original's files.
    """
    return table.kind is TableKind.MANAGED and is_lake(table) and not _is_in_warehouse(table.location or folder, folder)


def _is_in_warehouse(location: str, folder: str) -> bool:
    """True for a folder of the restored warehouse."""
    return uri.below(location, folder) is not None


def _outside(
    store: SqliteTables, database: str, saved: SavedTables, folder: str
) -> Iterator[tuple[Table, tuple[HivePartition, ...]]]:
    """Tables saved from outside the warehouse, each with its Hive partitions that were saved from outside."""
    for table in store.tables(database):
        if table.location is None or is_lake(table):
            continue
        placed = tuple(
            one for one in store.partitions(table) if one.location and not _is_in_warehouse(one.location, folder)
        )
        kept = tuple(one for one in placed if saved.place(table, one) is not None)
        if kept or (not _is_in_warehouse(table.location, folder) and saved.place(table, None) is not None):
            yield table, kept


def _move_into_warehouse(
    store: SqliteTables, table: Table, partitions: tuple[HivePartition, ...], saved: SavedTables, folder: str
) -> None:
    place = saved.place(table, None)
    moved = table
    if place is not None and not _is_in_warehouse(table.location or "", folder):
        moved = dataclasses.replace(table, location=f"{folder}/{place}")
    kept = [(one, dataclasses.replace(one, location=f"{folder}/{saved.place(table, one)}")) for one in partitions]
    store.alter(table, moved, kept, False)
