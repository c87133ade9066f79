"""Place of a warehouse, stored in its catalog to distinguish a copy from its original."""

from __future__ import annotations

import dataclasses
import logging
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.errors import ConfigurationError
from sharkpy.base.settings import CATALOG_DIR
from sharkpy.catalog.database_file import CatalogFile
from sharkpy.catalog.model import PURGE_PROPERTY, Table, TableKind
from sharkpy.catalog.table_store import TableStore

_log = logging.getLogger(__name__)


def note_place(file: CatalogFile, warehouse: str, store: TableStore) -> None:
    """Record the place of a local warehouse.

    Raise ConfigurationError if the catalog belongs to another warehouse, and one of the two is at a URI.

    In a copy whose original is still at its place, tables with files outside the warehouse become external: the files
    belong to the original, and no DROP here deletes them.
    """
    path = Path(file.path)
    here = (warehouse, str(path.stat().st_ino))
    noted = _noted(file)
    if noted == here:
        return
    if uri.is_remote(warehouse) or (noted is not None and uri.is_remote(noted[0])):
        _require_same(file, warehouse, noted)
        return
    with file.transaction():
        noted = _noted(file)
        if noted is not None:
            original = Path(noted[0], path.relative_to(warehouse))
            if original.exists() and original.samefile(path):
                return
            if noted[0] != warehouse and noted[1] != here[1] and original.exists():
                _disown(file, warehouse, store, noted[0])
        file.run("DELETE FROM place_")
        file.run("INSERT INTO place_ VALUES (?, ?)", *here)


def note_remote_place(file: CatalogFile, warehouse: str) -> None:
    """Record that the catalog belongs to a warehouse at a URI, which has its claim by now."""
    with file.transaction():
        file.run("DELETE FROM place_")
        file.run("INSERT INTO place_ VALUES (?, '')", warehouse)


def _require_same(file: CatalogFile, warehouse: str, noted: tuple[str, str] | None) -> None:
    """Raise ConfigurationError for the catalog of another warehouse, if one of the two is at a URI: a warehouse at a
    URI does not move with its catalog, and two warehouses cannot share a catalog.
    """
    if noted is None or warehouse == noted[0]:
        return
    message = f'the catalog "{file.path}" belongs to the warehouse "{noted[0]}", not to "{warehouse}"'
    raise ConfigurationError(message, hint=f"set another folder for the catalog: {CATALOG_DIR.key}")


def _noted(file: CatalogFile) -> tuple[str, str] | None:
    """Return the stored folder of the warehouse and inode of the catalog."""
    row = file.row("SELECT warehouse, inode FROM place_")
    return None if row is None else (row[0], row[1])


def _disown(file: CatalogFile, warehouse: str, store: TableStore, original: str) -> None:
    file.run("DELETE FROM garbage WHERE folder LIKE '/%'")
    names: list[str] = []
    for database in store.database_names():
        _keep_new_tables(database, warehouse, store)
        tables = store.tables(database)
        names += [table.qualified_name for table in tables if _disown_table(table, warehouse, store)]
    if names:
        _log.warning(
            'warehouse "%s" is a copy of "%s": these tables have files outside of it, and are external from now on: %s',
            *(warehouse, original, ", ".join(sorted(names))),
        )


def _keep_new_tables(name: str, warehouse: str, store: TableStore) -> None:
    """Put new tables of a database into the warehouse: the original creates its own tables at the database's place."""
    database = store.find_database(name)
    if database is not None and uri.below(database.location, warehouse) is None:
        store.put_database(dataclasses.replace(database, location=store.database_location(name)))


def _disown_table(table: Table, warehouse: str, store: TableStore) -> bool:
    """Make a table with files outside the warehouse external. Return False if it was external, or has no such files.

    The original keeps writing Hive partitions there, so all of their files count.
    """
    partitions = [one for one in store.partitions(table) if uri.below(one.folder(table), warehouse) is None]
    is_outside = table.location is not None and uri.below(table.location, warehouse) is None
    if not (partitions or is_outside):
        return False
    external = table
    if table.owns_data:
        properties = tuple(pair for pair in table.properties if pair[0] != PURGE_PROPERTY)
        external = dataclasses.replace(table, kind=TableKind.EXTERNAL, properties=properties)
    store.alter(table, external, [(one, dataclasses.replace(one, newest=None)) for one in partitions], False)
    return table.owns_data
