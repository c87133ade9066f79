"""Identity of a warehouse: its place, which distinguishes a copy from its original, and the catalog that owns a
warehouse at a URI.
"""

from __future__ import annotations

import dataclasses
import logging
import socket
import uuid
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.errors import ConfigurationError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import CATALOG_DIR
from sharkpy.catalog.database_file import CatalogFile
from sharkpy.catalog.file_log import FileLog
from sharkpy.catalog.model import PURGE_PROPERTY, Table, TableKind
from sharkpy.catalog.table_history import TableHistory
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
    log = FileLog(file, TableHistory(file))
    with file.transaction():
        noted = _noted(file)
        if noted is not None:
            original = Path(noted[0], path.relative_to(warehouse))
            if original.exists() and original.samefile(path):
                return
            if noted[0] != warehouse and noted[1] != here[1] and original.exists():
                _disown(file, warehouse, store, noted[0], log)
        file.run("DELETE FROM place_")
        file.run("INSERT INTO place_ VALUES (?, ?)", *here)
        log.refresh_times()


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


def _disown(file: CatalogFile, warehouse: str, store: TableStore, original: str, log: FileLog) -> None:
    file.run("DELETE FROM garbage WHERE folder LIKE '/%'")
    names: list[str] = []
    for database in store.database_names():
        _keep_new_tables(database, warehouse, store)
        tables = store.tables(database)
        names += [table.qualified_name for table in tables if _disown_table(table, warehouse, store, log)]
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


def _disown_table(table: Table, warehouse: str, store: TableStore, log: FileLog) -> bool:
    """Make a table with files outside the warehouse external. Return False if it was external, or has no such files.

    The original keeps writing there. So the log forgets the files: plain files count, which no sweep here deletes.
    """
    partitions = [one for one in store.partitions(table) if uri.below(one.folder(table), warehouse) is None]
    is_outside = table.location is not None and uri.below(table.location, warehouse) is None
    if not (partitions or is_outside):
        return False
    for folder in (*([table.location or ""] if is_outside else ()), *(one.folder(table) for one in partitions)):
        log.forget_below(folder)
    external = table
    if table.owns_data:
        properties = tuple(pair for pair in table.properties if pair[0] != PURGE_PROPERTY)
        external = dataclasses.replace(table, kind=TableKind.EXTERNAL, properties=properties)
    store.alter(table, external, [(one, dataclasses.replace(one, newest=None)) for one in partitions], False)
    return table.owns_data


@dataclass(frozen=True, slots=True)
class CatalogOwner:
    """Owner of a warehouse: its id, and the place of its catalog for people, as `host:path`.

    `is_known`: the catalog has placed its claim in the warehouse.
    """

    owner: str
    place: str
    is_known: bool


def catalog_owner(file: CatalogFile) -> CatalogOwner:
    """Return the owner that a catalog is. The first call creates it.

    A copy of the catalog is a different owner. Inode and place identify the original: the inode stays when the file is
    moved or its host is renamed, and the place stays when the file is restored there.
    """
    here = (str(Path(file.path).stat().st_ino), f"{socket.gethostname()}:{file.path}")
    with file.transaction():
        row = file.row("SELECT owner, inode, place, is_known FROM owner_")
        owner, inode, place, is_known = row or (uuid.uuid4().hex, *here, 0)
        if row is not None and (inode, place) == here:
            return CatalogOwner(owner, place, bool(is_known))
        if inode != here[0] and place != here[1]:
            owner, is_known = uuid.uuid4().hex, 0
        file.run("DELETE FROM owner_")
        file.run("INSERT INTO owner_ VALUES (?, ?, ?, ?)", owner, *here, is_known)
        return CatalogOwner(owner, here[1], bool(is_known))


def note_claim_placed(file: CatalogFile) -> None:
    """Record that the warehouse has the catalog's claim."""
    file.run("UPDATE owner_ SET is_known = 1")
