"""GENERATE through HiveServer2 and the DB-API: rows, tables, logs, cancel, and limits of remote sessions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sharkpy
from sharkpy import dbapi
from sharkpy.thrift.bindings import ttypes
from sharkpy.thrift.config import ServerConfig
from sharkpy.thrift.server import HiveServer
from tests.thrift.caller import ERROR, Caller, State, columns_of
from tests.waiting import until

_OUTSIDE = """
from sharkpy.ml import TableRDD

def endless(table: TableRDD):
    while True:
        table.count()

def sums(table: TableRDD, by: int):
    return table.map(lambda row: (row.x, row.x + by))
"""


_SECONDS = 100.0
"""Limit on seconds: the first job starts a JVM."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveServer]:
    """Server without --allow-code; the engine's owner has made two functions."""
    folder = tmp_path_factory.mktemp("clients")
    (folder / "outside.py").write_text(_OUTSIDE)
    with sharkpy.connect("local[2]", folder / "warehouse") as engine:
        engine.sql("CREATE TABLE spots AS SELECT CAST(id AS DOUBLE) AS x, CAST(id % 3 AS DOUBLE) AS y FROM range(30)")
        for name in ("endless", "sums"):
            engine.sql(f"CREATE FUNCTION {name} AS 'outside.{name}' USING FILE '{folder / 'outside.py'}'")
        with HiveServer(engine, ServerConfig(port=0)) as server:
            yield server


@pytest.fixture
def caller(server: HiveServer) -> Iterator[Caller]:
    with Caller(server.port) as connected:
        yield connected


def test_rows(caller: Caller) -> None:
    operation = caller.begin("GENERATE KMeans(spots, 3, model => 'parts')")
    assert operation.hasResultSet
    assert caller.until_ended(operation, _SECONDS).operationState == State.FINISHED_STATE
    columns = caller.rows("GENERATE KMeans(spots, 3)")
    assert columns[0] == list(range(30))
    assert set(columns[2]) == {0, 1, 2}
    assert caller.rows("SELECT x FROM spots WHERE predict('parts', x, y) = predict('parts', 0, 0) AND x = 0") == [[0.0]]
    log = caller.fetch(operation, log=True).results.columns[0].stringVal.values
    assert any("Executing command" in line for line in log)
    caller.execute("DROP TABLE parts")


def test_a_table(caller: Caller) -> None:
    operation = caller.begin("GENERATE sums(spots, 2) AS TABLE moved")
    assert not operation.hasResultSet
    assert caller.until_ended(operation, _SECONDS).operationState == State.FINISHED_STATE
    assert caller.rows("SELECT count(*), sum(c1 - c0) FROM moved AS t (c0, c1)") == [[30], [60.0]]
    answer = caller.execute("GENERATE sums(spots, 2) AS TABLE moved")
    assert (answer.status.statusCode, answer.status.sqlState) == (ERROR, "42S01")


def test_functions_are_listed(caller: Caller) -> None:
    request = ttypes.TGetFunctionsReq(sessionHandle=caller.session, functionName="%rank%")
    answer = caller.client.GetFunctions(request)
    columns = columns_of(caller.fetch(answer.operationHandle))
    assert dict(zip(columns[2], columns[4], strict=True))["pagerank"] == 2


def test_errors_come_at_once_where_names_are_wrong(caller: Caller) -> None:
    for text, state in (
        ("GENERATE KMean(spots, 3)", "42883"),
        ("GENERATE KMeans(nowhere, 3)", "42S02"),
        ("GENERATE KMeans(spots 3)", "42601"),
    ):
        answer = caller.execute(text, is_async=True)
        assert (answer.status.statusCode, answer.status.sqlState) == (ERROR, state)


def test_cancel(caller: Caller) -> None:
    operation = caller.begin("GENERATE endless(spots) AS TABLE never")
    until(lambda: caller.status(operation).operationState == State.RUNNING_STATE)
    caller.cancel(operation)
    answer = caller.until_ended(operation, _SECONDS)
    assert (answer.operationState, answer.sqlState) == (State.CANCELED_STATE, "57014")
    assert caller.rows("SHOW TABLES LIKE 'never'") == [[]]
    assert caller.rows("SELECT 1") == [[1]]


def test_remote_sessions_bring_no_code(caller: Caller) -> None:
    for text in (
        "CREATE TEMPORARY FUNCTION mine AS 'outside.sums'",
        "GENERATE KMeans((SELECT TRANSFORM (x) USING 'cat' AS (x DOUBLE) FROM spots), 2)",
    ):
        answer = caller.execute(text)
        assert (answer.status.statusCode, answer.status.sqlState) == (ERROR, "42501")


def test_db_api(tmp_path: object) -> None:
    with dbapi.connect(warehouse=str(tmp_path)) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE spots AS SELECT CAST(id AS DOUBLE) AS x FROM range(4)")
        cursor.execute("GENERATE KMeans(spots, 1)")
        assert [name for name, *_ in cursor.description or ()] == ["x", "cluster"]
        assert sorted(cursor.fetchall()) == [(0.0, 0), (1.0, 0), (2.0, 0), (3.0, 0)]
        cursor.execute("GENERATE KMeans(spots, 1) AS made")
        cursor.execute("SELECT count(*) FROM made")
        assert cursor.fetchall() == [(4,)]
