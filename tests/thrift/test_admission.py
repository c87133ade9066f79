"""Places of a server: no user and no address takes all, and an administrator always finds one."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from sharkpy.base.errors import ConfigurationError
from sharkpy.thrift.admission import ADMIN_RESERVE, Quota, QuotaHolder
from sharkpy.thrift.config import ServerConfig
from tests.thrift.caller import ERROR, SUCCESS, Caller, over_http, over_sasl
from tests.thrift.conftest import LONG_QUERY, Serve
from tests.thrift.figures import figure
from tests.unclosed import left_to_the_collector

MANY = Quota("sessions", "sessions", 1_000, 200, 600)


def refused_by(places: Quota, holder: QuotaHolder, taken: list[QuotaHolder]) -> str | None:
    found = places.refusal(holder, taken)
    assert found is None or found[1].sqlstate == "53300"
    return None if found is None else found[0]


def names(number: int, address: str) -> Iterator[QuotaHolder]:
    return (QuotaHolder(f"{address} {one}", address) for one in range(number))


def test_names_that_nobody_checks_take_a_part_alone() -> None:
    taken = list(names(600, "10.0.0.1"))
    assert refused_by(MANY, QuotaHolder("one more", "10.0.0.1"), taken) == "sessions_per_address"
    assert refused_by(MANY, QuotaHolder("ann", "10.0.0.2"), taken) is None


def test_the_last_places_are_for_those_that_have_few() -> None:
    taken = [*names(450, "10.0.0.1"), *names(450, "10.0.0.2")]
    assert refused_by(MANY, QuotaHolder("one more", "10.0.0.1"), taken) == "sessions"
    assert refused_by(MANY, QuotaHolder("ann", "10.0.0.3"), taken) is None
    assert (
        refused_by(MANY, QuotaHolder("ann", "10.0.0.3"), [*taken, *[QuotaHolder("ann", "10.0.0.3")] * 10]) == "sessions"
    )


def test_an_administrator_comes_in() -> None:
    admin = QuotaHolder("root", "10.0.0.1", is_admin=True)
    taken = [*names(1_000, "10.0.0.1")]
    assert refused_by(MANY, QuotaHolder("ann", "10.0.0.3"), taken) == "sessions"
    assert refused_by(MANY, admin, taken) is None
    assert refused_by(MANY, admin, [*taken, *[admin] * ADMIN_RESERVE]) == "sessions"


def test_no_limits() -> None:
    assert (
        refused_by(Quota("sessions", "sessions", 0), QuotaHolder("ann", "here"), [QuotaHolder("ann", "here")] * 5_000)
        is None
    )


def test_administrators_log_in() -> None:
    with pytest.raises(ConfigurationError, match="--admin needs users that log in"):
        ServerConfig(admins=("root",))


def test_sessions_of_an_address(serve: Serve) -> None:
    server = serve(sessions_per_address=2)
    with ExitStack() as stack:
        callers = [
            stack.enter_context(Caller(server.port, transport=over_http(server.port, f"name{n}", "x")))
            for n in range(3)
        ]
        assert [one.opened.status.statusCode for one in callers] == [SUCCESS, SUCCESS, ERROR]
        assert "2 sessions of an address (127.0.0.1)" in callers[2].opened.status.errorMessage
    assert figure(server.parts.metrics, "sharkpy_refused_total", limit="sessions_per_address") == 1


@pytest.mark.parametrize("whose", ["user", "address"])
def test_statements_of_a_user_and_of_an_address(serve: Serve, whose: str) -> None:
    limit = f"operations_per_{whose}"
    server = serve(**{limit: 1})
    with Caller(server.port) as one, Caller(server.port) as other:
        running = one.begin(LONG_QUERY)
        status = other.execute("SELECT 1").status
        assert status.sqlState == "53300"
        assert whose in status.errorMessage
        one.cancel(running)
        one.until_ended(running)
    assert figure(server.parts.metrics, "sharkpy_refused_total", limit=limit) == 1


def test_connections_of_an_address(serve: Serve) -> None:
    server = serve(connections_per_address=1)
    with Caller(server.port), left_to_the_collector():
        with pytest.raises(Exception, match="1 connections of your address"):
            over_sasl(server.port, "ada", "x")
        with socket.create_connection(("127.0.0.1", server.port), 10, ("127.0.0.2", 0)) as other:
            other.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert other.recv(100).startswith(b"HTTP/1.1 200")
