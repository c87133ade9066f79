"""Connections of lowered SQL: kernels belong to the database, not to the cursor that was prepared first."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import duckdb
import pytest

from sharkpy.udf import connection as of_connections
from sharkpy.udf.connection import prepare_connection


def test_kernels_outlive_the_cursor_that_made_them() -> None:
    with duckdb.connect() as root:
        first, second = root.cursor(), root.cursor()
        prepare_connection(first)
        prepare_connection(second)
        first.close()
        del first
        gc.collect()
        others = [lambda number=number: number for number in range(100_000)]
        assert second.execute("SELECT shark_rlike('abc', 'b')").fetchall() == [(True,)]
        assert len(others) == 100_000
        second.close()


def test_cursors_prepared_at_once_have_all_kernels() -> None:
    """The first is still making them when the others look."""

    def prepared(cursor: duckdb.DuckDBPyConnection) -> object:
        together.wait()
        calling = prepare_connection(cursor)
        row = cursor.execute("SELECT shark_too_large('f', 1), shark_rlike('abc', 'b')").fetchone()
        del calling
        return row

    for _ in range(5):
        together = Barrier(4)
        with duckdb.connect() as root, ThreadPoolExecutor(4) as threads:
            cursors = [root.cursor() for _ in range(4)]
            assert list(threads.map(prepared, cursors)) == [(False, True)] * 4


def test_kernels_that_a_failure_has_left_undone_are_made_later(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def fail(connection: duckdb.DuckDBPyConnection, kernel: of_connections.AnyKernel) -> None:
        if len(made) == 3:
            raise duckdb.OutOfMemoryException("no room")
        made.append(kernel)
        create(connection, kernel)

    create = of_connections._create_kernel
    with duckdb.connect() as root:
        with monkeypatch.context() as patch:
            patch.setattr(of_connections, "_create_kernel", fail)
            with pytest.raises(duckdb.OutOfMemoryException):
                prepare_connection(root.cursor())
        cursor = root.cursor()
        calling = prepare_connection(cursor)
        assert cursor.execute("SELECT shark_too_large('f', 1)").fetchone() == (False,)
        del calling


def test_a_further_cursor_has_the_macros_of_the_database_and_its_own_limit() -> None:
    with duckdb.connect() as root:
        cursors = [root.cursor() for _ in range(2)]
        callings = [prepare_connection(cursor, limit) for cursor, limit in zip(cursors, (5, 7), strict=True)]
        assert [one.execute("SELECT shark_value_limit()").fetchone() for one in cursors] == [(5,), (7,)]
        own = "SELECT count(*) FROM duckdb_functions() WHERE database_name = 'temp'"
        assert [one.execute(own).fetchone() for one in cursors] == [(0,), (0,)]
        assert len(callings) == 2
