"""Many clients at once, and some that behave badly: the others notice nothing, and nothing is left of them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import psutil
import pytest
from pyhive import hive
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from sharkpy.thrift.bindings import TCLIService, ttypes
from sharkpy.thrift.transport import connection
from tests.thrift.caller import SUCCESS, Caller, State, columns_of, over_http
from tests.thrift.conftest import LONG_QUERY, NUMBERS, Serve
from tests.thrift.figures import figure
from tests.thrift.test_operations import wait_until_idle
from tests.waiting import PATIENCE, allowed, until

QUERIES: list[tuple[str, Callable[[int], Any]]] = [
    ("SELECT {k}", lambda k: [(k,)]),
    ("SELECT s FROM numbers WHERE n = {k}", lambda k: [(f"row {k}",)]),
    ("SELECT count(*) FROM numbers WHERE n < {k}", lambda k: [(k,)]),
    ("SELECT n % 3 AS g, count(*) FROM numbers WHERE n < 3 * {k} GROUP BY n % 3 ORDER BY g", lambda k: three(k)),
    ("SELECT n FROM numbers WHERE n BETWEEN {k} AND {k} + 9 ORDER BY n", lambda k: [(k + i,) for i in range(10)]),
    ("SHOW DATABASES", lambda _: [("default",)]),
]


def three(k: int) -> list[tuple[int, int]]:
    return [(group, k) for group in range(3)] if k else []


def mixed_queries(port: int, seed: int, number: int, errors: list[str]) -> None:
    chance = random.Random(seed)
    way = ("NOSASL", "NONE", "http")[seed % 3]
    try:
        options = {"scheme": "http", "auth": "NONE"} if way == "http" else {"auth": way}
        client = hive.connect("127.0.0.1", port, username=f"user{seed}", **options)
        for _ in range(number):
            text, expected = chance.choice(QUERIES)
            k = chance.randrange(1000)
            cursor = client.cursor()
            cursor.execute(text.format(k=k), async_=bool(chance.randrange(2)))
            rows = cursor.fetchall()
            if rows != expected(k):
                errors.append(f"{text} with {k}: {rows[:3]}")
            cursor.close()
        client.close()
    except Exception as error:
        errors.append(f"{way}: {error!r}"[:500])


def together(*targets: Callable[[], None]) -> None:
    threads = [threading.Thread(target=target) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(allowed(100))
        assert not thread.is_alive()


@pytest.mark.parametrize(
    ("clients", "queries"), [(30, 10), pytest.param(100, 50, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
)
def test_mixed_queries_of_many_clients(serve: Serve, clients: int, queries: int) -> None:
    server = serve()
    errors: list[str] = []
    together(
        *(lambda seed=seed: mixed_queries(server.port, seed, queries, errors) for seed in range(clients))  # type: ignore[misc]
    )
    assert not errors
    until(lambda: not server.parts.sessions.sessions())
    assert figure(server.parts.metrics, "sharkpy_statements_total") >= clients * queries
    until(lambda: not client_threads())


def client_threads() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name.startswith("sharkpy-client")]


def test_a_storm_of_cancels(serve: Serve) -> None:
    server = serve()
    errors: list[str] = []

    def storm(seed: int) -> None:
        chance = random.Random(seed)
        try:
            with Caller(server.port) as caller:
                for _ in range(10):
                    operation = caller.begin(chance.choice((LONG_QUERY, "SELECT n FROM numbers", "SELECT 1")))
                    time.sleep(chance.random() * 0.05)
                    for _ in range(chance.randrange(4)):
                        caller.cancel(operation)
                    if chance.randrange(2):
                        caller.fetch(operation) if caller.cancel(operation) else None
                    caller.close(operation)
                assert caller.rows("SELECT 7") == [[7]]
        except Exception as error:
            errors.append(repr(error)[:500])

    together(*(lambda seed=seed: storm(seed) for seed in range(8)))  # type: ignore[misc]
    assert not errors
    until(lambda: not server.parts.sessions.sessions())
    wait_until_idle()
    assert not list(server.parts.sessions.operations())
    until(lambda: not server.parts.admission._executing)


def test_cancel_from_another_connection_while_all_wait(serve: Serve) -> None:
    server = serve()
    with (
        Caller(server.port, transport=over_http(server.port)) as one,
        Caller(server.port, transport=over_http(server.port)) as other,
    ):
        operation = one.begin(LONG_QUERY)
        answers: list[Any] = []
        thread = threading.Thread(target=lambda: answers.append(one.fetch(operation)))
        thread.start()
        until(lambda: any(busy.is_running for busy in server.parts.sessions.operations()))
        other.cancel(operation)
        thread.join(PATIENCE)
        assert answers[0].status.sqlState == "57014"


def test_a_client_that_stops_reading_is_given_up(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SEND_SECONDS", 1.0)
    server = serve()
    slow, quick = Caller(server.port), Caller(server.port)
    with quick:
        operation = slow.execute("SELECT concat(s, space(500)) AS s FROM numbers").operationHandle
        slow.client.send_FetchResults(
            ttypes.TFetchResultsReq(operationHandle=operation, orientation=0, maxRows=NUMBERS)
        )
        begin = time.monotonic()
        while time.monotonic() - begin < 0.8:
            assert quick.rows("SELECT 1") == [[1]]
        until(lambda: len(server.parts.sessions.sessions()) == 1)
        assert columns_of(quick.fetch(quick.begin("SELECT 1"))) == [[1]]
    slow.transport.close()
    until(lambda: not client_threads())


CLIENT = """
import sys
from pyhive import hive
cursor = hive.connect("127.0.0.1", int(sys.argv[1]), auth="NOSASL").cursor()
cursor.execute("SELECT a.n * b.n AS x FROM numbers a CROSS JOIN numbers b")
for number, row in enumerate(cursor):
    if number == 5000:
        print("reading", flush=True)
"""


def test_a_client_killed_in_the_middle_of_its_rows(serve: Serve) -> None:
    server = serve()
    client = subprocess.Popen([sys.executable, "-c", CLIENT, str(server.port)], stdout=subprocess.PIPE, text=True)
    assert client.stdout is not None
    assert client.stdout.readline() == "reading\n"
    os.kill(client.pid, signal.SIGKILL)
    client.communicate()
    until(lambda: not server.parts.sessions.sessions())
    wait_until_idle()
    until(lambda: not client_threads())


def test_memory_stays_where_it_is(serve: Serve) -> None:
    """Large results that are left unread are freed with their connection."""
    server = serve()

    def leave_unread(times: int) -> None:
        for _ in range(times):
            with Caller(server.port) as caller:
                operation = caller.begin("SELECT concat(s, space(200)) AS s FROM numbers")
                assert caller.until_ended(operation).operationState == State.FINISHED_STATE
                assert caller.fetch(operation, 10).status.statusCode == SUCCESS
        until(lambda: not server.parts.sessions.sessions())

    leave_unread(10)
    before = psutil.Process().memory_info().rss
    leave_unread(30)
    grown = psutil.Process().memory_info().rss - before
    assert grown < 150 << 20, f"{grown >> 20} MB; all of them would take 600"


def test_garbage_disturbs_nobody(serve: Serve) -> None:
    server = serve()
    with Caller(server.port) as caller:
        for seed in range(50):
            sock = TSocket("127.0.0.1", server.port)
            sock.open()
            sock.write(random.Random(seed).randbytes(200))
            sock.close()
            transport = TBufferedTransport(TSocket("127.0.0.1", server.port))
            transport.open()
            client = TCLIService.Client(type(caller.client._oprot)(transport))
            client.send_FetchResults(ttypes.TFetchResultsReq(operationHandle=None, orientation=seed, maxRows=-seed))
            transport.close()
        assert caller.rows("SELECT 1") == [[1]]
