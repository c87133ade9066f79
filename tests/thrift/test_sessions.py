"""Sessions: what is their own, how they are configured, whose handles count, and how they end."""

from __future__ import annotations

import contextlib
import gc
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import sharkpy
from sharkpy.thrift.auth import set_password
from sharkpy.thrift.bindings import ttypes
from sharkpy.thrift.config import ServerConfig
from sharkpy.thrift.operation import new_handle_identifier
from sharkpy.thrift.server import HiveServer
from tests.thrift.caller import ERROR, INVALID, SUCCESS, Caller, State, columns_of, over_http, over_sasl
from tests.thrift.conftest import LONG_QUERY, MAKE_NUMBERS, NUMBERS, Serve
from tests.thrift.figures import figure
from tests.thrift.test_operations import wait_until_idle
from tests.waiting import PATIENCE, allowed, until


@pytest.fixture
def server(serve: Serve) -> HiveServer:
    return serve()


@pytest.fixture
def locked(serve: Serve, tmp_path: Path) -> Iterator[HiveServer]:
    for user in ("ada", "bob"):
        set_password(tmp_path / "passwords", user, f"{user}'s")
    return serve(auth="password", password_file=tmp_path / "passwords")


def test_identifiers_share_nothing() -> None:
    made = [new_handle_identifier() for _ in range(1000)]
    halves = {half for one in made for half in (one.guid, one.secret)}
    assert len(halves) == 2000
    assert {len(half) for half in halves} == {16}
    assert all(re.fullmatch(rb"[A-Za-z0-9_-]+", half) for half in halves)


def test_settings_database_and_temporary_objects_are_its_own(server: HiveServer) -> None:
    with Caller(server.port) as one, Caller(server.port) as other:
        one.rows("CREATE DATABASE IF NOT EXISTS own")
        one.rows("USE own")
        one.rows("SET shark.skew.min.rows=3")
        one.rows("CREATE TEMPORARY VIEW passing AS SELECT 1 AS x")
        assert one.rows("SELECT current_database()") == [["own"]]
        assert one.rows("SET shark.skew.min.rows") == [["shark.skew.min.rows=3"]]
        assert one.rows("SELECT x FROM passing") == [[1]]
        assert other.rows("SELECT current_database()") == [["default"]]
        assert other.rows("SET shark.skew.min.rows") == [["shark.skew.min.rows=20000"]]
        assert other.execute("SELECT x FROM passing").status.sqlState == "42S02"
        one.rows("USE default")
        one.rows("DROP DATABASE own CASCADE")


def test_the_user_is_who_logged_in(locked: HiveServer, server: HiveServer) -> None:
    with Caller(server.port) as caller:
        assert caller.rows("SELECT current_user()") == [["ada"]]
    with Caller(locked.port, transport=over_http(locked.port, "bob", "bob's")) as caller:
        assert caller.rows("SELECT current_user()") == [["bob"]], "whoever it says in OpenSession"


def test_configuration_of_a_new_session(server: HiveServer) -> None:
    configuration = {
        "use:database": "default",
        "set:hiveconf:shark.skew.min.rows": "5",
        "set:hivevar:day": "2024-01-01",
        "set:system:user.country": "GR",
        "hive.some.key": "kept",
    }
    with Caller(server.port, configuration=configuration) as caller:
        assert caller.opened.status.statusCode == SUCCESS
        assert caller.rows("SET shark.skew.min.rows") == [["shark.skew.min.rows=5"]]
        assert caller.rows("SET hivevar:day") == [["hivevar:day=2024-01-01"]]
        assert caller.rows("SET user.country") == [["user.country=GR"]]
        assert caller.rows("SET hive.some.key") == [["hive.some.key=kept"]]


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("configuration", "sqlstate", "text"),
    [
        ({"use:database": "nowhere"}, "3F000", "nowhere"),
        ({"use:database": "a`; DROP TABLE numbers"}, "3F000", "drop table numbers"),
        ({"set:hiveconf:shark.query.timeout": "soon"}, "22023", "soon"),
        ({"hive.server2.proxy.user": "root"}, "28000", 'may not act for "root"'),
        ({"set:hiveconf:hive.server2.proxy.user": "root"}, "28000", 'may not act for "root"'),
    ],
)
def test_a_wrong_configuration_leaves_no_session(
    server: HiveServer, configuration: dict[str, str], sqlstate: str, text: str
) -> None:
    before = len(server.parts.engine_session._shared.members())
    with Caller(server.port, configuration=configuration) as caller:
        status = caller.opened.status
        assert (status.statusCode, status.sqlState) == (ERROR, sqlstate)
        assert text in status.errorMessage
        assert not server.parts.sessions.sessions()
        assert len(server.parts.engine_session._shared.members()) == before


def test_acting_for_oneself_is_allowed(server: HiveServer) -> None:
    with Caller(server.port, configuration={"hive.server2.proxy.user": "ada"}) as caller:
        assert caller.rows("SELECT current_user()") == [["ada"]]


@pytest.mark.parametrize("is_async", [False, True])
def test_an_overlay_holds_for_its_statement_alone(server: HiveServer, is_async: bool) -> None:
    with Caller(server.port) as caller:
        overlay = {"shark.skew.min.rows": "7", "set:hiveconf:hive.some.key": "x"}
        operation = caller.execute("SET shark.skew.min.rows", is_async=is_async, confOverlay=overlay).operationHandle
        assert columns_of(caller.fetch(operation)) == [["shark.skew.min.rows=7"]]
        assert caller.rows("SET shark.skew.min.rows") == [["shark.skew.min.rows=20000"]]
        assert caller.rows("SET hive.some.key") == [["hive.some.key is undefined"]]
        answer = caller.execute(LONG_QUERY, confOverlay={"shark.query.timeout": "0.5"})
        assert answer.status.sqlState == "57014", "it reaches the query"
        assert caller.execute("SELECT 1", confOverlay={"shark.query.timeout": "x"}).status.sqlState == "22023"
        caller.rows("CREATE DATABASE overlaid")
        caller.rows("USE overlaid", confOverlay={"a": "b"})
        assert caller.rows("SELECT current_database()") == [["overlaid"]], "what it does is the session's"
        caller.rows("USE default")
        caller.rows("DROP DATABASE overlaid")


# Handles


def test_forged_and_stale_handles(server: HiveServer) -> None:
    with Caller(server.port) as caller:
        operation = caller.begin("SELECT 1")
        caller.until_ended(operation)
        good = operation.operationId
        forged = [
            ttypes.THandleIdentifier(guid=good.guid, secret=bytes(16)),
            ttypes.THandleIdentifier(guid=good.guid, secret=good.secret[:-1]),
            ttypes.THandleIdentifier(guid=good.guid, secret=b""),
            ttypes.THandleIdentifier(guid=bytes(16), secret=good.secret),
            ttypes.THandleIdentifier(guid=b"", secret=b""),
            ttypes.THandleIdentifier(guid=bytes(1000), secret=bytes(1000)),
        ]
        for identifier in forged:
            handle = ttypes.TOperationHandle(operationId=identifier, operationType=0, hasResultSet=True)
            for call in (caller.status, caller.fetch, caller.cancel, caller.close):
                assert call(handle).status.statusCode == INVALID
            caller.session, own = ttypes.TSessionHandle(sessionId=identifier), caller.session
            assert caller.execute("SELECT 1").status.statusCode == INVALID
            assert caller.close_session().status.statusCode == INVALID
            caller.session = own
        assert columns_of(caller.fetch(operation)) == [[1]], "the good one is as it was"
        assert caller.close(operation).status.statusCode == SUCCESS
        assert caller.close(operation).status.statusCode == INVALID
        assert caller.fetch(operation).status.statusCode == INVALID
        operation = caller.begin("SELECT 1")
        assert caller.close_session().status.statusCode == SUCCESS
        assert caller.close_session().status.statusCode == INVALID
        assert caller.fetch(operation).status.statusCode == INVALID
        assert caller.execute("SELECT 1").status.statusCode == INVALID
        assert not server.parts.sessions._owners


def test_handles_of_another_user_are_no_good(locked: HiveServer) -> None:
    """Even with the right secret."""
    with (
        Caller(locked.port, transport=over_http(locked.port, "ada", "ada's")) as ada,
        Caller(locked.port, transport=over_http(locked.port, "ada", "ada's")) as also_ada,
        Caller(locked.port, transport=over_http(locked.port, "bob", "bob's")) as bob,
        Caller(locked.port, transport=over_sasl(locked.port, "bob", "bob's")) as bob_by_sasl,
    ):
        operation = ada.begin("SELECT 1")
        for other in (bob, bob_by_sasl):
            for call in (other.status, other.fetch, other.cancel, other.close):
                assert call(operation).status.statusCode == INVALID
            other.session, own = ada.session, other.session
            assert other.execute("SELECT 1").status.statusCode == INVALID
            assert other.close_session().status.statusCode == INVALID
            other.session = own
        assert columns_of(also_ada.fetch(operation)) == [[1]]


# Their end


def test_a_session_ends_with_its_connection(server: HiveServer) -> None:
    with Caller(server.port) as caller:
        caller.rows("CREATE TEMPORARY VIEW passing AS SELECT 1 AS x")
        assert len(server.parts.sessions.sessions()) == 1
    until(lambda: not server.parts.sessions.sessions())
    assert not server.parts.sessions._owners


@pytest.mark.parametrize("way", ["async", "sync", "poll", "fetch"])
def test_what_runs_for_a_client_that_vanishes_ends(server: HiveServer, way: str) -> None:
    caller = Caller(server.port)
    operation = None if way == "sync" else caller.begin(LONG_QUERY)
    call = {
        "async": lambda: None,
        "sync": lambda: caller.execute(LONG_QUERY),
        "poll": lambda: [caller.status(operation) for _ in range(100)],
        "fetch": lambda: caller.fetch(operation),
    }[way]
    errors: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    until(lambda: any(one.is_running for one in server.parts.sessions.operations()))
    caller.transport._TBufferedTransport__trans.handle.shutdown(2)
    until(lambda: not server.parts.sessions.sessions())
    wait_until_idle()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_what_is_planned_for_a_client_that_vanishes_ends(server: HiveServer) -> None:
    """Before it runs, a text of half a million words is bound for many seconds."""
    caller = Caller(server.port)
    text = "SELECT n FROM numbers WHERE " + " OR ".join(f"(n = {n} AND n < {n})" for n in range(60_000))
    errors: list[BaseException] = []

    def run() -> None:
        try:
            caller.execute(text)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    until(lambda: any(one.is_running for one in server.parts.sessions.operations()))
    start = time.monotonic()
    caller.transport._TBufferedTransport__trans.handle.shutdown(2)
    until(lambda: not server.parts.sessions.sessions())
    assert time.monotonic() - start < allowed(2)
    wait_until_idle()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert errors


def works() -> bool:
    """Whether this process is at work: a query is not only said to run."""
    begin = time.process_time()
    time.sleep(0.1)
    return time.process_time() - begin > 0.02


def in_vain(caller: Caller) -> threading.Thread:
    """Runs a statement whose answer does not come."""

    def run() -> None:
        with contextlib.suppress(Exception):
            caller.execute(LONG_QUERY)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_over_http_what_a_client_that_vanishes_waits_for_ends(server: HiveServer) -> None:
    caller = Caller(server.port, transport=over_http(server.port))
    thread = in_vain(caller)
    until(lambda: any(one.is_running for one in server.parts.sessions.operations()) and works())
    caller.transport._THttpClient__http.sock.shutdown(2)
    until(lambda: not any(server.parts.sessions.operations()))
    wait_until_idle()
    thread.join(PATIENCE)
    until(lambda: figure(server.parts.metrics, "sharkpy_clients_vanished_total") == 1)


@pytest.mark.spark
def test_the_tasks_of_a_client_that_vanishes_end(tmp_path: Path) -> None:
    conf = {"shark.placement.driver": False, "shark.jvm.memory": "1g"}
    with (
        sharkpy.connect("local[2]", tmp_path / "w", **conf) as session,
        HiveServer(session, ServerConfig(port=0)) as one,
    ):
        session.sql(MAKE_NUMBERS).close()
        caller = Caller(one.port)
        assert caller.rows("SELECT sum(n) FROM numbers") == [[NUMBERS * (NUMBERS - 1) // 2]]
        thread = in_vain(caller)
        until(spark_runs)
        caller.transport._TBufferedTransport__trans.handle.shutdown(2)
        until(lambda: not one.parts.sessions.sessions() and not spark_runs())
        thread.join(PATIENCE)


def spark_runs() -> bool:
    """A stage whose tasks run."""
    from pyspark import SparkContext

    spark = SparkContext._active_spark_context
    tracker = spark.statusTracker()
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    return any(stage is not None and stage.numActiveTasks for stage in stages)


def test_over_http_it_ends_by_idleness(serve: Serve) -> None:
    server = serve(idle_session_seconds=1.5, idle_operation_seconds=0.0)
    with Caller(server.port, transport=over_http(server.port)) as caller:
        for _ in range(4):
            time.sleep(0.5)
            assert caller.rows("SELECT 1") == [[1]], "what is used is not idle"
        operation = caller.begin(LONG_QUERY)
        time.sleep(2.0)
        assert server.parts.sessions.sessions(), "what runs is not idle"
        caller.cancel(operation)
        until(lambda: not server.parts.sessions.sessions())
        assert caller.execute("SELECT 1").status.statusCode == INVALID
        assert figure(server.parts.metrics, "sharkpy_sessions_idle_total") == 1


def test_an_operation_that_nobody_fetches_is_closed(serve: Serve) -> None:
    server = serve(idle_operation_seconds=0.4)
    with Caller(server.port) as caller:
        operation = caller.begin("SELECT n FROM numbers")
        running = caller.begin(LONG_QUERY)
        until(lambda: len(list(server.parts.sessions.operations())) == 1)
        assert caller.fetch(operation).status.statusCode == INVALID
        assert caller.status(running).operationState == State.RUNNING_STATE
        assert figure(server.parts.metrics, "sharkpy_operations_idle_total") == 1
        assert caller.rows("SELECT 1") == [[1]]


def own_objects() -> Counter[str]:
    gc.collect()
    return Counter(
        type(one).__qualname__
        for one in gc.get_objects()
        if str(type(one).__module__).startswith(("sharkpy", "TCLIService"))
    )


MANY = [pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.mark.slow
@pytest.mark.parametrize("number", [150, pytest.param(10_000, marks=MANY)])
def test_sessions_leave_nothing_behind(server: HiveServer, number: int) -> None:
    def open_and_close(times: int) -> None:
        for turn in range(times):
            with Caller(server.port, configuration={"hive.some.key": str(turn % 10)}) as caller:
                caller.rows(f"SELECT {turn % 10}")
                caller.begin("SELECT n FROM numbers LIMIT 5")
                if turn % 2:
                    caller.close_session()
        until(lambda: not server.parts.sessions.sessions())

    open_and_close(40)
    wait_until_idle()
    before, memory = own_objects(), psutil.Process().memory_info().rss
    open_and_close(number)
    wait_until_idle()
    grown = {name: count - before[name] for name, count in own_objects().items() if count - before[name] >= number // 4}
    grown.pop("StatementRecord", None)  # the history keeps the last ones, up to a bound of its own
    assert not grown
    assert psutil.Process().memory_info().rss - memory < 20 << 20
    assert len(threading.enumerate()) < 60


def test_the_contexts_sessions_are_given_back(engine: sharkpy.SharkContext, server: HiveServer) -> None:
    before = len(engine._shared.members())
    for _ in range(5):
        with Caller(server.port):
            assert len(engine._shared.members()) > before
    until(lambda: len(engine._shared.members()) == before)


def test_temporary_tables_go_with_their_session(engine: sharkpy.SharkContext, server: HiveServer) -> None:
    store = engine.engine.store
    before = store.usage().num_blocks
    for says_goodbye in (False, True):
        with Caller(server.port) as caller:
            caller.rows("CACHE TABLE passing AS SELECT n FROM numbers")
            assert store.usage().num_blocks > before
            if says_goodbye:
                caller.close_session()
        until(lambda: store.usage().num_blocks == before)


def test_nothing_of_a_stopped_server_is_left(engine: sharkpy.SharkContext) -> None:
    names = ("operation", "idle", "accept", "client", "disconnects")

    def threads() -> set[str]:
        found = {one.name for one in threading.enumerate() if one.ident not in others}
        return {name for name in found if name.startswith(tuple(f"sharkpy-{part}" for part in names))}

    others = {one.ident for one in threading.enumerate()}
    server = HiveServer(engine, ServerConfig(port=0)).start()
    with Caller(server.port) as caller:
        caller.begin(LONG_QUERY)
        caller.begin("SELECT n FROM numbers")
        assert len(threads()) >= 5
        server.stop(drain=False)
        assert not threads()
        server.stop()
    assert engine.sql("SELECT 1").fetchall() == [(1,)], "the session is the caller's"
