"""HTTP: requests, refusals, connections that stay, bodies in chunks."""

from __future__ import annotations

import base64
import http.client
import re
import socket
import struct
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TMessageType
from thrift.transport.TTransport import TMemoryBuffer

from sharkpy.thrift.transport.connection import Connection, after
from sharkpy.thrift.transport.http_transport import HttpAnswer, HttpConnection
from tests.waiting import PATIENCE

from .conftest import Start

OPEN_SESSION = (
    b"\x80\x01\0\x01" + struct.pack("!i", 11) + b"OpenSession" + b"\0\0\0\x07" + b"\x0c\0\x01\x08\0\x01\0\0\0\x05\0\0"
)
THRIFT = {"Content-Type": "application/x-thrift"}


def basic(user: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def header_of(answer: bytes) -> tuple[str, int, int]:
    return TBinaryProtocol(TMemoryBuffer(answer)).readMessageBegin()  # type: ignore[no-any-return]


@pytest.fixture
def server(start: Start) -> Any:
    return start(frame_bytes=1 << 20)


@pytest.fixture
def connection(server: Any) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    yield connection
    connection.close()


def raw(server: Any, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as sock:
        sock.sendall(request)
        answer = b""
        while part := sock.recv(65536):
            answer += part
        return answer


def test_calls_follow_one_another_on_a_connection(server: Any, connection: http.client.HTTPConnection) -> None:
    for path in ("/cliservice", "/cliservice/", "/cliservice?x=1"):
        connection.request("POST", path, OPEN_SESSION, {**THRIFT, **basic("bob", "x"), "X-XSRF-HEADER": "true"})
        response = connection.getresponse()
        assert (response.status, response.headers["Content-Type"]) == (200, "application/x-thrift")
        assert header_of(response.read()) == ("OpenSession", TMessageType.REPLY, 7)
    assert len({client.connection for client in server.dispatcher.clients}) == 1
    assert {client.user for client in server.dispatcher.clients} == {"bob"}


def test_a_body_in_chunks(server: Any, connection: http.client.HTTPConnection) -> None:
    for _ in range(2):
        parts = iter([OPEN_SESSION[:5], OPEN_SESSION[5:]])
        connection.request("POST", "/cliservice", parts, THRIFT, encode_chunked=True)
        assert header_of(connection.getresponse().read())[0] == "OpenSession"
    assert [client.user for client in server.dispatcher.clients] == ["", ""]


def test_a_client_that_waits_to_be_told_to_go_on(server: Any) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as sock:
        head = b"POST /cliservice HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n"
        sock.sendall(head % len(OPEN_SESSION))
        assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(OPEN_SESSION)
        assert sock.recv(1000).startswith(b"HTTP/1.1 200 ")


def test_a_client_that_waits_and_is_refused_sends_no_body(server: Any) -> None:
    head = b"POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
    answer = raw(server, head)
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"connection: close" in answer.lower()
    assert b"100 Continue" not in answer


def test_requests_sent_ahead_are_answered_in_order(server: Any) -> None:
    call = b"POST /cliservice HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b" % (len(OPEN_SESSION), OPEN_SESSION)
    page = b"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
    upgrade = b"GET /nothing HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    last = b"HEAD /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    answer = raw(server, page + call + upgrade + call + last)
    assert re.findall(rb"HTTP/1\.1 (\d+)", answer) == [b"200", b"200", b"404", b"200", b"200"]
    assert len(server.dispatcher.clients) == 2


def test_a_request_byte_by_byte(server: Any) -> None:
    call = b"POST /cliservice HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    call += b"".join(b"1;x=y\r\n%c\r\n" % byte for byte in OPEN_SESSION) + b"0\r\nTrailer: t\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in call:
            sock.sendall(bytes([byte]))
        answer = sock.recv(1000)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert header_of(answer.partition(b"\r\n\r\n")[2])[0] == "OpenSession"


def test_a_reason_is_one_line() -> None:
    here, there = socket.socketpair()
    with here, there:
        refused = HttpAnswer(HTTPStatus.FORBIDDEN, "text/plain", [b"x"], "no\r\nSet-Cookie: a=b \u2013 never")
        assert not HttpConnection(Connection(here, "test:1", 1)).respond(refused, after(1))
        assert there.recv(1000).startswith(b"HTTP/1.1 403 no Set-Cookie: a=b ? never\r\nContent-Type: ")


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/healthz", 200),
        ("HEAD", "/healthz", 200),
        ("GET", "/healthz?full", 200),
        ("GET", "/nothing", 404),
        ("POST", "/nothing", 404),
        ("POST", "/cliservices", 404),
        ("GET", "/cliservice", 405),
        ("PUT", "/cliservice", 405),
        ("DELETE", "/healthz", 405),
    ],
)
def test_methods_and_paths(connection: http.client.HTTPConnection, method: str, path: str, status: int) -> None:
    for _ in range(2):
        connection.request(method, path, b"" if method != "PUT" else b"body")
        response = connection.getresponse()
        body = response.read()
        assert response.status == status
        assert (body == b"") == (method == "HEAD")
        if status == 405:
            assert response.headers["Allow"] == ("POST" if path == "/cliservice" else "GET, HEAD")


def test_a_call_from_a_web_page_is_refused(server: Any, connection: http.client.HTTPConnection) -> None:
    connection.request("POST", "/cliservice", OPEN_SESSION, {"Origin": "http://example.org"})
    assert connection.getresponse().status == 403
    assert server.dispatcher.clients == []


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "Basic",
        "Basic !!!",
        "Basic " + base64.b64encode(b"bob").decode(),
        "Basic " + base64.b64encode(b":").decode(),
        "Basic " + base64.b64encode(b"bob:").decode(),
        "Basic " + base64.b64encode(b"bob:wrong").decode(),
        "Basic " + base64.b64encode(b"bob:\xff\xfe").decode(),
        "Basic " + base64.b64encode(b"b\0b:x").decode(),
        "Basic " + base64.b64encode(b"bob:" + b"x" * 5000).decode(),
        "Negotiate abc",
        "Bearer abc",
    ],
)
def test_a_wrong_login_is_challenged(start: Start, authorization: str | None) -> None:
    server = start(auth="custom", custom_auth="operator:eq")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    headers = THRIFT if authorization is None else {**THRIFT, "Authorization": authorization}
    connection.request("POST", "/cliservice", OPEN_SESSION, headers)
    response = connection.getresponse()
    answer = response.read()
    assert response.status == 401
    assert response.headers["WWW-Authenticate"].startswith("Basic realm=")
    assert header_of(answer)[1] == TMessageType.EXCEPTION
    connection.request("POST", "/cliservice", OPEN_SESSION, {**THRIFT, **basic("bob", "bob")})
    assert connection.getresponse().status == 200
    connection.close()
    assert [client.user for client in server.dispatcher.clients] == ["bob"]


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"NONSENSE\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nno header\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n : b\r\n\r\n", 400),
        (b"POST /cliservice HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 411),
        (b"POST /cliservice HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /cliservice HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", 400),
        (b"POST /cliservice HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST /cliservice HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 400),
        (b"POST /cliservice HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST /cliservice HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcd", 400),
        (
            b"POST /cliservice HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n"
            + b"x" * (2 << 20),
            413,
        ),
        (b"POST /cliservice HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n", 413),
        (b"GET / HTTP/1.1\r\nHost: a\r\nA: " + b"x" * 40_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"A: b\r\n" * 500 + b"\r\n", 431),
    ],
)
def test_requests_that_are_none(server: Any, head: bytes, status: int) -> None:
    answer = raw(server, head)
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"\r\nconnection: close\r\n" in answer.lower()
    assert raw(server, b"GET /healthz HTTP/1.0\r\n\r\n").endswith(b"ok")


def test_a_body_that_is_no_message(connection: http.client.HTTPConnection) -> None:
    for body in (b"", b"\0", b"\xff" * 50, OPEN_SESSION[:-3]):
        connection.request("POST", "/cliservice", body, THRIFT)
        answer = connection.getresponse().read()
        assert header_of(answer)[1] == TMessageType.EXCEPTION


def test_a_page_that_fails(
    server: Any, connection: http.client.HTTPConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server.dispatcher, "page", lambda path, log_in: 1 / 0)
    connection.request("GET", "/metrics")
    response = connection.getresponse()
    assert (response.status, response.read()) == (500, b"the page could not be made\n")


def test_a_page_asks_for_a_login_where_clients_do(start: Start) -> None:
    def read(server: Any, headers: dict[str, str]) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        connection.request("GET", "/name", headers=headers)
        response = connection.getresponse()
        body = response.read()
        assert (response.headers["WWW-Authenticate"] is None) == (response.status == 200)
        connection.close()
        return response.status, body

    locked = start(auth="custom", custom_auth="operator:eq")
    assert read(locked, basic("bob", "bob")) == (200, b"bob")
    assert read(locked, basic("bob", "no"))[0] == read(locked, {})[0] == 401
    assert locked.refusals == {"login": 2}
    assert read(start(), {}) == (200, b"")


def test_only_who_has_called_may_be_idle(start: Start) -> None:
    server = start(login_seconds=0.3)
    call = b"POST /cliservice HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b" % (len(OPEN_SESSION), OPEN_SESSION)
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as looker,
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as caller,
    ):
        for sock, request in ((looker, b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"), (caller, call)):
            sock.sendall(request)
            assert sock.recv(65536).startswith(b"HTTP/1.1 200 ")
        assert looker.recv(10) == b""
        caller.sendall(call)
        assert caller.recv(65536).startswith(b"HTTP/1.1 200 ")
    assert server.refusals == {}
