"""Pooled connections held by queries."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from sharkpy.base.cancellation import Cancellation
from sharkpy.execution.workers.connection_pool import ConnectionPool

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_AGAIN_SECONDS = 0.05
_TIMES = 200


class HeldConnections:
    """Connections held by one query, which can be interrupted separately."""

    def __init__(self) -> None:
        self._lock = threading.Condition(threading.Lock())
        self._held: list[DuckDBPyConnection] = []
        self._is_interrupted = False

    @contextmanager
    def borrowed(self, pool: ConnectionPool, statement: Cancellation) -> Iterator[DuckDBPyConnection]:
        with pool.borrow(statement) as connection:
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
