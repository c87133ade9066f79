"""Upgrades of the catalog's SQLite file, one from each format to the next.

The first makes absolute locations relative to the warehouse, which may have been copied or moved before.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.uri import Locations, is_outside
from sharkpy.catalog.folder_index import FOLDER_INDEXES
from sharkpy.catalog.listed_folders import begin_histories, log_listed_folders
from sharkpy.catalog.partition_cache import PARTITION_TABLES
from sharkpy.catalog.table_history import HISTORY_TABLES

_TABLES = (
    "CREATE TABLE IF NOT EXISTS database_ (name TEXT PRIMARY KEY, location TEXT NOT NULL, comment TEXT,"
    " body TEXT NOT NULL DEFAULT '') WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS table_ (database TEXT, name TEXT, table_id TEXT UNIQUE NOT NULL, body TEXT NOT NULL,"
    " PRIMARY KEY (database, name)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS garbage (path TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS partition_ (partition_id INTEGER PRIMARY KEY AUTOINCREMENT, table_id TEXT NOT NULL,"
    " name TEXT NOT NULL, location TEXT, newest INTEGER, form TEXT NOT NULL DEFAULT '', UNIQUE (table_id, name))",
    "CREATE TABLE IF NOT EXISTS statistics_ (table_id TEXT, partition TEXT, body TEXT NOT NULL,"
    " PRIMARY KEY (table_id, partition)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS function_ (database TEXT, name TEXT, body TEXT NOT NULL,"
    " PRIMARY KEY (database, name)) WITHOUT ROWID",
)
_LATER_COLUMNS = (("partition_", "form"), ("database_", "body"))
"""Text columns that the first files of the format do not have."""
_RENAMED = (
    ("database_", "location", "folder"),
    ("table_", "body", "definition"),
    ("garbage", "path", "folder"),
    ("partition_", "location", "folder"),
    ("function_", "body", "definition"),
)


_ADDED_TO_FORMAT_1 = (
    "CREATE TABLE format_ (written_by TEXT NOT NULL)",
    "CREATE TABLE place_ (warehouse TEXT NOT NULL, inode TEXT NOT NULL)",
)


def upgrade_format_1(connection: sqlite3.Connection, locations: Locations) -> None:
    """Upgrade a catalog to format 2, in the caller's transaction."""
    _add_missing(connection)
    for table, column, name in _RENAMED:
        connection.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO {name}")
    for statement in _ADDED_TO_FORMAT_1:
        connection.execute(statement)
    make_relative(connection, locations)


def _add_missing(connection: sqlite3.Connection) -> None:
    """Add tables and columns that were introduced while the format was in use."""
    for statement in _TABLES:
        connection.execute(statement)
    for table, column in _LATER_COLUMNS:
        known = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        if column not in known:
            connection.execute(f"ALTER TABLE {table} ADD COLUMN {column} TEXT NOT NULL DEFAULT ''")


_ADDED_TO_FORMAT_2 = (
    "CREATE TABLE generation_ (table_id TEXT PRIMARY KEY, newest INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE continuous_ (query_id TEXT PRIMARY KEY, definition TEXT NOT NULL, state TEXT NOT NULL,"
    " epoch INTEGER NOT NULL, offsets TEXT NOT NULL, fault TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE stream_file_ (table_id TEXT, number INTEGER, name TEXT NOT NULL, size_bytes INTEGER NOT NULL,"
    " modified_ns INTEGER NOT NULL, PRIMARY KEY (table_id, number), UNIQUE (table_id, name)) WITHOUT ROWID",
)


def upgrade_format_2(connection: sqlite3.Connection, _: Locations) -> None:
    """Upgrade a catalog to format 3, in the caller's transaction."""
    for statement in _ADDED_TO_FORMAT_2:
        connection.execute(statement)


def upgrade_format_3(connection: sqlite3.Connection, _: Locations) -> None:
    """Upgrade a catalog to format 4, in the caller's transaction."""
    connection.execute(
        "CREATE TABLE epoch_ (query_id TEXT, epoch INTEGER, table_id TEXT NOT NULL, generation INTEGER NOT NULL,"
        " offsets TEXT NOT NULL, written_ms INTEGER NOT NULL, PRIMARY KEY (query_id, epoch)) WITHOUT ROWID"
    )


_ADDED_TO_FORMAT_4 = (
    "CREATE TABLE feed_ (stream_id TEXT PRIMARY KEY, table_id TEXT NOT NULL) WITHOUT ROWID",
    "ALTER TABLE stream_file_ ADD COLUMN form TEXT NOT NULL DEFAULT ''",
)


def upgrade_format_4(connection: sqlite3.Connection, _: Locations) -> None:
    """Upgrade a catalog to format 5, in the caller's transaction."""
    for statement in _ADDED_TO_FORMAT_4:
        connection.execute(statement)


def upgrade_format_5(connection: sqlite3.Connection, _: Locations) -> None:
    """Upgrade a catalog to format 6, in the caller's transaction."""
    connection.execute(
        "CREATE TABLE epoch_partition_ (query_id TEXT, epoch INTEGER, partition_id INTEGER, newest INTEGER,"
        " PRIMARY KEY (query_id, epoch, partition_id)) WITHOUT ROWID"
    )


def upgrade_format_6(_connection: sqlite3.Connection, _: Locations) -> None:
    """Upgrade a catalog to format 7, which stores nothing that format 6 cannot. But an engine of format 6 would take
    the state of a continuous table for an ordinary table.
    """


def upgrade_format_7(connection: sqlite3.Connection, _: Locations) -> None:
    """Upgrade a catalog to format 8, in the caller's transaction."""
    connection.execute("ALTER TABLE stream_file_ ADD COLUMN tag TEXT NOT NULL DEFAULT ''")


OWNER_TABLE = (
    "CREATE TABLE owner_ (owner TEXT NOT NULL, inode TEXT NOT NULL, place TEXT NOT NULL, is_known INTEGER NOT NULL)"
)


def upgrade_format_8(connection: sqlite3.Connection, _: Locations) -> None:
    """Upgrade a catalog to format 9, in the caller's transaction. An engine of format 8 would take a warehouse at a URI
    for a local folder.
    """
    connection.execute(OWNER_TABLE)


_ADDED_TO_FORMAT_9 = (
    "CREATE TABLE commit_ (commit_id INTEGER PRIMARY KEY AUTOINCREMENT, time_ms INTEGER NOT NULL)",
    "CREATE TABLE folder_ (folder_id INTEGER PRIMARY KEY, folder TEXT UNIQUE NOT NULL, newest INTEGER NOT NULL,"
    " rewritten INTEGER NOT NULL)",
    "CREATE TABLE file_ (file_id INTEGER PRIMARY KEY, folder_id INTEGER NOT NULL, position INTEGER NOT NULL,"
    " added INTEGER NOT NULL, removed INTEGER, path TEXT NOT NULL, size_bytes INTEGER NOT NULL,"
    " modified_ns INTEGER NOT NULL)",
    "CREATE INDEX file_now ON file_ (folder_id, position, file_id) WHERE removed IS NULL",
    "CREATE INDEX file_removed ON file_ (folder_id, removed) WHERE removed IS NOT NULL",
    "CREATE INDEX file_added ON file_ (folder_id, added)",
    "CREATE INDEX file_path ON file_ (folder_id, path)",
)


def upgrade_format_9(connection: sqlite3.Connection, _: Locations) -> None:
    """Upgrade a catalog to format 10, in the caller's transaction."""
    for statement in _ADDED_TO_FORMAT_9:
        connection.execute(statement)


_ADDED_TO_FORMAT_10 = (
    "ALTER TABLE commit_ ADD COLUMN author TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE commit_ ADD COLUMN statement TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX commit_time ON commit_ (time_ms)",
    "ALTER TABLE folder_ ADD COLUMN table_id TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX folder_table ON folder_ (table_id)",
    "ALTER TABLE file_ ADD COLUMN num_rows INTEGER",
    "ALTER TABLE partition_ ADD COLUMN added INTEGER NOT NULL DEFAULT 0",
)


def upgrade_format_10(connection: sqlite3.Connection, _: Locations) -> None:
    """Upgrade a catalog to format 11, in the caller's transaction."""
    for statement in (*_ADDED_TO_FORMAT_10, *HISTORY_TABLES):
        connection.execute(statement)


_ADDED_TO_FORMAT_11 = (
    "ALTER TABLE partition_ ADD COLUMN changed INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE file_ ADD COLUMN tag TEXT NOT NULL DEFAULT ''",
    "UPDATE file_ SET path = (SELECT folder FROM folder_ WHERE folder_.folder_id = file_.folder_id) || '/' || path",
    "DROP INDEX file_path",
    "CREATE INDEX file_path ON file_ (path)",
)


def upgrade_format_11(connection: sqlite3.Connection, locations: Locations) -> None:
    """Upgrade a catalog to format 12, in the caller's transaction. Histories that have not begun begin with a commit.

    In format 11, paths in the log were relative to their folders.
    """
    for statement in (*_ADDED_TO_FORMAT_11, *FOLDER_INDEXES, *PARTITION_TABLES):
        connection.execute(statement)
    log_listed_folders(connection, locations)
    begin_histories(connection)


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
