"""Clients that are slow, silent, half closed, malformed or too many."""

from __future__ import annotations

import contextlib
import socket
import time

import pytest

from tests.waiting import until
from tests.web.conftest import Serve, Served

HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


def connected(served: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", served.web.port), timeout=20)


def ended(sock: socket.socket) -> bytes:
    """Read until the server closes the connection."""
    received = b""
    try:
        while part := sock.recv(65536):
            received += part
    except ConnectionError:
        pass
    return received


@pytest.mark.parametrize("sent", [b"", b"GET /hea", HEAD])
def test_a_silent_client_is_given_up(serve: Serve, sent: bytes) -> None:
    served = serve(login_seconds=1.0)
    with connected(served) as sock:
        sock.sendall(sent)
        began = time.monotonic()
        assert ended(sock) == b""
        assert 0.9 < time.monotonic() - began < 15


def test_a_head_byte_by_byte_is_given_up(serve: Serve) -> None:
    served = serve(login_seconds=1.0)
    with connected(served) as sock:
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            for _ in range(300):
                sock.sendall(b"G")
                time.sleep(0.05)
        assert time.monotonic() - began < 14


def test_a_slow_body_is_given_up(serve: Serve) -> None:
    served = serve(login_seconds=1.0, knows_users=True)
    with connected(served) as sock:
        sock.sendall(b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
        sock.sendall(b"Content-Length: 100\r\n\r\n{")
        assert ended(sock) == b""
    with connected(served) as sock:
        sock.sendall(b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n{")
        assert b" 404 " in ended(sock), "answered, and then given up"


@pytest.mark.parametrize(
    ("sent", "answers"),
    [
        *((b"", 0), (HEAD, 0), (HEAD + b"\r\n", 1)),
        *((HEAD + b"Content-Length: 9\r\n\r\n", 0), (HEAD + b"\r\n" + HEAD, 1)),
    ],
)
def test_a_client_that_closes_its_half(serve: Serve, sent: bytes, answers: int) -> None:
    """Answer a complete request of such a client. Otherwise the client has gone."""
    served = serve()
    with connected(served) as sock:
        sock.sendall(sent)
        sock.shutdown(socket.SHUT_WR)
        began = time.monotonic()
        assert ended(sock).count(b"200 OK") == answers
        assert time.monotonic() - began < 15
    with served.browser() as browser:
        assert browser.get("/healthz").status_code == 200


def test_a_client_that_goes_while_it_sends(serve: Serve) -> None:
    served = serve(knows_users=True)
    for _ in range(20):
        with connected(served) as sock:
            sock.sendall(b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
            sock.sendall(b"Content-Length: 100\r\n\r\n{")
    with served.browser() as browser:
        assert browser.get("/healthz").text == "ok\n"


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"X" * 100_000,
    ],
)
def test_malformed_requests(serve: Serve, sent: bytes) -> None:
    served = serve(login_seconds=1.0)
    with connected(served) as sock:
        sock.sendall(sent)
        answer = ended(sock)
        assert not answer or answer.split(b" ")[1][:1] in b"45", answer
    with served.browser() as browser:
        assert browser.get("/healthz").status_code == 200


def test_one_request_after_another(serve: Serve) -> None:
    with connected(serve()) as sock:
        sock.sendall((HEAD + b"\r\n") * 3 + HEAD + b"Connection: close\r\n\r\n")
        assert ended(sock).count(b"200 OK") == 4


def test_a_new_client_takes_the_place_of_a_silent_one(serve: Serve) -> None:
    served = serve(connections=5)
    silent = [connected(served) for _ in range(8)]
    try:
        with served.browser() as browser:
            assert browser.get("/healthz").status_code == 200
        assert silent[0].recv(1) == b""
    finally:
        for sock in silent:
            sock.close()


def test_clients_of_an_address(serve: Serve) -> None:
    served = serve(connections_per_address=3)
    kept = [connected(served) for _ in range(3)]
    try:
        with connected(served) as further:
            until(lambda: ended(further) == b"")
    finally:
        for sock in kept:
            sock.close()


def test_a_body_that_is_too_large(serve: Serve) -> None:
    with serve(knows_users=True).browser() as browser:
        answer = browser.post("/api/v1/login", content=b" " * (2 << 20), headers={"Content-Type": "application/json"})
        assert answer.status_code == 413
