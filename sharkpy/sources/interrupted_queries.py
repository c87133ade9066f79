"""Queries of DuckDB over files, which end with the statement that they are for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import duckdb

from sharkpy.base.cancellation import current_cancellation


@contextlib.contextmanager
def interrupted_with_statement(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Inside, what the connection runs is interrupted when this thread's statement is ended."""
    statement = current_cancellation()
    if statement is None:
        yield
        return
    forget = statement.on_cancel(connection.interrupt)
    try:
        yield
    finally:
        forget()
