"""A pooled connection while a query holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sharkpy.execution.engine import Engine

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Borrowed:
    """A pooled connection that a query holds, known to it so that it can be interrupted."""

    def __init__(self, engine: Engine, known: list[DuckDBPyConnection]) -> None:
        self._borrow = engine.pool.borrow()
        self._known = known
        self._connection: DuckDBPyConnection | None = None

    def __enter__(self) -> DuckDBPyConnection:
        self._connection = self._borrow.__enter__()
        self._known.append(self._connection)
        return self._connection

    def __exit__(self, *failure: Any) -> bool | None:
        if self._connection is not None:
            self._known.remove(self._connection)
        return self._borrow.__exit__(*failure)
