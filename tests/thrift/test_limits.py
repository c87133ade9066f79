"""Every limit has an error that names it, and a counter; statements that a remote session may not run."""

from __future__ import annotations

import dataclasses
import socket
import struct
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from thrift.transport.TTransport import TTransportException

import sharkpy
from sharkpy.base.errors import ConfigurationError
from sharkpy.thrift.config import Limits, ServerConfig
from sharkpy.thrift.server import HiveServer
from tests.thrift.caller import ERROR, SUCCESS, Caller, State, over_http, over_sasl
from tests.thrift.conftest import LONG_QUERY, MAKE_NUMBERS, NUMBERS, Serve
from tests.thrift.figures import figure
from tests.unclosed import left_to_the_collector
from tests.waiting import allowed, until


def refused(server: HiveServer, limit: str) -> float:
    return figure(server.parts.metrics, "sharkpy_refused_total", limit=limit)


def test_connections(serve: Serve) -> None:
    server = serve(connections=2)
    with Caller(server.port) as one, Caller(server.port):
        with pytest.raises(Exception, match="2 connections"):
            Caller(server.port)
        with left_to_the_collector(), pytest.raises(TTransportException, match="2 connections"):
            over_sasl(server.port, "ada", "x")
        assert one.rows("SELECT 1") == [[1]]
    until(lambda: refused(server, "connections") == 2)


def test_sessions(serve: Serve) -> None:
    server = serve(sessions=2)
    with Caller(server.port) as one, Caller(server.port):
        with Caller(server.port) as third:
            status = third.opened.status
            assert (status.statusCode, status.sqlState) == (ERROR, "53300")
            assert "the server allows 2 sessions" in status.errorMessage
        one.close_session()
        with Caller(server.port) as third:
            assert third.opened.status.statusCode == SUCCESS
    assert refused(server, "sessions") == 1


def test_sessions_of_a_user(serve: Serve) -> None:
    server = serve(sessions_per_user=1)
    with (
        Caller(server.port, transport=over_http(server.port, "ada", "x")),
        Caller(server.port, transport=over_http(server.port, "bob", "x")) as other,
        Caller(server.port, transport=over_http(server.port, "ada", "x")) as again,
    ):
        assert other.opened.status.statusCode == SUCCESS
        assert again.opened.status.sqlState == "53300"
        assert "1 sessions of a user (ada)" in again.opened.status.errorMessage
    assert refused(server, "sessions_per_user") == 1


def test_operations_of_a_session(serve: Serve) -> None:
    server = serve(operations_per_session=2)
    with Caller(server.port) as caller:
        first = caller.begin("SELECT 1")
        caller.begin("SELECT 1")
        status = caller.execute("SELECT 1").status
        assert (status.sqlState, status.errorMessage.split(";")[0]) == (
            "53300",
            "the server allows 2 operations in a session",
        )
        caller.close(first)
        assert caller.rows("SELECT 1") == [[1]]
        assert len(server.parts.sessions._owners) == 1
    assert refused(server, "operations_per_session") == 1


@pytest.mark.parametrize("is_async", [False, True])
def test_statements_at_once(serve: Serve, is_async: bool) -> None:
    server = serve(concurrent_operations=1)
    with Caller(server.port) as one, Caller(server.port) as other:
        running = one.begin(LONG_QUERY)
        status = other.execute("SELECT 1", is_async=is_async).status
        assert status.sqlState == "53300"
        assert "1 statements at once" in status.errorMessage
        one.cancel(running)
        deadline = time.monotonic() + 60
        while other.execute("SELECT 1").status.statusCode != SUCCESS:
            assert time.monotonic() < deadline, "the place is free again"
        assert other.execute("SELECT nothing").status.sqlState == "42703"
        assert other.rows("SELECT 1") == [[1]], "nor does a wrong statement keep it"
    assert refused(server, "concurrent_operations") >= 1


def test_seconds_of_a_query(serve: Serve) -> None:
    server = serve(query_seconds=0.5)
    with Caller(server.port) as caller:
        answer = caller.until_ended(caller.begin(LONG_QUERY, queryTimeout=100))
        assert (answer.operationState, answer.sqlState) == (State.TIMEDOUT_STATE, "57014")
    until(lambda: refused(server, "query_seconds") == 1)
    until(lambda: figure(server.parts.metrics, "sharkpy_statement_seconds_count", state="timed_out") == 1)


_LONG_TEXTS = {
    "a text of many words": "SELECT " + "n, " * 300_000 + "n FROM numbers",
    "many terms": "SELECT n FROM numbers WHERE " + " OR ".join(f"(n = {n} AND n < {n})" for n in range(60_000)),
    "their plan": "EXPLAIN SELECT n FROM numbers WHERE " + " OR ".join(f"(n = {n} AND n < {n})" for n in range(60_000)),
    "many constants": "SELECT n IN (" + ", ".join(f"{n}.5" for n in range(200_000)) + ") FROM numbers",
    "many queries": " UNION ALL ".join(["SELECT n FROM numbers"] * 50_000),
}


@pytest.mark.variants(3)
@pytest.mark.parametrize("name", _LONG_TEXTS)
def test_seconds_count_from_the_first_byte_of_a_text(serve: Serve, name: str) -> None:
    """The limit ends a statement that is still read and bound, while another client's take their usual time."""
    # Before the texts come to be too long, which takes a second.
    server, unlimited = serve(query_seconds=0.4), serve()
    with Caller(server.port) as caller, Caller(unlimited.port) as other:
        answers: list[Any] = []
        start = time.monotonic()
        thread = threading.Thread(target=lambda: answers.append(caller.execute(_LONG_TEXTS[name])))
        thread.start()
        taken = []
        while thread.is_alive():
            begin = time.monotonic()
            assert other.rows("SELECT 1") == [[1]]
            taken.append(time.monotonic() - begin)
        thread.join()
        assert time.monotonic() - start < 0.4 + allowed(2)
        assert (answers[0].status.statusCode, answers[0].status.sqlState) == (ERROR, "57014")
        assert max(taken) < allowed(1)
    until(lambda: refused(server, "query_seconds") == 1)


@pytest.mark.variants(2)
@pytest.mark.parametrize(
    ("key", "value", "text"),
    [("shark.query.queue.max", 0, "shark.query.queue.max"), ("shark.query.queue.timeout", 0.3, "0.3 s")],
)
def test_the_queue_of_the_engine(tmp_path: Path, key: str, value: float, text: str) -> None:
    conf = {"shark.query.max.concurrent": 1, "shark.query.short.max.rows": 0, key: value}
    with sharkpy.connect("local[2]", tmp_path / "w", **conf) as session:
        session.sql(MAKE_NUMBERS).close()
        with HiveServer(session, ServerConfig(port=0)) as server:
            with Caller(server.port) as one, Caller(server.port) as other:
                running = one.begin(LONG_QUERY)
                until(lambda: session._shared.admission.num_running == 1)
                answer = other.until_ended(other.begin("SELECT sum(n) FROM numbers"))
                assert (answer.operationState, answer.sqlState) == (State.ERROR_STATE, "53300")
                assert text in answer.errorMessage
                one.cancel(running)
            until(lambda: refused(server, "queue") == 1)


def test_bytes_of_a_request(serve: Serve) -> None:
    server = serve(frame_bytes=10_000)
    with (
        Caller(server.port, transport=over_sasl(server.port, "ada", "x")) as caller,
        pytest.raises(Exception, match="larger than 10000 bytes"),
    ):
        caller.execute(f"SELECT '{'x' * 20_000}'")
    until(lambda: refused(server, "frame") == 1)


def test_seconds_to_log_in(serve: Serve) -> None:
    server = serve(login_seconds=0.3)
    with socket.create_connection(("127.0.0.1", server.port)) as idle:
        idle.sendall(struct.pack("!BI", 1, 5))
        idle.settimeout(5)
        begin = time.monotonic()
        assert idle.recv(100) == b""
        assert time.monotonic() - begin < allowed(2)
    until(lambda: refused(server, "timeout") == 1)


def test_rows_of_an_idle_reader_are_few(serve: Serve) -> None:
    others = {one.ident for one in threading.enumerate()}
    server = serve(rows_buffered=5_000)
    with Caller(server.port) as caller:
        operation = caller.begin("SELECT a.n FROM numbers a CROSS JOIN numbers b")
        caller.until_ended(operation)
        seen = [0.0, -1.0]

        def is_full() -> bool:
            time.sleep(0.1)
            seen.append(figure(server.parts.metrics, "sharkpy_rows_buffered"))
            return 0 < seen[-1] == seen[-2]

        until(is_full)
        assert seen[-1] < 200_000, "a batch more than the limit at most"
        own = (one.name for one in threading.enumerate() if one.ident not in others)
        busy = [name for name in own if name.startswith("sharkpy-operation")]
        assert len(busy) <= 2
        caller.close(operation)
        assert figure(server.parts.metrics, "sharkpy_rows_buffered") == 0
        assert figure(server.parts.metrics, "sharkpy_buffered_bytes") == 0


def test_zero_is_no_limit(serve: Serve) -> None:
    floats = ("login_seconds", "poll_seconds", "drain_seconds")
    names = [one.name for one in dataclasses.fields(Limits) if one.name not in (*floats, "frame_bytes")]
    server = serve(**dict.fromkeys(names, 0))
    with Caller(server.port) as caller:
        for _ in range(60):
            caller.begin("SELECT 1")
        operation = caller.execute("SELECT n FROM numbers").operationHandle
        assert len(caller.fetch(operation, 50_000).results.columns[0].i64Val.values) == 50_000


# What remote sessions may not do


@pytest.fixture
def bounded(serve: Serve, tmp_path: Path) -> HiveServer:
    (tmp_path / "open").mkdir()
    (tmp_path / "closed").mkdir()
    (tmp_path / "open" / "link").symlink_to(tmp_path / "closed")
    return serve(location_folders=(tmp_path / "open",))


@pytest.mark.parametrize("key", ["shark.user", "shark.driver.memory", "shark.test.join", "spark.executor.memory"])
def test_settings_of_the_owner_are_kept(bounded: HiveServer, key: str) -> None:
    with Caller(bounded.port) as caller:
        for answer in (
            caller.execute(f"SET {key}=1"),
            caller.execute("SELECT 1", confOverlay={key: "1"}),
            caller.execute("SELECT 1", confOverlay={f"set:hiveconf:{key}": "1"}),
        ):
            assert (answer.status.statusCode, answer.status.sqlState) == (ERROR, "42501")
            assert f"{key} cannot be set" in answer.status.errorMessage
    for prefix in ("", "set:hiveconf:", "set:system:"):
        with Caller(bounded.port, configuration={f"{prefix}{key}": "1"}) as caller:
            assert caller.opened.status.sqlState == "42501"
    assert refused(bounded, "restriction") == 6


def test_places_out_of_bounds(bounded: HiveServer, tmp_path: Path) -> None:
    with Caller(bounded.port) as caller:
        for number, place in enumerate(("closed", "open/../closed", "open/link", "open/link/x")):
            text = f"CREATE EXTERNAL TABLE outside{number} (a INT) LOCATION '{tmp_path}/{place}'"
            assert caller.execute(text).status.sqlState == "42501"
        caller.rows(f"CREATE EXTERNAL TABLE inside (a INT) LOCATION '{tmp_path}/open/here'")
        caller.rows("DROP TABLE inside")
        assert caller.execute("LOAD DATA LOCAL INPATH '/etc/passwd' INTO TABLE numbers").status.sqlState == "42501"


def test_folders_that_hold_tables(bounded: HiveServer, engine: sharkpy.SharkContext, tmp_path: Path) -> None:
    folder, warehouse = tmp_path / "open", engine.catalog.warehouse_dir
    with Caller(bounded.port) as caller:
        for verb in ("INSERT OVERWRITE DIRECTORY", "INSERT OVERWRITE LOCAL DIRECTORY"):
            for place in (
                folder,
                f"{folder}/x/..",
                f"{warehouse}/.blocks",
                f"{warehouse}/.blocks/x",
                warehouse,
                "/none",
            ):
                assert caller.execute(f"{verb} '{place}' SELECT 1").status.sqlState == "42501"
            for place in (f"{warehouse}/numbers", f"{warehouse}/x/../numbers/", f"{warehouse}/numbers/below"):
                assert caller.execute(f"{verb} '{place}' SELECT 1").status.sqlState == "42809"
        assert caller.rows("SELECT count(*) FROM numbers") == [[NUMBERS]]
        assert caller.execute(f"INSERT OVERWRITE DIRECTORY '{folder}/mine' SELECT 1").status.statusCode == SUCCESS


@pytest.mark.parametrize("path", ["/dev/zero", "/etc/passwd", "/no/such/file", "/root"])
def test_files_that_properties_name(bounded: HiveServer, path: str) -> None:
    """One error for all of them, at once."""
    with Caller(bounded.port) as caller:
        started = time.monotonic()
        status = caller.execute(f"CREATE TABLE s STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='{path}')").status
        assert status.sqlState == "42501"
        assert f'"{path}" is out of this session\'s bounds' in status.errorMessage
        assert time.monotonic() - started < allowed(2.0)


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    "text",
    [
        "ADD JAR /tmp/x.jar",
        "ADD FILE /tmp/x.py",
        "SELECT TRANSFORM(n) USING 'cat' AS n FROM numbers",
        "FROM numbers INSERT OVERWRITE DIRECTORY '/tmp/out' SELECT n",
        "INSERT OVERWRITE LOCAL DIRECTORY '/tmp/out' SELECT n FROM numbers",
        "CREATE TEMPORARY FUNCTION f AS 'java.lang.Runtime'",
        "dfs -ls /",
        "!ls",
    ],
)
def test_programs_and_files_of_the_machine(bounded: HiveServer, text: str) -> None:
    with Caller(bounded.port) as caller:
        status = caller.execute(text).status
        assert status.statusCode == ERROR
        assert status.sqlState in ("0A000", "42601", "42501"), status.errorMessage
        assert caller.rows("SELECT 1") == [[1]]


@pytest.mark.parametrize("allows_code", [False, True])
def test_functions_of_sessions(serve: Serve, allows_code: bool) -> None:
    with Caller(serve(allows_code=allows_code).port) as caller:
        status = caller.execute("CREATE TEMPORARY FUNCTION f AS 'tests.functions.users_functions.collatz'").status
        assert status.sqlState == (None if allows_code else "42501"), status.errorMessage
        if allows_code:
            assert caller.rows("SELECT f(7)") == [[16]]


@pytest.mark.parametrize("allows_code", [False, True])
def test_scripts_of_sessions(serve: Serve, allows_code: bool) -> None:
    with Caller(serve(allows_code=allows_code).port) as caller:
        text = "SELECT TRANSFORM('x') USING 'tr x y' AS (v)"
        status = caller.execute(text).status
        assert status.sqlState == (None if allows_code else "42501"), status.errorMessage
        if allows_code:
            assert caller.rows(text) == [["y"]]


def test_a_limit_is_no_negative_number() -> None:
    with pytest.raises(ConfigurationError, match="sessions"):
        Limits(sessions=-1)
    with pytest.raises(ConfigurationError, match="frame_bytes"):
        Limits(frame_bytes=0)
