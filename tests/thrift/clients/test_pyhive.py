"""PyHive over each of its transports."""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyhive import hive
from pyhive.exc import OperationalError, ProgrammingError
from TCLIService.ttypes import TOperationState
from thrift.Thrift import TApplicationException
from thrift.transport.TTransport import TTransportException

import sharkpy
from sharkpy.thrift.config import ServerConfig
from tests.thrift.clients.following import follow
from tests.thrift.clients.served import LONG_QUERY, LONG_STREAM, NAMES, ROWS, Served, serving
from tests.waiting import allowed

Connect = Callable[..., Any]
TRANSPORTS: dict[str, dict[str, Any]] = {
    "nosasl": {"auth": "NOSASL"},
    "plain": {"auth": "NONE"},
    "ldap": {"auth": "LDAP", "password": "any"},
    "custom": {"auth": "CUSTOM", "password": "any"},
    "http": {"scheme": "http"},
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
    "2024-02-29",
    datetime.datetime(2024, 2, 29, 12, 34, 56, 789012),
    Decimal("123456789.125"),
    "[1,2,null]",
    '{"k":1}',
    '{"x":1,"y":"z"}',
)
TYPE_CODES = (
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "VARCHAR", "CHAR", "BINARY"),
    *("DATE", "TIMESTAMP", "DECIMAL", "ARRAY", "MAP", "STRUCT"),
)


@contextlib.contextmanager
def connected(port: int, transport: str = "plain", **options: Any) -> Iterator[Any]:
    options = {"username": "tester", **TRANSPORTS[transport], **options}
    with contextlib.closing(hive.connect("127.0.0.1", port, **options)) as connection:
        yield connection


@pytest.fixture
def cursor(port: int) -> Iterator[Any]:
    with connected(port) as connection:
        yield connection.cursor()


def answer(cursor: Any, sql: str, *arguments: Any) -> list[tuple[Any, ...]]:
    cursor.execute(sql, *arguments)
    return list(cursor.fetchall())


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_every_type_over_every_transport(port: int, transport: str) -> None:
    with connected(port, transport) as connection:
        cursor = connection.cursor()
        assert answer(cursor, "SELECT * FROM every ORDER BY b NULLS LAST") == [FULL, (None,) * 17]
        assert tuple(one[1].removesuffix("_TYPE") for one in cursor.description) == TYPE_CODES
        assert [one[0] for one in cursor.description] == NAMES


def test_types_that_are_never_stored(cursor: Any) -> None:
    rows = answer(cursor, "SELECT NULL, INTERVAL '1-2' YEAR TO MONTH, INTERVAL '3 04:05:06.7' DAY TO SECOND")
    assert rows == [(None, "1-2", "3 04:05:06.700000000")]


def test_parameters_and_names(cursor: Any) -> None:
    rows = answer(cursor, "SELECT %(text)s AS `a b`, %(number)s AS n", {"text": "it's \\ \n 🦈", "number": -7})
    assert rows == [("it's \\ \n 🦈", -7)]
    assert [one[0] for one in cursor.description] == ["a b", "n"]


@pytest.mark.parametrize(("transport", "num_rows"), [("plain", ROWS), ("nosasl", 20_000), ("http", 20_000)])
def test_many_rows(port: int, transport: str, num_rows: int) -> None:
    with connected(port, transport) as connection:
        cursor = connection.cursor(arraysize=50_000)
        cursor.execute(f"SELECT n, s, d FROM numbers WHERE n < {num_rows}")
        assert cursor.fetchone() is not None
        rows = cursor.fetchmany(1000)
        assert len(rows) == 1000
        rest = cursor.fetchall()
        assert len(rest) == num_rows - 1001
        assert {row[0] for row in rest}.isdisjoint({row[0] for row in rows})
        assert all(text == f"row {number}" and share == number / 4 for number, text, share in rest)
        assert cursor.fetchone() is None


def test_statements_without_rows_have_no_description(cursor: Any) -> None:
    for sql in (
        "CREATE TABLE made (x INT)",
        "INSERT INTO made VALUES (1), (2)",
        "INSERT OVERWRITE TABLE made SELECT 3",
        "CREATE TABLE made_of AS SELECT * FROM made",
        "ALTER TABLE made RENAME TO made_again",
        "CREATE VIEW made_view AS SELECT * FROM made_again",
        "DROP VIEW made_view",
        "SET shark.pool=mine",
        "USE other",
        "USE default",
        "DROP TABLE made_again",
    ):
        cursor.execute(sql)
        assert cursor.description is None, sql
        with pytest.raises(ProgrammingError, match="No result set"):
            cursor.fetchone()
    assert answer(cursor, "SELECT * FROM made_of") == [(3,)]
    cursor.execute("DROP TABLE made_of")


def test_show_answers_as_hive_does(cursor: Any) -> None:
    tables = answer(cursor, "SHOW TABLES")
    assert {("every",), ("numbers",), ("parts",), ("seen",)} <= set(tables)
    assert [one[0] for one in cursor.description] == ["tab_name"]
    assert ("other",) in answer(cursor, "SHOW DATABASES")
    assert answer(cursor, "SHOW PARTITIONS parts") == [("ds=2024-01-01",)]


def test_database_of_the_connection_and_use(port: int) -> None:
    with connected(port, database="other") as connection:
        cursor = connection.cursor()
        assert answer(cursor, "SELECT x FROM elsewhere") == [(7,)]
        cursor.execute("USE default")
        assert answer(cursor, "SELECT count(*) FROM every") == [(2,)]
    with pytest.raises(OperationalError, match="nowhere"):
        hive.connect("127.0.0.1", port, database="nowhere")


def test_settings_belong_to_their_session(port: int) -> None:
    with connected(port, configuration={"shark.pool": "first"}) as one, connected(port) as other:
        mine, theirs = one.cursor(), other.cursor()
        assert answer(mine, "SET shark.pool") == [("shark.pool=first",)]
        theirs.execute("SET shark.pool=second")
        assert answer(mine, "SET shark.pool") == [("shark.pool=first",)]
        mine.execute("SET hivevar:x=41")
        assert answer(mine, "SELECT ${hivevar:x} + 1") == [(42,)]


def test_temporary_tables_are_gone_with_their_session(port: int) -> None:
    with connected(port) as connection:
        cursor = connection.cursor()
        cursor.execute("CREATE TEMPORARY TABLE passing AS SELECT 1 AS x")
        cursor.execute("CREATE TEMPORARY VIEW glimpse AS SELECT x + 1 AS y FROM passing")
        assert answer(connection.cursor(), "SELECT y FROM glimpse") == [(2,)]
        with connected(port) as other, pytest.raises(OperationalError, match="Table not found passing"):
            other.cursor().execute("SELECT * FROM passing")
    with connected(port) as connection:
        cursor = connection.cursor()
        assert not {("passing",), ("glimpse",)} & set(answer(cursor, "SHOW TABLES"))


@pytest.mark.parametrize(
    ("sql", "state", "code", "said"),
    [
        ("SELECT * FROM nope", "42S02", 10001, "SemanticException [Error 10001]: Table not found nope"),
        ("SELECT nope FROM every", "42703", 10004, "nope"),
        ("SELEC 1", "42601", 40000, "ParseException"),
        ("SELECT 1 +", "42601", 40000, "ParseException"),
        ("USE nowhere", "3F000", 10072, "nowhere"),
        ("CREATE TABLE every (x INT)", "42S01", 10073, "every"),
        ("SELECT assert_true(n < 5) FROM numbers", "22000", 2, "assert"),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_errors_are_one_line_with_state_and_code(
    cursor: Any, sql: str, state: str, code: int, said: str, is_async: bool
) -> None:
    failed: Any
    try:
        cursor.execute(sql, async_=is_async)
        if is_async:
            failed = finished(cursor, TOperationState.ERROR_STATE)
        else:
            cursor.fetchall()
    except OperationalError as error:
        failed = error.args[0].status
    assert said in failed.errorMessage
    assert "\n" not in failed.errorMessage
    assert (failed.sqlState, failed.errorCode) == (state, code)
    assert not getattr(failed, "infoMessages", None)
    assert answer(cursor, "SELECT 1") == [(1,)]


def finished(cursor: Any, expected: int = TOperationState.FINISHED_STATE, seconds: float = 60.0) -> Any:
    end = time.monotonic() + seconds
    while (status := cursor.poll()).operationState in (TOperationState.PENDING_STATE, TOperationState.RUNNING_STATE):
        assert time.monotonic() < end
    assert TOperationState._VALUES_TO_NAMES[status.operationState] == TOperationState._VALUES_TO_NAMES[expected]
    return status


@pytest.mark.parametrize("transport", ["nosasl", "plain", "http"])
def test_asynchronous_query_with_its_log(port: int, transport: str) -> None:
    with connected(port, transport) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT count(*), sum(n) FROM numbers", async_=True)
        assert finished(cursor).hasResultSet
        log = cursor.fetch_logs()
        assert cursor.fetchall() == [(ROWS, ROWS * (ROWS - 1) // 2)]
        text = "\n".join([*log, *cursor.fetch_logs()])
        assert "INFO  : Compiling command(queryId=" in text
        assert "Launching Job 1 out of 1" in text
        assert "Stage-1 map = " in text
        assert "Completed executing command" in text


def test_progress_of_a_running_query(cursor: Any) -> None:
    cursor.execute(LONG_QUERY, async_=True)
    progress = None
    for _ in range(20):
        progress = cursor.poll().progressUpdateResponse
        assert len(progress.headerNames) == 9
        assert all(len(row) == 9 for row in progress.rows)
        if progress.rows:
            break
    assert progress is not None
    assert progress.rows[0][0].startswith("Stage-1")
    assert progress.rows[-1][2] == "RUNNING"
    assert 0 <= progress.progressedPercentage <= 1
    cursor.cancel()
    finished(cursor, TOperationState.CANCELED_STATE)


@pytest.mark.parametrize("sql", [LONG_QUERY, LONG_STREAM])
def test_cancel_ends_a_long_query_within_a_second(cursor: Any, served: Served, sql: str) -> None:
    cursor.execute(sql, async_=True)
    cursor.poll()
    start = time.monotonic()
    cursor.cancel()
    status = finished(cursor, TOperationState.CANCELED_STATE)
    assert time.monotonic() - start < allowed(1)
    assert status.sqlState == "57014"
    assert "cancelled" in status.errorMessage
    served.wait_until_idle()
    assert answer(cursor, "SELECT 1") == [(1,)]


def test_a_connection_that_is_closed_ends_its_long_query(port: int, served: Served) -> None:
    with connected(port) as connection:
        cursor = connection.cursor()
        cursor.execute(LONG_QUERY, async_=True)
        assert cursor.poll().operationState == TOperationState.RUNNING_STATE
    served.wait_until_idle()


def test_many_cursors_of_one_connection(port: int) -> None:
    with connected(port) as connection:
        cursors = [connection.cursor(arraysize=10) for _ in range(20)]
        for number, cursor in enumerate(cursors):
            cursor.execute(f"SELECT {number}, n FROM numbers WHERE n < 25")
        assert [max(cursor.fetchall()) for cursor in cursors] == [(number, 24) for number in range(20)]
        for cursor in cursors:
            cursor.close()


@pytest.mark.parametrize("auth", ["LDAP", "CUSTOM"])
def test_passwords(locked: Served, auth: str) -> None:
    with contextlib.closing(
        hive.connect("127.0.0.1", locked.port, username="ada", password="analytical", auth=auth)
    ) as connection:
        assert answer(connection.cursor(), "SELECT count(*) FROM every") == [(2,)]
        assert [one.user for one in locked.server.parts.sessions.sessions()] == ["ada"]


@pytest.mark.parametrize(
    ("user", "password"), [("ada", "wrong"), ("ada", "x" * 100_000), ("bob", "analytical"), ("ädä", "analytical")]
)
def test_wrong_passwords(locked: Served, user: str, password: str) -> None:
    with pytest.raises(TTransportException, match=r"wrong user name or password|a login of more than"):
        hive.connect("127.0.0.1", locked.port, username=user, password=password, auth="LDAP")


def test_passwords_over_http(locked: Served) -> None:
    options = {"scheme": "http", "username": "ada", "auth": "BASIC"}
    with contextlib.closing(hive.connect("127.0.0.1", locked.port, password="analytical", **options)) as connection:
        assert answer(connection.cursor(), "SELECT 1") == [(1,)]
    with pytest.raises(TApplicationException, match="wrong user name or password"):
        hive.connect("127.0.0.1", locked.port, password="wrong", **options)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"auth": "NOSASL"}, TApplicationException),
        ({"auth": "NONE"}, TTransportException),
        ({"scheme": "http"}, TApplicationException),
    ],
)
def test_no_password_where_one_is_needed(locked: Served, options: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind, match="password"):
        hive.connect("127.0.0.1", locked.port, username="ada", **options)


def test_a_continuous_table(warehouse: sharkpy.SharkContext, tmp_path: Path) -> None:
    config = ServerConfig(port=0, location_folders=(tmp_path,))
    with serving(warehouse, config) as open_one, connected(open_one.port) as connection:
        cursor = connection.cursor()

        def ask(text: str) -> list[list[str]]:
            cursor.execute(text)
            return [list(map(str, row)) for row in cursor.fetchall()] if cursor.description else []

        follow(ask, tmp_path / "in", "by_pyhive")
