"""Transactions of a query's inputs: they end, also under interrupts for the query before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from sharkpy.execution.tasks.inputs import registered_inputs


class Interrupted:
    """A connection whose first `count` ROLLBACKs meet an interrupt, before or after they end the transaction."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, count: int, *, is_late: bool) -> None:
        self._connection = connection
        self._left = count
        self._is_late = is_late

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def rollback(self) -> None:
        self._left -= 1
        if self._left < 0 or self._is_late:
            self._connection.rollback()
        if self._left >= 0:
            raise duckdb.InterruptException("INTERRUPT Error: Interrupted!")


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as opened:
        yield opened


def rows(table: pa.Table) -> Callable[[Any], list[tuple[Any, ...]]]:
    def read(connection: Any) -> list[tuple[Any, ...]]:
        with registered_inputs(connection, {"in0": [table]}):
            found: list[tuple[Any, ...]] = connection.sql("SELECT * FROM in0").fetchall()
            return found

    return read


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_an_interrupted_rollback_is_asked_again(
    connection: duckdb.DuckDBPyConnection, count: int, is_late: bool
) -> None:
    read = rows(pa.table({"a": [1, 2]}))
    assert read(Interrupted(connection, count, is_late=is_late)) == [(1,), (2,)]
    assert read(connection) == [(1,), (2,)]
    with pytest.raises(duckdb.CatalogException):
        connection.sql("SELECT * FROM in0")


def test_one_that_never_ends_is_an_error(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.InterruptException):
        rows(pa.table({"a": [1]}))(Interrupted(connection, 1000, is_late=False))
