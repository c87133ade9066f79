"""Unmodified clients over each transport, in the clear and under TLS."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path
from typing import Any

import impala.dbapi
import pytest
import thrift_sasl
from pyhive import hive
from thrift.transport.THttpClient import THttpClient
from thrift.transport.TSSLSocket import TSSLSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from tests.waiting import until

from .conftest import Start

PYHIVE: dict[str, dict[str, Any]] = {
    "nosasl": {"auth": "NOSASL"},
    "sasl": {"auth": "NONE", "username": "bob"},
    "http": {"scheme": "http", "username": "bob"},
}
IMPYLA: dict[str, dict[str, Any]] = {
    "nosasl": {"auth_mechanism": "NOSASL"},
    "sasl": {"auth_mechanism": "PLAIN", "user": "bob", "password": "x"},
    "http": {
        "auth_mechanism": "PLAIN",
        "user": "bob",
        "password": "x",
        "use_http_transport": True,
        "http_path": "cliservice",
    },
}


def users(server: Any) -> set[tuple[str, str]]:
    return {(client.user, client.transport) for client in server.dispatcher.clients}


def expected(transport: str) -> set[tuple[str, str]]:
    return {("" if transport == "nosasl" else "bob", transport)}


def await_end(server: Any, count: int) -> None:
    until(lambda: len(server.dispatcher.ended) >= count)
    assert len(server.dispatcher.ended) == count


@pytest.mark.parametrize("transport", PYHIVE)
def test_pyhive(start: Start, transport: str) -> None:
    server = start()
    for _ in range(2):
        connection = hive.connect("127.0.0.1", server.port, **PYHIVE[transport])
        with connection.cursor() as cursor:
            cursor.execute("use x")
        connection.close()
    assert users(server) == expected(transport)
    await_end(server, 0 if transport == "http" else 2)


@pytest.mark.parametrize("transport", IMPYLA)
def test_impyla(start: Start, transport: str) -> None:
    server = start()
    connection = impala.dbapi.connect("127.0.0.1", server.port, **IMPYLA[transport])
    cursor = connection.cursor()
    cursor.execute("use x")
    cursor.close()
    connection.close()
    assert users(server) == expected(transport)


@pytest.mark.parametrize("transport", IMPYLA)
def test_impyla_over_tls(start: Start, tls: dict[str, Path], transport: str) -> None:
    server = start(**tls)
    connection = impala.dbapi.connect(
        "127.0.0.1", server.port, use_ssl=True, ca_cert=str(tls["tls_cert"]), **IMPYLA[transport]
    )
    cursor = connection.cursor()
    cursor.execute("use x")
    cursor.close()
    connection.close()
    assert users(server) == expected(transport)


def pyhive_transport_over_tls(transport: str, port: int, certificate: Path) -> Any:
    context = ssl.create_default_context(cafile=str(certificate))
    if transport == "http":
        client = THttpClient(f"https://localhost:{port}/cliservice", ssl_context=context)
        hive.Connection._set_authorization_header(client, "bob", "x")
        return client
    sock = TSSLSocket("localhost", port, ssl_context=context)
    if transport == "nosasl":
        return TBufferedTransport(sock)
    return thrift_sasl.TSaslClientTransport(
        lambda: hive.get_pure_sasl_client("localhost", "PLAIN", username="bob", password="x"), "PLAIN", sock
    )


@pytest.mark.variants(3)
@pytest.mark.parametrize("transport", PYHIVE)
def test_pyhive_over_tls(start: Start, tls: dict[str, Path], transport: str) -> None:
    server = start(**tls)
    over = pyhive_transport_over_tls(transport, server.port, tls["tls_cert"])
    connection = hive.connect(thrift_transport=over)
    connection.close()
    assert users(server) == expected(transport)


@pytest.mark.parametrize("transport", PYHIVE)
def test_a_client_without_tls_reads_that_the_server_wants_it(
    start: Start, tls: dict[str, Path], transport: str
) -> None:
    server = start(**tls)
    with pytest.raises(Exception) as caught:
        hive.connect("127.0.0.1", server.port, **PYHIVE[transport])
    if transport != "http":
        assert "speaks only TLS" in str(caught.value)
    assert server.dispatcher.clients == []
    assert server.refusals == {"tls": 1}


def test_a_client_with_tls_is_told_that_there_is_none(start: Start) -> None:
    server = start()
    context = ssl._create_unverified_context()
    with (
        socket.create_connection(("127.0.0.1", server.port)) as sock,
        pytest.raises(ssl.SSLError, match=r"(?i)handshake.failure"),
    ):
        context.wrap_socket(sock)
    assert server.refusals == {"tls": 1}


def test_an_ipv6_host(start: Start) -> None:
    server = start(host="::1")
    hive.connect("::1", server.port, auth="NOSASL").close()
    assert server.dispatcher.clients[0].peer.startswith("[::1]:")


@pytest.fixture
def secured(start: Start, monkeypatch: pytest.MonkeyPatch) -> Any:
    import sys
    import types

    module = types.ModuleType("guards_of_a_test")
    module.guard = lambda user, password: (user, password) == ("bob", "s3cret")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return start(auth="custom", custom_auth="guards_of_a_test:guard")


def test_pyhive_shows_a_failed_login(secured: Any) -> None:
    hive.connect("127.0.0.1", secured.port, auth="CUSTOM", username="bob", password="s3cret").close()
    with pytest.raises(TTransportException, match="wrong user name or password"):
        hive.connect("127.0.0.1", secured.port, auth="CUSTOM", username="bob", password="wrong")
    assert secured.refusals == {"login": 1}
    assert users(secured) == {("bob", "sasl")}


def test_pyhive_over_http_shows_a_failed_login(secured: Any) -> None:
    hive.connect("127.0.0.1", secured.port, scheme="http", username="bob", password="s3cret").close()
    with pytest.raises(Exception, match="wrong user name or password"):
        hive.connect("127.0.0.1", secured.port, scheme="http", username="bob", password="wrong")


def test_impyla_over_http_shows_a_failed_login(secured: Any) -> None:
    with pytest.raises(Exception, match="401: wrong user name or password"):
        impala.dbapi.connect(
            "127.0.0.1",
            secured.port,
            use_http_transport=True,
            http_path="cliservice",
            auth_mechanism="PLAIN",
            user="bob",
            password="wrong",
        ).cursor()


def test_nosasl_is_refused_where_a_login_is_needed(secured: Any) -> None:
    with pytest.raises(Exception, match="wants a name and a password"):
        hive.connect("127.0.0.1", secured.port, auth="NOSASL")
    assert secured.dispatcher.clients == []
