"""Connections of lowered SQL: kernels belong to the database, not to the cursor that was prepared first."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import duckdb
import pytest

from sharkpy.udf import connection as of_connections
from sharkpy.udf.connection import (
    define_all_functions,
    define_functions,
    functions_of,
    prepare_connection,
    prepare_cursor,
)


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


def test_functions_are_found_within_macros() -> None:
    assert functions_of("SELECT shark_double_text(x), shark_other(1) FROM t") == {
        "shark_double_text",
        "shark_double_text_kernel",
    }


def test_only_named_functions_are_defined() -> None:
    with duckdb.connect() as root:
        define_functions(root, functions_of("SELECT shark_double_text(x)"))
        calling = prepare_cursor(root, 100)
        assert root.execute("SELECT shark_double_text(1e-5), shark_double_text(2.5)").fetchone() == ("1.0E-5", "2.5")
        with pytest.raises(duckdb.CatalogException, match="shark_rlike"):
            root.execute("SELECT shark_rlike('abc', 'b')")
        define_all_functions(root)
        assert root.execute("SELECT shark_rlike('abc', 'b')").fetchone() == (True,)
        del calling


@pytest.mark.parametrize("name", list(of_connections._definitions()))
def test_each_function_is_defined_with_those_that_it_calls(name: str) -> None:
    """DuckDB checks the body of a macro when it is created."""
    with duckdb.connect() as root:
        define_functions(root, functions_of(f"SELECT {name}()"))
