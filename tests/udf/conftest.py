"""One prepared DuckDB connection for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from sharkpy.udf.connection import prepare_connection


@pytest.fixture(scope="session")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    con = duckdb.connect()
    prepare_connection(con)
    yield con
    con.close()
