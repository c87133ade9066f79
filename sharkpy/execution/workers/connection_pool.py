"""DuckDB connections: one in-memory database per process, and a prepared cursor for each running query."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base.cancellation import Cancellation, current_cancellation
from sharkpy.base.records import dataclass
from sharkpy.base.settings import VALUE_BYTES
from sharkpy.columnar.host import machine_memory
from sharkpy.execution.tasks.small_files import knows_rows, reads_streams
from sharkpy.execution.workers.memory_shares import MemoryShares
from sharkpy.execution.workers.worker_environment import EXPECTED, check_worker

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from sharkpy.physical.stage_program import StageProgram, TaskInput
    from sharkpy.udf.connection import CallingConnection

_log = logging.getLogger(__name__)
_DECODED_SHARE = 4
_LEAST_MEMORY = 256 << 20
_SHORT_SECONDS = 1.0
"""Seconds up to which a query may be rerun in vain."""
_CLOSE_TRIES = 40
_CLOSE_PAUSE = 0.05
"""Seconds between attempts to close a connection in use."""


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """Settings of DuckDB connections; `memory_limit` is in bytes, and spilled data goes to `temp_directory`.

    `threads` is 1 in a worker if its stage has several tasks. For a worker on another host, `memory_limit` and
    `temp_directory` may be 0 and "": its machine sets them. `keeps_join_order` keeps joins in the order of the SQL,
    since a task sees a part of the rows without statistics. With `keeps_join_sides` each join builds its right side.
    """

    threads: int
    memory_limit: int
    temp_directory: str
    keeps_join_order: bool = False
    keeps_join_sides: bool = False
    temp_limit: int = 0
    """Limit on the process's bytes of spilled data; 0 means the free disk space."""
    value_bytes: int = VALUE_BYTES.default
    """Limit on the bytes of one value made by a function."""

    def on_this_host(self) -> ConnectionSettings:
        """Fill in missing settings for this host: one core's share of the memory, and a local folder."""
        memory = self.memory_limit or max(machine_memory() * 2 // 5 // (os.cpu_count() or 1), _LEAST_MEMORY)
        parent = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or tempfile.gettempdir()
        folder = self.temp_directory or str(Path(parent, "sharkpy-duckdb"))
        return replace(self, memory_limit=memory, temp_directory=folder)

    @property
    def decoded_limit(self) -> int:
        """Limit on the decoded bytes that a scan holds in addition to DuckDB's memory."""
        return self.memory_limit // _DECODED_SHARE


@dataclass(slots=True, eq=False)
class _Functions:
    """Functions of lowered SQL that a database has. They are defined when they are first needed."""

    names: set[str] = field(default_factory=set)
    has_all: bool = False


@dataclass(frozen=True, slots=True)
class _Cursor:
    connection: DuckDBPyConnection
    root: DuckDBPyConnection
    """Connection that owns the database."""
    calling: CallingConnection
    functions: _Functions

    def define(self, names: Collection[str] | None) -> None:
        """Give the database the functions of these names, or all."""
        from sharkpy.udf.connection import define_all_functions, define_functions

        known = self.functions
        if known.has_all:
            return
        if names is None:
            define_all_functions(self.connection)
            known.has_all = True
        elif missing := set(names) - known.names:
            define_functions(self.connection, missing)
            known.names |= missing


class ConnectionPool:
    """Cursors of one DuckDB database. Each query borrows its own, since a cursor holds one open result."""

    def __init__(self, settings: ConnectionSettings, shares: MemoryShares | None = None) -> None:
        """Make a pool; `shares` are shared with the process's other databases, if any."""
        self.settings = settings
        self._shares = shares or MemoryShares(settings.memory_limit)
        self._limit = settings.memory_limit
        self._lock = threading.Lock()
        self._root: DuckDBPyConnection | None = None
        self._functions = _Functions()
        self._idle: list[_Cursor] = []
        self._in_order = dict[bool, ConnectionPool]()
        self._is_closed = False

    def suited_to(self, program: StageProgram, part: TaskInput) -> ConnectionPool:
        """Return the pool for the program over `part`.

        Joins keep the planned order if the program says so, or if DuckDB cannot know the row counts of all inputs. If
        the planner knew these, they also build the planned sides. That takes another database.
        """
        if self.settings.keeps_join_order or len(program.inputs) < 2:
            return self
        if reads_streams(program, part):
            return self.in_order(keeps_sides=knows_rows(program, part))
        return self.in_order() if program.keeps_order else self

    def in_order(self, *, keeps_sides: bool = False) -> ConnectionPool:
        """Return a pool with joins in the order of the SQL, for inputs whose row counts DuckDB cannot know.

        `keeps_sides` if the planner knew them, so that DuckDB's guess of one row each decides nothing.
        """
        with self._lock:
            if (found := self._in_order.get(keeps_sides)) is None:
                settings = replace(self.settings, keeps_join_order=True, keeps_join_sides=keeps_sides)
                found = self._in_order[keeps_sides] = ConnectionPool(settings, self._shares)
            return found

    def limited(self, memory: int) -> ConnectionPool:
        """Return a pool with a database of its own and at most `memory` bytes."""
        return ConnectionPool(
            replace(self.settings, memory_limit=min(memory, self.settings.memory_limit)), self._shares
        )

    @property
    def decoded_limit(self) -> int:
        """Limit on the decoded bytes of each of the running queries."""
        return self.settings.decoded_limit // max(1, self._shares.num_queries)

    def is_filled_by_others(self, began: float) -> bool:
        """Whether other queries caused the out-of-memory error of a query that began at `began`, by time.monotonic().

        They do if they fill most of the database now. After a short query, they may have ended already.
        """
        if not self._shares.had_others(began):
            return False
        return time.monotonic() - began < _SHORT_SECONDS or self._used_bytes() > self._limit // 2

    def _used_bytes(self) -> int:
        import duckdb

        try:
            with self.borrow() as connection:
                row = connection.execute("SELECT sum(memory_usage_bytes) FROM duckdb_memory()").fetchone()
        except duckdb.OutOfMemoryException:
            return self._limit
        return int(row[0] or 0) if row is not None else 0

    @property
    def wanted_memory(self) -> int:
        return self.settings.memory_limit

    @property
    def memory_limit(self) -> int:
        return self._limit

    def limit_memory(self, size: int) -> None:
        """Limit the database's memory; memory that it cannot free at once stays in use."""
        import duckdb

        with self._lock:
            if self._root is None or size == self._limit:
                return
            with contextlib.suppress(duckdb.Error):
                self._root.execute(f"SET memory_limit = '{size >> 20}MiB'")
                self._limit = size

    @contextmanager
    def borrow(
        self, statement: Cancellation | None = None, functions: Collection[str] | None = None
    ) -> Iterator[DuckDBPyConnection]:
        """Lend a cursor with nothing registered; the borrower unregisters whatever it registers.

        The database has all functions of lowered SQL, or at least `functions`.
        Kernels called by the cursor follow the cancellation of `statement`, by default this thread's.
        """
        taken = self._take()
        self._shares.enter(self)
        cursor, is_kept = taken.connection, True
        try:
            taken.define(functions)
            with taken.calling.working_for(statement or current_cancellation()):
                yield cursor
        except GeneratorExit:
            raise
        except BaseException:
            # An interrupt may have hit the ROLLBACK, and the next query would find an aborted transaction.
            is_kept = False
            self._replace_if_invalid(taken.root)
            raise
        finally:
            self._shares.leave(self)
            is_kept = _is_ended(cursor) and is_kept
            with self._lock:
                if self._root is not taken.root or not is_kept:
                    cursor.close()
                else:
                    self._idle.append(taken)

    def _replace_if_invalid(self, root: DuckDBPyConnection) -> None:
        """Let the next query open another database if a failure inside DuckDB has ended this one."""
        import duckdb

        with self._lock:
            if self._root is not root or is_alive(root):
                return
            # Queries still running there hold the database by their own cursors, and may be in a call.
            for connection in (*(cursor.connection for cursor in self._idle), root):
                with contextlib.suppress(duckdb.Error):
                    connection.close()
            self._idle, self._root, self._limit = [], None, self.settings.memory_limit
        _log.error("DuckDB has given up its database after a failure inside it: the next query opens another one")

    def begin(self) -> None:
        """Open the database in another thread, if it is not open: a first query is planned meanwhile."""
        if self._root is None and not self._lock.locked():
            threading.Thread(target=self._begin, name="sharkpy-database", daemon=True).start()

    def _begin(self) -> None:
        # The query gets the error when it opens the database itself.
        with suppress(Exception), self._lock:
            if self._root is None and not self._is_closed:
                self._root, self._functions = _connect(self.settings), _Functions()

    def _take(self) -> _Cursor:
        import duckdb

        try:
            return self._taken()
        except duckdb.FatalException:
            # The query that ended the database may not have reported it.
            return self._taken()

    def _taken(self) -> _Cursor:
        with self._lock:
            if self._root is None:
                self._root, self._functions = _connect(self.settings), _Functions()
            if self._idle:
                return self._idle.pop()
            root, functions = self._root, self._functions
            cursor = root.cursor()
        try:
            return _Cursor(cursor, root, _prepare(cursor, self.settings), functions)
        except BaseException:
            self._replace_if_invalid(root)
            raise

    def close(self) -> None:
        with self._lock:
            for cursor in self._idle:
                cursor.connection.close()
            if self._root is not None:
                _close_when_idle(self._root)
            self._idle, self._root, self._limit = [], None, self.settings.memory_limit
            self._is_closed = True
            others, self._in_order = self._in_order, {}
        for other in others.values():
            other.close()


def is_alive(connection: DuckDBPyConnection) -> bool:
    """False if a failure inside DuckDB has ended this database."""
    import duckdb

    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1").fetchall()
    except duckdb.FatalException:
        return False
    except duckdb.Error:
        # Out of memory, or closed with its session.
        return True
    return True


def _is_ended(cursor: DuckDBPyConnection) -> bool:
    """End an abandoned query; return False if the borrower has closed the cursor."""
    import duckdb

    cursor.abort()
    try:
        # A closed cursor refuses this call, but not `abort`.
        cursor.query_progress()
    except duckdb.ConnectionException:
        return False
    return True


def _close_when_idle(connection: DuckDBPyConnection) -> None:
    """Close a connection when it is idle.

    The last call of an interrupted query may still be returning in another thread.
    """
    import duckdb

    for _ in range(_CLOSE_TRIES):
        try:
            connection.close()
            return
        except duckdb.Error:
            time.sleep(_CLOSE_PAUSE)


def _connect(settings: ConnectionSettings) -> DuckDBPyConnection:
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": settings.threads,
        "memory_limit": f"{settings.memory_limit >> 20}MiB",
        "temp_directory": settings.temp_directory,
        "autoinstall_known_extensions": False,
        "python_enable_replacements": False,
        # Otherwise DuckDB's allocator keeps a query's memory until the next query uses it.
        "allocator_background_threads": True,
        # The cache never forgets the names of local files, and a stream reads a new file in each epoch.
        "enable_external_file_cache": False,
    }
    kept = {"join_order": settings.keeps_join_order, "build_side_probe_side": settings.keeps_join_sides}
    if optimizers := [name for name, is_kept in kept.items() if is_kept]:
        config["disabled_optimizers"] = ",".join(optimizers)
    connection = duckdb.connect(":memory:", config=config)
    if settings.temp_limit:
        # DuckDB 2.0 accepts this setting in `config` but does not follow it there.
        connection.execute(f"SET max_temp_directory_size = '{settings.temp_limit >> 20}MiB'")
    return connection


def _prepare(cursor: DuckDBPyConnection, settings: ConnectionSettings) -> CallingConnection:
    """Prepare a cursor: settings and variables are its own, functions belong to the database."""
    from sharkpy.udf.connection import prepare_cursor

    return prepare_cursor(cursor, settings.value_bytes)


_pools: dict[ConnectionSettings, ConnectionPool] = {}


def process_pool(settings: ConnectionSettings) -> ConnectionPool:
    """Return this worker process's pool for `settings`, made on first use."""
    pool = _pools.get(settings)
    if pool is None:
        if expected := os.environ.get(EXPECTED):
            check_worker(expected)
        _close_ended()
        pool = _pools.setdefault(settings, ConnectionPool(settings.on_this_host()))
    return pool


def _close_ended() -> None:
    """Close the pools of ended sessions, whose folders are gone. Workers outlive the sessions of their SparkContext."""
    for settings in [one for one in _pools if one.temp_directory and not Path(one.temp_directory).parent.is_dir()]:
        _pools.pop(settings).close()


_AGAIN_SECONDS = 0.05
_TIMES = 200


class QueryConnections:
    """Connections held by one query, which can be interrupted separately."""

    def __init__(self) -> None:
        self._lock = threading.Condition(threading.Lock())
        self._held: list[DuckDBPyConnection] = []
        self._is_interrupted = False

    @contextmanager
    def borrowed(
        self, pool: ConnectionPool, statement: Cancellation, functions: Collection[str] | None
    ) -> Iterator[DuckDBPyConnection]:
        with pool.borrow(statement, functions) as connection:
            with self._lock:
                self._held.append(connection)
            try:
                yield connection
            finally:
                with self._lock:
                    self._held.remove(connection)
                    self._lock.notify_all()

    def interrupt(self) -> None:
        """Interrupt the connections until none is held; DuckDB forgets an interrupt between two queries."""
        with self._lock:
            if self._is_interrupted or not self._held:
                return
            self._is_interrupted = True
        threading.Thread(target=self._interrupt, name="sharkpy-interrupt", daemon=True).start()

    def _interrupt(self) -> None:
        import duckdb

        with self._lock:
            for _ in range(_TIMES):
                for connection in self._held:
                    with suppress(duckdb.Error):  # Closed with its session, while its result was abandoned.
                        connection.interrupt()
                if not self._held:
                    break
                self._lock.wait(_AGAIN_SECONDS)
            self._is_interrupted = False
