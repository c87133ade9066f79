"""Connections of lowered SQL: kernels belong to the database, not to the cursor that was prepared first."""

from __future__ import annotations

import gc

import duckdb

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
