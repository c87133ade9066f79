"""Format of the catalog's SQLite file: its version, checked when the file is opened, and upgrades of older files.

`user_version` holds the format of a file. The table `format_`, which all formats from 2 on have, holds the version of
sharkpy that wrote it.

1: no version in the file; all locations are absolute.
2: locations in the warehouse are relative to it, and its place is stored. Columns with locations are called `folder`,
   and `body` is called `definition`: an engine of format 1, which checks no version, then fails instead of resolving
   locations against its working folder.
3: generations of tables that continuous queries write, these queries with their epochs, and the files of streams.
4: epochs to which continuous queries can be rolled back.
5: streams of the rows appended to tables.
6: epochs of continuous tables with Hive partitions.
7: continuous tables with state.
8: tags of the files of streams.
9: owners of warehouses at URIs.
10: the log of the files of managed tables. Tables of earlier formats keep generations in folders.
11: the history of tables.
12: places and tags of files in the log, which names the files of tables of earlier formats, too;
    the index of locations; counts of changes of Hive partitions.
"""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from sharkpy.base.errors import ConfigurationError, CorruptionError
from sharkpy.base.uri import Locations
from sharkpy.base.version import __version__
from sharkpy.catalog.catalog_upgrades import (
    OWNER_TABLE,
    upgrade_format_1,
    upgrade_format_2,
    upgrade_format_3,
    upgrade_format_4,
    upgrade_format_5,
    upgrade_format_6,
    upgrade_format_7,
    upgrade_format_8,
    upgrade_format_9,
    upgrade_format_10,
    upgrade_format_11,
)
from sharkpy.catalog.file_log import FILE_LOG_TABLES
from sharkpy.catalog.folder_index import FOLDER_INDEXES
from sharkpy.catalog.partition_cache import PARTITION_TABLES
from sharkpy.catalog.table_history import HISTORY_TABLES
from sharkpy.columnar.block_folders import locked_file

FORMAT = 12
_UPGRADES: dict[int, Callable[[sqlite3.Connection, Locations], None]] = {
    1: upgrade_format_1,
    2: upgrade_format_2,
    3: upgrade_format_3,
    4: upgrade_format_4,
    5: upgrade_format_5,
    6: upgrade_format_6,
    7: upgrade_format_7,
    8: upgrade_format_8,
    9: upgrade_format_9,
    10: upgrade_format_10,
    11: upgrade_format_11,
}
"""Upgrades to the next format, by the format that they upgrade."""
_EXCLUSIVE_SECONDS = 10.0
_LOOK_SECONDS = 0.05
"""Wait for other processes to release the file: opening it locks it briefly, which is longer on a busy machine."""
_RESTORE = "restore the warehouse from a backup: sharkpy restore"
_SCHEMA = (
    "CREATE TABLE format_ (written_by TEXT NOT NULL)",
    "CREATE TABLE place_ (warehouse TEXT NOT NULL, inode TEXT NOT NULL)",
    OWNER_TABLE,
    "CREATE TABLE database_ (name TEXT PRIMARY KEY, folder TEXT NOT NULL, comment TEXT,"
    " body TEXT NOT NULL DEFAULT '') WITHOUT ROWID",
    "CREATE TABLE table_ (database TEXT, name TEXT, table_id TEXT UNIQUE NOT NULL, definition TEXT NOT NULL,"
    " PRIMARY KEY (database, name)) WITHOUT ROWID",
    "CREATE TABLE garbage (folder TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE partition_ (partition_id INTEGER PRIMARY KEY AUTOINCREMENT, table_id TEXT NOT NULL,"
    " name TEXT NOT NULL, folder TEXT, newest INTEGER, form TEXT NOT NULL DEFAULT '', added INTEGER NOT NULL DEFAULT 0,"
    " changed INTEGER NOT NULL DEFAULT 0, UNIQUE (table_id, name))",
    "CREATE TABLE statistics_ (table_id TEXT, partition TEXT, body TEXT NOT NULL,"
    " PRIMARY KEY (table_id, partition)) WITHOUT ROWID",
    "CREATE TABLE function_ (database TEXT, name TEXT, definition TEXT NOT NULL,"
    " PRIMARY KEY (database, name)) WITHOUT ROWID",
    "CREATE TABLE generation_ (table_id TEXT PRIMARY KEY, newest INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE continuous_ (query_id TEXT PRIMARY KEY, definition TEXT NOT NULL, state TEXT NOT NULL,"
    " epoch INTEGER NOT NULL, offsets TEXT NOT NULL, fault TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE stream_file_ (table_id TEXT, number INTEGER, name TEXT NOT NULL, size_bytes INTEGER NOT NULL,"
    " modified_ns INTEGER NOT NULL, form TEXT NOT NULL DEFAULT '', tag TEXT NOT NULL DEFAULT '',"
    " PRIMARY KEY (table_id, number), UNIQUE (table_id, name)) WITHOUT ROWID",
    "CREATE TABLE epoch_ (query_id TEXT, epoch INTEGER, table_id TEXT NOT NULL, generation INTEGER NOT NULL,"
    " offsets TEXT NOT NULL, written_ms INTEGER NOT NULL, PRIMARY KEY (query_id, epoch)) WITHOUT ROWID",
    "CREATE TABLE epoch_partition_ (query_id TEXT, epoch INTEGER, partition_id INTEGER, newest INTEGER,"
    " PRIMARY KEY (query_id, epoch, partition_id)) WITHOUT ROWID",
    "CREATE TABLE feed_ (stream_id TEXT PRIMARY KEY, table_id TEXT NOT NULL) WITHOUT ROWID",
    *FILE_LOG_TABLES,
    *HISTORY_TABLES,
    *FOLDER_INDEXES,
    *PARTITION_TABLES,
)


def make_catalog(path: str) -> None:
    """Create an empty catalog, unless it exists. It appears complete, so an empty file is always a damaged one."""
    if Path(path).exists():
        return
    if Path(f"{path}-wal").exists():
        message = f'the catalog "{path}" is missing, but its log exists'
        raise CorruptionError(message, hint=_RESTORE)
    fresh = f"{path}.{uuid.uuid4().hex}.new"
    try:
        with closing(sqlite3.connect(fresh, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN")
            for statement in _SCHEMA:
                connection.execute(statement)
            _note_format(connection)
            connection.execute("COMMIT")
        with suppress(FileExistsError):
            Path(path).hardlink_to(fresh)
    finally:
        Path(fresh).unlink(missing_ok=True)


def is_outdated(connection: sqlite3.Connection, path: str) -> bool:
    """Return True if `upgrade` must be called before the file is used.

    Raise CorruptionError for a file that is not a catalog, ConfigurationError for a format of a later version of
    sharkpy.
    """
    version = _version(connection, path)
    if version > FORMAT:
        raise ConfigurationError(
            f'the catalog "{path}" has format {version}, written by sharkpy {_writer(connection)}: '
            f"sharkpy {__version__} reads formats up to {FORMAT}",
            hint="open the warehouse with that version of sharkpy or a later one",
            sqlstate="0A000",
        )
    return version < FORMAT


def upgrade(path: str, locations: Locations) -> None:
    """Upgrade a file of an older format atomically, while no other process uses it.

    The former file is kept in the same folder, named after its format.
    """
    with locked_file(f"{path}.upgrade"), _connected(path) as connection:
        if not is_outdated(connection, path):
            return
        version = _version(connection, path)
        _require_alone(connection, path)
        _keep_former(connection, f"{path}.format-{version}")
        connection.execute("BEGIN EXCLUSIVE")
        try:
            for number in range(version, FORMAT):
                _UPGRADES[number](connection, locations)
            _note_format(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _version(connection: sqlite3.Connection, path: str) -> int:
    """Return the version of the file's format. A file of format 1 stores none."""
    if Path(path).stat().st_size == 0:
        raise CorruptionError(f'the catalog "{path}" is an empty file', hint=_RESTORE)
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0 and not _has_table(connection, "table_"):
        raise CorruptionError(f'"{path}" is not a catalog of a warehouse: it has no tables', hint=_RESTORE)
    return int(version) or 1


def _writer(connection: sqlite3.Connection) -> str:
    """Return the version of sharkpy that wrote the file, if the file stores it."""
    with suppress(sqlite3.DatabaseError):
        if (row := connection.execute("SELECT written_by FROM format_").fetchone()) is not None:
            return str(row[0])
    return "of an unknown version"


def _has_table(connection: sqlite3.Connection, name: str) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone() is not None


def _note_format(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM format_")
    connection.execute("INSERT INTO format_ VALUES (?)", (__version__,))
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _connected(path: str) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(path, timeout=_EXCLUSIVE_SECONDS, isolation_level=None))


def _require_alone(connection: sqlite3.Connection, path: str) -> None:
    """Leave WAL mode, which only the single user of a file can do: an engine of format 1 must not meet another
    format. SQLite does not wait here for a process that opens the file only to read its version.
    """
    deadline = time.monotonic() + _EXCLUSIVE_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            if time.monotonic() > deadline:
                message = f'the catalog "{path}" has an older format and is in use by another process'
                raise ConfigurationError(message, hint="stop that process, and open the warehouse again") from None
            time.sleep(_LOOK_SECONDS)
        else:
            return


def _keep_former(connection: sqlite3.Connection, path: str) -> None:
    """Copy the file with SQLite: opening and closing it by other means would release this process's locks on it."""
    unfinished = f"{path}.{uuid.uuid4().hex}.new"
    try:
        with closing(sqlite3.connect(unfinished)) as copy:
            connection.backup(copy)
        Path(unfinished).rename(path)
    finally:
        Path(unfinished).unlink(missing_ok=True)
