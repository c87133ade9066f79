"""SQLite file of the catalog: its connections, transactions and checkpoints, and conversion of its errors."""

from __future__ import annotations

import math
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sharkpy.base import uri
from sharkpy.base.errors import ConfigurationError, CorruptionError, ResourceError, SharkError
from sharkpy.base.uri import Locations
from sharkpy.catalog import catalog_format
from sharkpy.catalog.unwritable_disk import ReadOnlyDatabase, SpaceReserve, is_unwritable

BUSY_SECONDS = 30.0
_PRIMARY = 0xFF
"""Bits of SQLite's error codes with the kind of error; higher bits give details."""
_INDEX_BYTES = 64 << 10
"""Free bytes that a connection needs for its index of the journal."""


class CatalogFile:
    """Two connections in WAL mode, each shared by this process's threads under a lock.

    1. One connection serves transactions, the other one reads, so that readers do not wait for a transaction that waits
       for the disk.
    2. Transactions take the write lock at once (BEGIN IMMEDIATE) and nest: inner ones join the outer one. Checkpoints
       move committed pages into the file later (`Checkpoints`).
    3. If the file cannot be written, `is_read_only` is true and a change raises ConfigurationError 25006.
    """

    def __init__(self, path: str, warehouse_dir: str, locations: Locations | None = None) -> None:
        """Open the file. A missing file is created, and a file of an older format is upgraded.

        `locations` converts folders to their stored form. The default stores them unchanged.
        """
        self.path = path
        self._warehouse_dir = warehouse_dir
        self.locations = Locations() if locations is None else locations
        self._lock, self._read_lock = threading.RLock(), threading.RLock()
        self._depth = 0
        self._owner: int | None = None
        """The thread that runs a transaction."""
        self._is_durable = False
        """Whether transactions now wait for the disk."""
        self.transaction_number = 0
        """Number of the current or last transaction of this process."""
        self.last_commit = (-1, 0)
        """Number of a transaction, and its commit: see `commit_of`."""
        self._read_only: ReadOnlyDatabase | None = None
        self.reserve = SpaceReserve(f"{path.removesuffix('.sqlite')}.reserve")
        self._checkpoints = Checkpoints(path)
        with self._errors():
            self._writing = self._opened()
            self._reading = self._writing if self.is_read_only else _connect(self.path)

    @property
    def is_read_only(self) -> bool:
        return self._read_only is not None

    @property
    def is_in_transaction(self) -> bool:
        """True if this thread runs a transaction."""
        return self._owner == threading.get_ident()

    @property
    def _connection(self) -> sqlite3.Connection:
        return self._writing if self._read_only is None else self._read_only.connection

    def _opened(self) -> sqlite3.Connection:
        if is_unwritable(self.path):
            return self._opened_to_read()
        try:
            return self._opened_to_write()
        except sqlite3.OperationalError as error:
            if not (_is_full(error, self.path) and Path(self.path).is_file()):
                raise
        # There is no room for the files that every reader needs next to it.
        if self.reserve.release():
            return self._opened_to_write()
        return self._opened_to_read()

    def _opened_to_write(self) -> sqlite3.Connection:
        catalog_format.make_catalog(self.path)
        connection = _connect(self.path)
        try:
            if catalog_format.is_outdated(connection, self.path):
                connection.close()
                catalog_format.upgrade(self.path, self.locations)
                connection = _connect(self.path)
            _enter_wal(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA wal_autocheckpoint = {MOST_PAGES}")
        except BaseException:
            connection.close()
            raise
        self.reserve.keep()
        return connection

    def _opened_to_read(self) -> sqlite3.Connection:
        database = ReadOnlyDatabase(self.path, BUSY_SECONDS)
        try:
            if catalog_format.is_outdated(database.connection, self.path):
                fact = f'the catalog of warehouse "{self._warehouse_dir}" has an older format'
                raise ConfigurationError(fact, hint="open it once in a process that can write it")
        except BaseException:
            database.close()
            raise
        self._read_only = database
        return database.connection

    def add_garbage(self, folder: str) -> None:
        """Record a folder for deletion by `Catalog.collect_garbage`."""
        self.run("INSERT OR IGNORE INTO garbage VALUES (?)", self.locations.stored(uri.normalized(folder)))

    def close(self) -> None:
        self._checkpoints.close()
        with self._lock, self._read_lock:
            if self._read_only is not None:
                self._read_only.close()
            self._reading.close()
            self._writing.close()

    def row(self, sql: str, *parameters: object) -> Any | None:
        with self._reader() as connection:
            return connection.execute(sql, parameters).fetchone()

    def rows(self, sql: str, *parameters: object) -> list[Any]:
        with self._reader() as connection:
            return connection.execute(sql, parameters).fetchall()

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection for reads. The thread of a transaction sees its own changes."""
        if self.is_read_only or self.is_in_transaction:
            with self._lock, self._errors():
                yield self._connection
        else:
            with self._read_lock, self._errors():
                yield self._reading

    def run(self, sql: str, *parameters: object) -> int:
        """Run a statement. Return the number of changed rows."""
        return self._ran(sql, parameters).rowcount

    def insert(self, sql: str, *parameters: object) -> int:
        """Run an INSERT of one row. Return its number."""
        return self._ran(sql, parameters).lastrowid or 0

    def _ran(self, sql: str, parameters: Sequence[object]) -> sqlite3.Cursor:
        with self._lock, self._errors():
            cursor = self._connection.execute(sql, parameters)
            if not self._depth:
                self._checkpoints.note_commit()
            return cursor

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Run the body, which changes nothing, on one snapshot of the file."""
        if self.is_read_only or self.is_in_transaction:
            with self._lock:
                yield
            return
        with self._read_lock:
            if self._reading.in_transaction:
                yield
                return
            with self._errors():
                self._reading.execute("BEGIN")
            try:
                yield
            finally:
                self._reading.execute("ROLLBACK")

    def copy_to(self, path: str) -> None:
        """Copy the last committed state of the file to a new file."""
        with self._errors(), closing(_connect(self.path)) as source, closing(sqlite3.connect(path)) as target:
            source.backup(target)

    @contextmanager
    def transaction(self, *, is_durable: bool = False) -> Iterator[None]:
        """Run the body as a transaction: roll it back if the body raises.

        `is_durable`: a loss of power after the transaction does not undo it, unless it is part of another one.
        """
        with self._lock:
            if self._depth:
                yield
                return
            with self._errors():
                if is_durable != self._is_durable and not self.is_read_only:
                    self._connection.execute(f"PRAGMA synchronous = {'FULL' if is_durable else 'NORMAL'}")
                    self._is_durable = is_durable
                self._connection.execute("BEGIN IMMEDIATE")
            self._depth += 1
            self.transaction_number += 1
            self._owner = threading.get_ident()
            try:
                yield
                with self._errors():
                    self._connection.execute("COMMIT")
                self._checkpoints.note_commit()
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            finally:
                self._depth -= 1
                self._owner = None

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if _is_full(error, self.path):
                raise ResourceError(f'no space left in "{self._warehouse_dir}"', sqlstate="53100") from None
            if error.sqlite_errorcode & _PRIMARY == sqlite3.SQLITE_READONLY:
                raise ConfigurationError(
                    f'warehouse "{self._warehouse_dir}" is read-only: it cannot be written', sqlstate="25006"
                ) from None
            raise ConfigurationError(f'warehouse "{self._warehouse_dir}" cannot be written: {error}') from None
        except sqlite3.DatabaseError as error:
            raise _damaged(self._warehouse_dir, error) from None
        except OSError as error:
            raise ConfigurationError(f'warehouse "{self._warehouse_dir}" cannot be written: {error.strerror}') from None


def _connect(path: str) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def _enter_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL mode. SQLite does not wait for locks here, and two processes may open the file first."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _is_full(error: sqlite3.OperationalError, path: str) -> bool:
    """Return whether the disk is full. SQLite reports an I/O error if there is no room for its shared index."""
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


_SECONDS = 1.0
"""Time between two checkpoints while transactions commit."""
MOST_PAGES = 4_000
"""Pages of the log at which a commit makes a checkpoint itself: more than a few seconds of epochs add."""


class Checkpoints:
    """Moves the log into the file in threads, since this waits for the disk. Commits only do it if the threads cannot
    keep up.

    A checkpoint waits for no lock, and no commit waits for a checkpoint. Pages that earlier readers still need are left
    to the next checkpoint.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._due = time.monotonic() + _SECONDS
        self._thread: threading.Thread | None = None

    def note_commit(self) -> None:
        """Start a checkpoint if one is due. Call this from one thread at a time."""
        now = time.monotonic()
        if now < self._due or (self._thread is not None and self._thread.is_alive()):
            return
        self._due = now + _SECONDS
        self._thread = threading.Thread(target=self._checkpoint, name="sharkpy-checkpoint", daemon=True)
        with suppress(RuntimeError):  # The interpreter is shutting down.
            self._thread.start()

    def close(self) -> None:
        """Wait for a running checkpoint. No other one starts after it."""
        self._due = math.inf
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()

    def _checkpoint(self) -> None:
        # After a failure, the next checkpoint or a commit does the work.
        with suppress(sqlite3.Error), closing(self._connected()) as connection:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def _connected(self) -> sqlite3.Connection:
        """Connect to the file, without creating it if it was removed."""
        return sqlite3.connect(f"file:{quote(self._path)}?mode=rw", isolation_level=None, uri=True)
