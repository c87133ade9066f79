"""Folders of a catalog's tables, Hive partitions and databases.

Statements that replace or delete a folder check here that it holds no files of other objects. Remote folders are
compared by their texts.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import BindError
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.path_gate import local_path
from sharkpy.catalog.trash import require_own_folder

if TYPE_CHECKING:
    from sharkpy.catalog.readable_catalog import ReadableCatalog

_OWNING = (TableKind.MANAGED, TableKind.TEMPORARY)


@dataclass(frozen=True, slots=True)
class TakenFolder:
    """A folder at a real path, with its owner in words.

    `is_owned`: only the owner writes its files, as for managed tables. Other programs may write files of external
    tables.
    """

    place: str
    owner: str
    table_id: str = ""
    is_owned: bool = True


class TableFolders:
    """Folders of all databases and tables, and of Hive partitions outside their table's folder, in the current
    state.
    """

    def __init__(self, catalog: ReadableCatalog) -> None:
        self._homes = dict.fromkeys((_place(catalog.warehouse_dir), _place(catalog.home)))
        """Folders of the warehouse and of its catalog."""
        self._owners: dict[str, list[TakenFolder]] = {}
        for one in _taken(catalog):
            self._owners.setdefault(one.place, []).append(one)
        self._places = sorted(self._owners)

    def folder_inside(self, path: str, besides: str | None = None) -> TakenFolder | None:
        """Find a folder of another object that would be deleted with the folder `path`: a folder in it, or `path`
        itself if its owner's files are there.

        `besides`: id of a table whose own folders are ignored.
        """
        place = _place(path)
        same = [one for one in self._owners.get(place, ()) if one.is_owned]
        others = (one for one in (*same, *self._inside(place)) if one.table_id != besides)
        return next(others, None)

    def _inside(self, place: str) -> Iterator[TakenFolder]:
        prefix = f"{place.rstrip('/')}/"
        for index in range(bisect_left(self._places, prefix), len(self._places)):
            if not self._places[index].startswith(prefix):
                return
            yield from self._owners[self._places[index]]

    def owner_at(self, path: str) -> TakenFolder | None:
        """Find the managed table, or its Hive partition, that owns the folder or file `path`."""
        place = _place(path)
        owners = (one for folder in (place, *uri.parents(place)) for one in self._owners.get(folder, ()))
        return next((one for one in owners if one.table_id and one.is_owned), None)

    def require_no_others(self, path: str, action: str, besides: str | None = None) -> None:
        """Raise BindError if an action that replaces or deletes the contents of `path` would delete files of other
        objects.
        """
        for home in self._homes:
            if _is_below(home, _place(path)):
                raise BindError(f'{action} would delete the warehouse "{home}"', sqlstate="42809")
        require_own_folder(path, action)
        if (other := self.folder_inside(path, besides)) is not None:
            message = f'{action} would delete the files of {other.owner} in "{path}"'
            raise BindError(message, hint="name another folder", sqlstate="42809")


def _taken(catalog: ReadableCatalog) -> Iterator[TakenFolder]:
    real, placed = _RealPlaces(catalog.home), catalog.placed_partitions()
    for name in catalog.database_names():
        yield TakenFolder(real(catalog.database(name).location), f'the database "{name}"')
        for table in catalog.tables(name, with_states=True):
            if table.location is None:
                continue
            owner, is_owned = f'the table "{table.qualified_name}"', table.kind in _OWNING
            yield TakenFolder(real(table.location), owner, table.table_id, is_owned)
            if table.table_id not in placed:
                continue
            for one in catalog.partitions(table):
                if one.location is not None:
                    of_table = f"the partition {one.name} of {owner}"
                    yield TakenFolder(real(one.location), of_table, table.table_id, is_owned)


def holds_files(location: str) -> bool:
    """Return True if a folder holds any file, or is a file. Files of unfinished statements do not count."""
    try:
        with os.scandir(local_path(location)) as scan:
            return any(not entry.name.startswith(".staging-") for entry in scan)
    except NotADirectoryError:
        return True
    except OSError:
        return False


def holds_rows(location: str) -> bool:
    """Return True if a local folder holds visible names, or is a file. Files that the log of files names do not count:
    their folder is hidden.
    """
    try:
        with os.scandir(local_path(location)) as scan:
            return any(not entry.name.startswith((".", "_")) for entry in scan)
    except NotADirectoryError:
        return True
    except OSError:
        return False


def drops_folder(partition: HivePartition, table: Table, warehouse: str) -> bool:
    """Return True if the folder of a Hive partition is deleted with it: it is in the table's folder or in the
    warehouse.

    A folder elsewhere was named in a statement, and may hold files that no statement has written.
    """
    if partition.location is None:
        return True
    homes = (table.location or "", warehouse)
    if uri.is_remote(partition.location):
        return any(uri.below(partition.location, home) is not None for home in homes)
    place = os.path.realpath(local_path(partition.location))
    return any(_is_below(place, os.path.realpath(local_path(home))) for home in homes if not uri.is_remote(home))


class _RealPlaces:
    """Real paths of folders. Folders directly in the warehouse are checked one by one, since there are many."""

    def __init__(self, warehouse: str) -> None:
        self._warehouse, self._real = warehouse, os.path.realpath(warehouse)

    def __call__(self, location: str) -> str:
        if uri.is_remote(location):
            return uri.canonical(location)
        path = location if location.startswith("/") else local_path(location)
        parent, _, name = path.rpartition("/")
        if parent == self._warehouse and name and not Path(path).is_symlink():
            return f"{self._real}/{name}"
        return os.path.realpath(path)


def _place(path: str) -> str:
    """Return the real path of a path, or the common form of a remote location."""
    return uri.canonical(path) if uri.is_remote(path) else os.path.realpath(path)


def _is_below(place: str, folder: str) -> bool:
    return place == folder or place.startswith(f"{folder.rstrip('/')}/")
