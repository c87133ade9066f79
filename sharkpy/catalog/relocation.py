"""Upgrade of a catalog's absolute locations to locations relative to the warehouse."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.locations import Locations, is_outside

_log = logging.getLogger(__name__)
Rewrite = Callable[[str], str]


def make_relative(connection: sqlite3.Connection, locations: Locations) -> None:
    """Store the catalog's locations as `locations` does.

    The warehouse may have been copied or moved before. Then its locations refer to its former folder, which the places
    of managed tables reveal. From now on they refer to the files in its current folder. Folders of dropped tables
    outside the warehouse are forgotten, since they may belong to another warehouse by now.
    """
    if not locations.warehouse:
        return
    former = _former_warehouse(connection, locations)
    if former is not None:
        _log.warning('warehouse "%s" was at "%s" before: its tables are here from now on', locations.warehouse, former)
        connection.execute("INSERT INTO place_ VALUES (?, '')", (former,))

    def stored(location: str) -> str:
        inside = None if former is None else uri.below(location, former)
        return locations.stored(location) if inside is None else inside

    _rewrite(connection, "database_", "folder", "name", stored)
    _rewrite(connection, "partition_", "folder", "partition_id", stored)
    _rewrite(connection, "table_", "definition", "table_id", lambda text: _with_location(text, stored))
    _rewrite(connection, "function_", "definition", "database, name", lambda text: _with_resources(text, stored))
    folders = [stored(path) for (path,) in connection.execute("SELECT folder FROM garbage")]
    connection.execute("DELETE FROM garbage")
    own = {(folder,) for folder in folders if not is_outside(folder)}
    connection.executemany("INSERT INTO garbage VALUES (?)", own)


def _rewrite(connection: sqlite3.Connection, table: str, column: str, key: str, rewrite: Rewrite) -> None:
    names = key.split(", ")
    rows = connection.execute(f"SELECT {column}, {key} FROM {table} WHERE {column} IS NOT NULL").fetchall()
    where = " AND ".join(f"{name} = ?" for name in names)
    changed = [(rewrite(text), *keys) for text, *keys in rows if rewrite(text) != text]
    connection.executemany(f"UPDATE {table} SET {column} = ? WHERE {where}", changed)


def _with_location(text: str, stored: Rewrite) -> str:
    body = json.loads(text)
    return text if body["location"] is None else json.dumps(body | {"location": stored(body["location"])})


def _with_resources(text: str, stored: Rewrite) -> str:
    body = json.loads(text)
    return json.dumps(body | {"resources": [[kind, stored(path)] for kind, path in body["resources"]]})


def _former_warehouse(connection: sqlite3.Connection, locations: Locations) -> str | None:
    """Return the former folder of the warehouse, if no location is in its current folder but files of the former are
    here.
    """
    known = list(_locations(connection))
    if any(not is_outside(locations.stored(location)) for location in known):
        return None
    for folder, _ in Counter(_likely_warehouses(connection)).most_common():
        inside = [place for location in known if (place := uri.below(location, folder)) is not None]
        if any(place != "." and Path(locations.warehouse, place).exists() for place in inside):
            return folder
    return None


def _locations(connection: sqlite3.Connection) -> Iterable[str]:
    yield from (location for (location,) in connection.execute("SELECT folder FROM database_"))
    for (text,) in connection.execute("SELECT definition FROM table_"):
        if (location := json.loads(text)["location"]) is not None:
            yield location


def _likely_warehouses(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield folders in which databases and tables of the default database are at their default places."""
    for name, location in connection.execute("SELECT name, folder FROM database_"):
        if Path(location).name == f"{name}.db":
            yield str(Path(location).parent)
    for name, text in connection.execute("SELECT name, definition FROM table_ WHERE database = 'default'"):
        place = Path(json.loads(text)["location"] or "/")
        # A table that replaced another one has a part of its id in the folder's name.
        if place.name.rpartition("-")[0] == name or place.name == name:
            yield str(place.parent)
