"""impyla over each of its transports. Its cursors have a session each."""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from impala.dbapi import connect
from impala.error import HiveServer2Error, OperationalError

from tests.thrift.clients.served import LONG_QUERY, NAMES, ROWS, Served
from tests.unclosed import left_to_the_collector
from tests.waiting import allowed

TRANSPORTS: dict[str, dict[str, Any]] = {
    "nosasl": {"auth_mechanism": "NOSASL"},
    "plain": {"auth_mechanism": "PLAIN", "user": "tester", "password": "any"},
    "ldap": {"auth_mechanism": "LDAP", "user": "tester", "password": "any"},
    "http": {"auth_mechanism": "PLAIN", "use_http_transport": True, "http_path": "cliservice", "user": "tester"},
}
FULL = (
    True,
    127,
    -32767,
    2147483647,
    -9223372036854775807,
    1.5,
    0.1,
    "grün 🦈",
    "varchar",
    "ch",
    b"bytes",
    datetime.date(2024, 2, 29),
    datetime.datetime(2024, 2, 29, 12, 34, 56, 789012),
    Decimal("123456789.125"),
    "[1,2,null]",
    '{"k":1}',
    '{"x":1,"y":"z"}',
)
TYPES = (
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "VARCHAR", "CHAR", "BINARY"),
    *("DATE", "TIMESTAMP", "DECIMAL", "ARRAY", "MAP", "STRUCT"),
)


@contextlib.contextmanager
def connected(port: int, transport: str = "plain", **options: Any) -> Iterator[Any]:
    options = {**TRANSPORTS[transport], **options}
    with contextlib.closing(connect("127.0.0.1", port, **options)) as connection:
        yield connection


@pytest.fixture
def connection(port: int) -> Iterator[Any]:
    with connected(port) as one:
        yield one


@pytest.fixture
def cursor(connection: Any) -> Iterator[Any]:
    with contextlib.closing(connection.cursor()) as one:
        yield one


def answer(cursor: Any, sql: str, *arguments: Any) -> list[tuple[Any, ...]]:
    cursor.execute(sql, *arguments)
    return list(cursor.fetchall())


def texts(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arrays, maps and structs are left as bytes by some versions."""
    return tuple(value.decode() if isinstance(value, bytes) and value != b"bytes" else value for value in row)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_every_type_over_every_transport(port: int, transport: str) -> None:
    with connected(port, transport) as connection, contextlib.closing(connection.cursor()) as cursor:
        cursor.execute("SELECT * FROM every ORDER BY b NULLS LAST")
        assert [one[0] for one in cursor.description] == NAMES
        assert tuple(one[1] for one in cursor.description) == TYPES
        assert cursor.description[NAMES.index("de")][4:6] == (12, 3)
        assert [texts(row) for row in cursor.fetchall()] == [FULL, (None,) * 17]


def test_types_that_are_never_stored(cursor: Any) -> None:
    rows = answer(cursor, "SELECT NULL, INTERVAL '1-2' YEAR TO MONTH, INTERVAL '3 04:05:06.7' DAY TO SECOND")
    assert rows == [(None, "1-2", "3 04:05:06.700000000")]


def test_parameters(cursor: Any) -> None:
    assert answer(cursor, "SELECT %(text)s", {"text": "it's 🦈"}) == [("it's 🦈",)]


def test_rows_in_columns(cursor: Any) -> None:
    cursor.arraysize = 50_000
    cursor.execute("SELECT n, s, d FROM numbers")
    first = cursor.fetchmany(10)
    assert len(first) == 10
    columns = cursor.fetchcolumnar()
    num_rows = sum(len(batch) for batch in columns)
    assert num_rows + 10 <= ROWS
    numbers = [value for batch in columns for value in batch.columns[0].values]
    assert len(set(numbers)) == num_rows


@pytest.mark.parametrize("transport", ["nosasl", "plain", "http"])
def test_many_rows(port: int, transport: str) -> None:
    with connected(port, transport) as connection, contextlib.closing(connection.cursor()) as cursor:
        rows = answer(cursor, "SELECT n, s, d FROM numbers WHERE n < 40000")
        assert len(rows) == len(set(rows)) == 40_000
        assert all(text == f"row {number}" and share == number / 4 for number, text, share in rows)


def test_statements_without_rows_have_no_description(cursor: Any) -> None:
    for sql in (
        "CREATE TABLE impyla_made (x INT)",
        "INSERT INTO impyla_made VALUES (1), (2)",
        "CREATE VIEW impyla_view AS SELECT * FROM impyla_made",
        "SET shark.pool=mine",
        "USE default",
    ):
        cursor.execute(sql)
        assert cursor.description is None, sql
        assert not cursor.has_result_set
    assert answer(cursor, "SELECT sum(x) FROM impyla_view") == [(3,)]
    cursor.execute("DROP VIEW impyla_view")
    cursor.execute("DROP TABLE impyla_made")


def test_metadata_by_regular_expressions(cursor: Any) -> None:
    cursor.get_databases()
    assert {row[0] for row in cursor.fetchall()} >= {"default", "other"}
    cursor.get_tables("default")
    assert {row[2] for row in cursor.fetchall()} >= {"every", "numbers", "parts", "seen"}
    cursor.get_functions()
    assert "upper" in {row[2] for row in cursor.fetchall()}
    assert cursor.table_exists("every")
    assert cursor.table_exists("elsewhere", "other")
    assert not cursor.table_exists("nothing")
    assert cursor.database_exists("other")
    assert not cursor.database_exists("nowhere")
    assert cursor.get_table_schema("parts") == [("k", "INT"), ("v", "STRING"), ("ds", "STRING")]


def test_cursors_have_sessions_of_their_own(connection: Any) -> None:
    with (
        contextlib.closing(connection.cursor(configuration={"shark.pool": "first"})) as one,
        contextlib.closing(connection.cursor()) as other,
    ):
        assert answer(one, "SET shark.pool") == [("shark.pool=first",)]
        assert answer(other, "SET shark.pool") != [("shark.pool=first",)]
        one.execute("CREATE TEMPORARY TABLE passing AS SELECT 1 AS x")
        with pytest.raises(HiveServer2Error, match="Table not found passing"):
            other.execute("SELECT * FROM passing")
        other.execute("USE other")
        assert answer(one, "SELECT count(*) FROM every") == [(2,)]
    with contextlib.closing(connection.cursor()) as later, pytest.raises(HiveServer2Error, match="passing"):
        later.execute("SELECT * FROM passing")


def test_database_of_the_connection(port: int) -> None:
    with connected(port, database="other") as connection, contextlib.closing(connection.cursor()) as cursor:
        assert answer(cursor, "SELECT x FROM elsewhere") == [(7,)]


def test_asynchronous_query(cursor: Any) -> None:
    cursor.execute_async("SELECT count(*) FROM numbers")
    end = time.monotonic() + 30
    while cursor.is_executing():
        assert time.monotonic() < end
    assert cursor.status() == "FINISHED_STATE"
    assert cursor.fetchall() == [(ROWS,)]
    assert "Launching Job 1 out of 1" in cursor.get_log()


def test_cancel_ends_a_long_query_within_a_second(cursor: Any, served: Served) -> None:
    cursor.execute_async(LONG_QUERY)
    assert cursor.is_executing()
    start = time.monotonic()
    cursor.cancel_operation()
    assert time.monotonic() - start < allowed(1)
    served.wait_until_idle()
    assert answer(cursor, "SELECT 1") == [(1,)]


def test_ping_answers(connection: Any, cursor: Any) -> None:
    assert cursor.ping()
    assert answer(cursor, "SELECT 1") == [(1,)]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT * FROM nope", "SemanticException [Error 10001]: Table not found nope"),
        ("SELEC 1", 'did you mean "SELECT"?'),
        ("SELECT assert_true(n < 5) FROM numbers", "assertion failed"),
    ],
)
@pytest.mark.parametrize("transport", ["plain", "http"])
def test_errors(port: int, transport: str, sql: str, said: str) -> None:
    with connected(port, transport) as connection, contextlib.closing(connection.cursor()) as cursor:
        with pytest.raises((HiveServer2Error, OperationalError)) as caught:
            answer(cursor, sql)
        assert said in str(caught.value)
        assert answer(cursor, "SELECT 1") == [(1,)]


def test_passwords(locked: Served) -> None:
    options = {"auth_mechanism": "LDAP", "user": "ada"}
    with (
        connected(locked.port, **options, password="analytical") as connection,
        contextlib.closing(connection.cursor()) as cursor,
    ):
        assert answer(cursor, "SELECT 1") == [(1,)]
    with left_to_the_collector(), pytest.raises(Exception, match="wrong user name or password"):
        connect("127.0.0.1", locked.port, **options, password="wrong")
