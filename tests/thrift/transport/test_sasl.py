"""The negotiation of SASL PLAIN, byte by byte."""

from __future__ import annotations

import socket
import struct
from typing import Any

import pytest

from .conftest import Start

START, OK, BAD, ERROR, COMPLETE = 1, 2, 3, 4, 5


def message(status: int, body: bytes) -> bytes:
    return struct.pack("!BI", status, len(body)) + body


def read_all(sock: socket.socket, size: int) -> bytes:
    whole = b""
    while len(whole) < size and (part := sock.recv(size - len(whole))):
        whole += part
    return whole


def read_message(sock: socket.socket) -> tuple[int, bytes]:
    status, size = struct.unpack("!BI", read_all(sock, 5))
    return status, read_all(sock, size)


@pytest.fixture
def server(start: Start) -> Any:
    return start(auth="custom", custom_auth="operator:eq")


def negotiate(server: Any, *sent: bytes) -> tuple[int, bytes]:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as sock:
        for one in sent:
            sock.sendall(one)
        return read_message(sock)


@pytest.mark.variants(3)
@pytest.mark.parametrize("status", [OK, COMPLETE], ids=["as Python sends it", "as Java sends it"])
@pytest.mark.parametrize("acts_for", [b"", b"bob"])
def test_a_login(server: Any, status: int, acts_for: bytes) -> None:
    answer = negotiate(server, message(START, b"PLAIN"), message(status, acts_for + b"\0bob\0bob"))
    assert answer == (COMPLETE, b"")


def test_a_login_that_waits_for_a_challenge(server: Any) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as sock:
        sock.sendall(message(START, b"PLAIN") + message(OK, b""))
        assert read_message(sock) == (OK, b"")
        sock.sendall(message(OK, b"\0bob\0bob"))
        assert read_message(sock) == (COMPLETE, b"")


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("sent", "status", "text"),
    [
        (message(START, b"GSSAPI"), BAD, b'mechanism "GSSAPI"'),
        (message(START, b"PLAIN") + message(BAD, b"enough"), BAD, b"ended"),
        (message(START, b"PLAIN") + message(OK, b"bob"), BAD, b"form of PLAIN"),
        (message(START, b"PLAIN") + message(OK, b"\0bob\0bob\0"), BAD, b"form of PLAIN"),
        (message(START, b"PLAIN") + struct.pack("!BI", OK, 0xFFFFFFFF), BAD, b"bytes"),
        (struct.pack("!BI", START, 0x7FFFFFFF), BAD, b"bytes"),
        (message(START, b"PLAIN") + message(OK, b"root\0bob\0bob"), ERROR, b"may not act for"),
        (message(START, b"PLAIN") + message(OK, b"\0bob\0wrong"), ERROR, b"wrong user name or password"),
        (message(START, b"PLAIN") + message(OK, b"\0bob\0"), ERROR, b"password is empty"),
        (message(START, b"PLAIN") + message(OK, b"\0\0x"), ERROR, b"user name is empty"),
        (message(START, b"PLAIN") + message(OK, b"\0bob\0\xff"), ERROR, b"password is not UTF-8"),
        (message(START, b"PLAIN") + message(OK, b"\0\xff\0x"), ERROR, b"user name is not UTF-8"),
        (message(START, b"PLAIN") + message(OK, b"\0b\nb\0x"), ERROR, b"cannot be printed"),
        (message(START, b"PLAIN") + message(OK, b"\0bob\0" + b"x" * 2000), ERROR, b"longer than 1024"),
        (message(START, b"PLAIN") + message(OK, b"\0" + b"x" * 2000 + b"\0x"), ERROR, b"longer than 256"),
    ],
)
def test_logins_that_are_refused(server: Any, sent: bytes, status: int, text: bytes) -> None:
    answered, shown = negotiate(server, sent)
    assert answered == status
    assert text in shown
    assert sum(server.refusals.values()) == 1
    assert server.dispatcher.clients == server.dispatcher.ended == []
