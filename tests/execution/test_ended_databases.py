"""DuckDB's database after a failure inside DuckDB, which ends it: one statement fails, the next ones get another."""

from __future__ import annotations

import threading

import duckdb
import pyarrow as pa
import pytest

import sharkpy
from sharkpy.execution.workers.connection_pool import ConnectionPool
from sharkpy.optimizer import evaluate
from tests.waiting import until

BAD_TEXT = pa.table({"s": pa.array([b"caf\xe9"], pa.binary()).view(pa.string())})


def end_database(pool: ConnectionPool) -> None:
    with pytest.raises(duckdb.InternalException), pool.borrow() as cursor:
        read_bad_text(cursor)


def read_bad_text(connection: duckdb.DuckDBPyConnection) -> None:
    """Run a query over text that DuckDB takes for valid."""
    with connection.cursor() as cursor:
        cursor.register("bad", BAD_TEXT)
        cursor.execute("SELECT upper(s) FROM bad").fetchall()


def test_the_next_statements_of_all_sessions_run(context: sharkpy.SharkContext) -> None:
    with context.new_session() as other:
        assert other.sql("SELECT upper('é')").fetchall() == [("É",)]
        end_database(context.engine.pool)
        assert other.sql("SELECT count(*) FROM (SELECT explode(array(1, 2)) AS a) t").fetchall() == [(2,)]
        assert context.sql("SELECT substring_index(a, '.', 1) FROM VALUES ('b.c') AS t(a)").fetchall() == [("b",)]


def test_a_database_whose_end_was_not_told(context: sharkpy.SharkContext) -> None:
    pool = context.engine.pool
    with pool.borrow() as cursor, pytest.raises(duckdb.InternalException):
        read_bad_text(cursor)
    assert context.sql("SELECT max(a) FROM VALUES (1), (2) AS t(a)").fetchall() == [(2,)]
    assert context.sql("SELECT max(a) FROM VALUES (1), (3) AS t(a)").fetchall() == [(3,)]


def test_a_query_beside_it_begins_anew(context: sharkpy.SharkContext) -> None:
    pool, found = context.engine.pool, list[tuple[object, ...]]()
    text = "SELECT count(DISTINCT concat(a, 'x')) FROM (SELECT explode(sequence(1, 1000000)) AS a) t"
    thread = threading.Thread(target=lambda: found.extend(context.sql(text).fetchall()))
    thread.start()
    until(lambda: pool._shares.num_queries > 0 or not thread.is_alive())
    end_database(pool)
    thread.join()
    assert found == [(1000000,)]


def test_constants_are_folded_after_a_failure_inside_duckdb() -> None:
    with pytest.raises(duckdb.InternalException), evaluate._connection("") as (connection, _):
        read_bad_text(connection)
    with evaluate._connection("") as (connection, _), connection.cursor() as cursor:
        assert cursor.execute("SELECT 1").fetchall() == [(1,)]
