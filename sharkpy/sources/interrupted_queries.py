"""DuckDB queries over files, interrupted when their statement is cancelled."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import duckdb

from sharkpy.base.cancellation import current_cancellation


@contextlib.contextmanager
def interrupted_with_statement(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Interrupt the connection's queries in the body if this thread's statement is cancelled."""
    statement = current_cancellation()
    if statement is None:
        yield
        return
    forget = statement.on_cancel(connection.interrupt)
    try:
        yield
    finally:
        forget()
