"""SQLite file of the catalog: one connection, transactions, and its errors as configuration errors."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sharkpy.base.errors import ConfigurationError, CorruptionError, ResourceError, SharkError
from sharkpy.catalog.read_only_database import ReadOnlyDatabase, is_unwritable
from sharkpy.catalog.space_reserve import SpaceReserve

BUSY_SECONDS = 30.0
_PRIMARY = 0xFF
"""The bits of SQLite's codes that tell the kind of error; those above tell its place."""
_INDEX_BYTES = 64 << 10
"""Bytes without which a disk has no room for a connection's index of the journal."""

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS database_ (name TEXT PRIMARY KEY, location TEXT NOT NULL, comment TEXT,"
    " body TEXT NOT NULL DEFAULT '') WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS table_ (database TEXT, name TEXT, table_id TEXT UNIQUE NOT NULL, body TEXT NOT NULL,"
    " PRIMARY KEY (database, name)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS garbage (path TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS partition_ (partition_id INTEGER PRIMARY KEY AUTOINCREMENT, table_id TEXT NOT NULL,"
    " name TEXT NOT NULL, location TEXT, newest INTEGER, form TEXT NOT NULL DEFAULT '', UNIQUE (table_id, name))",
    "CREATE TABLE IF NOT EXISTS statistics_ (table_id TEXT, partition TEXT, body TEXT NOT NULL,"
    " PRIMARY KEY (table_id, partition)) WITHOUT ROWID",
)
_LATER_COLUMNS = (("partition_", "form"), ("database_", "body"))
"""Text columns that the tables of an older catalog lack."""


class CatalogFile:
    """One connection in WAL mode, shared by this process's threads under a lock.

    Transactions take the write lock at once (BEGIN IMMEDIATE) and nest: the inner ones join the outer.
    Where nothing can be written `is_read_only`, and a change is ConfigurationError 25006.
    """

    def __init__(self, path: str, warehouse_dir: str) -> None:
        self._warehouse_dir = warehouse_dir
        self._lock = threading.RLock()
        self._depth = 0
        self._path = path
        self._read_only: ReadOnlyDatabase | None = None
        self.reserve = SpaceReserve(f"{path.removesuffix('.sqlite')}.reserve")
        with self._errors():
            self._writing = self._opened()

    @property
    def is_read_only(self) -> bool:
        return self._read_only is not None

    @property
    def _connection(self) -> sqlite3.Connection:
        return self._writing if self._read_only is None else self._read_only.connection

    def _opened(self) -> sqlite3.Connection:
        if is_unwritable(self._path):
            return self._opened_to_read()
        try:
            return self._opened_to_write()
        except sqlite3.OperationalError as error:
            if not (_is_full(error, self._path) and Path(self._path).is_file()):
                raise
        # The files beside it that every reader needs have no room.
        if self.reserve.release():
            return self._opened_to_write()
        return self._opened_to_read()

    def _opened_to_write(self) -> sqlite3.Connection:
        self._writing = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            self._enter_wal()
            self._connection.execute("PRAGMA synchronous = NORMAL")
            if not self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'statistics_'").fetchone():
                with self.transaction():
                    for statement in _SCHEMA:
                        self._connection.execute(statement)
            self._add_missing_columns()
        except BaseException:
            self._writing.close()
            raise
        self.reserve.keep()
        return self._writing

    def _opened_to_read(self) -> sqlite3.Connection:
        self._read_only = ReadOnlyDatabase(self._path, BUSY_SECONDS)
        if any(self._lacks(*column) for column in _LATER_COLUMNS):
            self._read_only.close()
            fact = f'the catalog of warehouse "{self._warehouse_dir}" is of an older version'
            raise ConfigurationError(fact, hint="open it once where it can be written")
        return self._read_only.connection

    def _add_missing_columns(self) -> None:
        """Add the columns that the catalog of an older version lacks."""
        if not any(self._lacks(*column) for column in _LATER_COLUMNS):
            return
        with self.transaction():
            for table, column in _LATER_COLUMNS:
                if self._lacks(table, column):
                    self._connection.execute(f"ALTER TABLE {table} ADD COLUMN {column} TEXT NOT NULL DEFAULT ''")

    def _lacks(self, table: str, column: str) -> bool:
        return all(row[1] != column for row in self._connection.execute(f"PRAGMA table_info({table})"))

    def close(self) -> None:
        with self._lock:
            if self._read_only is not None:
                self._read_only.close()
            self._writing.close()

    def row(self, sql: str, *parameters: object) -> Any | None:
        with self._lock, self._errors():
            return self._connection.execute(sql, parameters).fetchone()

    def rows(self, sql: str, *parameters: object) -> list[Any]:
        with self._lock, self._errors():
            return self._connection.execute(sql, parameters).fetchall()

    def run(self, sql: str, *parameters: object) -> int:
        """Run a statement; returns the number of changed rows."""
        with self._lock, self._errors():
            return self._connection.execute(sql, parameters).rowcount

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing: rolled back if the body raises."""
        with self._lock:
            if self._depth:
                yield
                return
            with self._errors():
                self._connection.execute("BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield
                with self._errors():
                    self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            finally:
                self._depth -= 1

    def _enter_wal(self) -> None:
        """Switch to WAL mode. The switch does not wait for locks by itself, and two first openers may meet here."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if _is_full(error, self._path):
                raise ResourceError(f'no space left in "{self._warehouse_dir}"', sqlstate="53100") from None
            if error.sqlite_errorcode & _PRIMARY == sqlite3.SQLITE_READONLY:
                raise ConfigurationError(
                    f'warehouse "{self._warehouse_dir}" is read-only: it cannot be written', sqlstate="25006"
                ) from None
            raise ConfigurationError(f'warehouse "{self._warehouse_dir}" cannot be written: {error}') from None
        except sqlite3.DatabaseError as error:
            raise _damaged(self._warehouse_dir, error) from None


def _is_full(error: sqlite3.OperationalError, path: str) -> bool:
    """True if the disk is full: SQLite calls it a failing one where it has no room for its shared index."""
    if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
        return True
    if error.sqlite_errorcode & _PRIMARY not in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
        return False
    try:
        disk = os.statvfs(Path(path).parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _INDEX_BYTES or (disk.f_files > 0 and not disk.f_favail)


def _damaged(warehouse_dir: str, error: Exception) -> SharkError:
    return CorruptionError(f'catalog of warehouse "{warehouse_dir}" is damaged: {error}')
