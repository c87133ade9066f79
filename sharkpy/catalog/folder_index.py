"""Index of the catalog's locations by their parent folders, for lookups of what is at, above or below a folder.

Locations are compared by their real paths, and there may be thousands in one folder. So the index resolves the links of
each parent folder once. Of the names in it, it only considers links and the searched name.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sharkpy.base import uri
from sharkpy.catalog.path_gate import local_path

if TYPE_CHECKING:
    from sharkpy.catalog.database_file import CatalogFile

_LOCATIONS = {"database_": "folder", "table_": "json_extract(definition, '$.location')", "partition_": "folder"}
"""Expressions of the stored locations in the catalog's tables."""


def _parent(location: str) -> str:
    """Return the SQL expression of a location's text up to its last slash, which is empty if it has none."""
    return f"rtrim({location}, replace({location}, '/', ''))"


FOLDER_INDEXES = tuple(
    f"CREATE INDEX {table}place ON {table} ({_parent(location)}, {location}) WHERE {location} IS NOT NULL"
    for table, location in _LOCATIONS.items()
)
_OTHER_NAMES = ("", ".", "..")
"""Names at the end of a location that are not the name of its folder."""


def _settled_ns(changed: int) -> int:
    """Return the age, in ns, from which the time of a folder's last change tells all changes: some file systems count
    seconds, most count ticks of the kernel.
    """
    return 2_000_000_000 if changed % 1_000_000_000 == 0 else 50_000_000


class FolderIndex:
    """Lookups of locations near a folder. One object serves the life of a catalog."""

    def __init__(self, file: CatalogFile) -> None:
        self._file = file
        self._links: dict[str, tuple[int, tuple[str, ...]]] = {}
        """Names of links by the real path of a folder, with the time of its last change."""

    def near(self, table: str, columns: str, place: str, *, with_links: bool) -> list[Any]:
        """Return columns of the rows of a table of the catalog whose location may be at, above or below `place`.

        `place` is a real path, or a remote location in its canonical form. Locations that are links in their parent
        folder are found only `with_links`.
        """
        names = {uri.parent(one): uri.name_of(one) for one in (*reversed(uri.parents(place)), place)}
        location, found = _LOCATIONS[table], list[Any]()
        select = f"SELECT {columns} FROM {table} WHERE {location} IS NOT NULL AND {_parent(location)} = ?"
        for parent in self._parents(table):
            folder = self._real(parent)
            if folder is None or is_below(folder, place):
                found += self._file.rows(select, parent)
                continue
            links = self._links_in(folder) if with_links and not uri.is_remote(folder) else ()
            searched = [*_OTHER_NAMES, *links, *filter(None, [names.get(folder)])]
            given = f"{location} IN (SELECT ? || value FROM json_each(?))"
            found += self._file.rows(f"{select} AND {given}", parent, parent, json.dumps(searched))
        return found

    def _parents(self, table: str) -> Iterator[str]:
        """Yield the parent folders of all locations. Each is one search in the index."""
        location = _LOCATIONS[table]
        least = f"SELECT min({_parent(location)}) FROM {table} WHERE {location} IS NOT NULL"
        following = f"SELECT ({least} AND {_parent(location)} > parent) FROM parents WHERE parent IS NOT NULL"
        sql = f"WITH RECURSIVE parents (parent) AS ({least} UNION ALL {following}) SELECT parent FROM parents"
        return (parent for (parent,) in self._file.rows(sql) if parent is not None)

    def _real(self, parent: str) -> str | None:
        """Return the real path of a parent folder, or None above the first folder of a remote file system."""
        location = self._file.locations.absolute(parent)
        if uri.is_remote(location):
            return None if location.rstrip("/").endswith(":") else uri.canonical(location)
        return real_place(location)

    def _links_in(self, folder: str) -> tuple[str, ...]:
        """Return the names of the links in a folder. They are read again if the folder has changed."""
        try:
            changed = os.stat(folder).st_mtime_ns  # noqa: PTH116  there may be many
            known = self._links.get(folder)
            if known is not None and known[0] == changed:
                return known[1]
            with os.scandir(folder) as scan:
                links = tuple(entry.name for entry in scan if entry.is_symlink())
        except OSError:
            return ()
        if time.time_ns() - changed > _settled_ns(changed):
            self._links[folder] = (changed, links)
        return links


def real_place(location: str) -> str:
    """Return the real path of a location, or the canonical form of a remote one."""
    if uri.is_remote(location):
        return uri.canonical(location)
    return os.path.realpath(location if location.startswith("/") else local_path(location))


def is_below(place: str, folder: str) -> bool:
    """Return True if a real path is `folder` or in it."""
    return place == folder or place.startswith(f"{folder.rstrip('/')}/")
