"""Folders of a catalog's tables, Hive partitions and databases.

Statements that replace or delete a folder check here that it holds no files of other objects. Remote folders are
compared by their texts.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import BindError
from sharkpy.base.records import dataclass
from sharkpy.catalog.folder_index import is_below, real_place
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Database, Table, TableKind
from sharkpy.catalog.path_gate import local_path
from sharkpy.catalog.trash import require_own_folder

if TYPE_CHECKING:
    from sharkpy.catalog.readable_catalog import ReadableCatalog
    from sharkpy.catalog.table_store import FolderOwner

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
        self._homes = dict.fromkeys(map(real_place, (catalog.warehouse_dir, catalog.home)))
        """Folders of the warehouse and of its catalog."""
        self._owners_near = catalog.folder_owners()

    def _near(self, place: str, *, with_links: bool) -> list[TakenFolder]:
        """Return the folders that may be at, above or below a real path, by their paths."""
        return sorted(map(_taken, self._owners_near(place, with_links)), key=lambda one: one.place)

    def folder_inside(self, path: str, besides: str | None = None) -> TakenFolder | None:
        """Find a folder of another object that would be deleted with the folder `path`: a folder in it, or `path`
        itself if its owner's files are there.

        `besides`: id of a table whose own folders are ignored.
        """
        place = real_place(path)
        # A folder that does not exist holds no files that links could lead to.
        near = self._near(place, with_links=os.path.lexists(place))
        inside = (one for one in near if is_below(one.place, place))
        others = (one for one in inside if one.is_owned or one.place != place)
        return next((one for one in others if one.table_id != besides), None)

    def owner_at(self, path: str) -> TakenFolder | None:
        """Find the managed table, or its Hive partition, that owns the folder or file `path`."""
        place = real_place(path)
        above = (one for one in reversed(self._near(place, with_links=True)) if is_below(place, one.place))
        return next((one for one in above if one.table_id and one.is_owned), None)

    def require_no_others(self, path: str, action: str, besides: str | None = None) -> None:
        """Raise BindError if an action that replaces or deletes the contents of `path` would delete files of other
        objects.
        """
        for home in self._homes:
            if is_below(home, real_place(path)):
                raise BindError(f'{action} would delete the warehouse "{home}"', sqlstate="42809")
        require_own_folder(path, action)
        if (other := self.folder_inside(path, besides)) is not None:
            message = f'{action} would delete the files of {other.owner} in "{path}"'
            raise BindError(message, hint="name another folder", sqlstate="42809")


def _taken(one: FolderOwner) -> TakenFolder:
    if isinstance(one.owner, Database):
        return TakenFolder(real_place(one.location), f'the database "{one.owner.name}"')
    owner = f'the table "{one.owner.qualified_name}"'
    of_partition = f"the partition {one.partition} of " if one.partition else ""
    return TakenFolder(real_place(one.location), of_partition + owner, one.owner.table_id, one.owner.kind in _OWNING)


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
    return any(is_below(place, os.path.realpath(local_path(home))) for home in homes if not uri.is_remote(home))
