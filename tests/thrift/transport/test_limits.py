"""Slow, silent, vanishing and too many clients; and how a server ends."""

from __future__ import annotations

import contextlib
import http.client
import math
import socket
import struct
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from pyhive import hive
from thrift.Thrift import TApplicationException
from thrift.transport.TTransport import TTransportException

from sharkpy.base.errors import ConfigurationError
from sharkpy.thrift.bindings import ttypes
from sharkpy.thrift.transport import connection as connection_module
from sharkpy.thrift.transport import connection_watch, listener
from tests.unclosed import left_to_the_collector
from tests.waiting import PATIENCE, allowed, until

from .conftest import HANDLE, Start

SESSION = ttypes.TSessionHandle(sessionId=HANDLE)


_made: list[hive.Connection] = []


def client(port: int, auth: str = "NONE") -> hive.Connection:
    made = hive.connect("127.0.0.1", port, auth=auth, username="bob")
    _made.append(made)
    return made


_held: list[socket.socket] = []


def held_open(sockets: Iterable[socket.socket]) -> list[socket.socket]:
    """Sockets, open until they are taken out, or the test ends."""
    _held.extend(sockets)
    return _held


@pytest.fixture(autouse=True)
def clients_close() -> Iterator[None]:
    """Clients are left in the middle of a call: their sockets close, without another call."""
    yield
    while _made:
        _made.pop()._transport.close()
    while _held:
        _held.pop().close()


def logs(rows: int) -> Any:
    handle = ttypes.TOperationHandle(operationId=HANDLE, operationType=0, hasResultSet=False, modifiedRowCount=rows)
    return ttypes.TGetLogReq(operationHandle=handle)


def statement(text: str) -> Any:
    return ttypes.TExecuteStatementReq(sessionHandle=SESSION, statement=text)


BEGINNINGS = {
    "silent": b"",
    "sasl": b"\x01\0\0",
    "sasl user": b"\x01\0\0\0\x05PLAIN\x02\0\0\0\x09\0bob",
    "sasl frame": b"\x01\0\0\0\x05PLAIN\x02\0\0\0\x06\0bob\0x" + b"\0\0\0\x10ab",
    "sasl without a call": b"\x01\0\0\0\x05PLAIN\x02\0\0\0\x06\0bob\0x",
    "nosasl": b"\x80\x01\0\x01\0\0\0\x07Get",
    "nosasl text": b"\x80\x01\0\x01\0\0\0\x0bOpenSession\0\0\0\x07\x0c\0\x01\x0b\0\x02\0\x10\0\0abc",
    "http": b"POST /cliserv",
    "http body": b"POST /cliservice HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc",
}


@pytest.mark.variants(3)
@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_a_client_that_never_goes_on_is_given_up(start: Start, beginning: str) -> None:
    server = start(login_seconds=0.4)
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as sock:
        sock.sendall(BEGINNINGS[beginning])
        began = time.monotonic()
        while sock.recv(1000):
            pass
        assert 0.2 < time.monotonic() - began < allowed(4)
    until(lambda: server.listener.connections == 0)
    assert sum(server.refusals.values()) >= 1
    assert len(server.dispatcher.ended) == (1 if beginning.startswith(("sasl frame", "sasl without", "nosasl")) else 0)


def test_one_byte_at_a_time_does_not_gain_time(start: Start) -> None:
    server = start(login_seconds=0.5)
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as sock, contextlib.suppress(OSError):
        for byte in BEGINNINGS["sasl user"] * 10:
            sock.sendall(bytes([byte]))
            time.sleep(0.05)
    until(lambda: server.listener.connections == 0)
    assert server.refusals == {"timeout": 1}
    assert time.monotonic() - began < allowed(2)


@pytest.mark.parametrize("auth", ["NONE", "NOSASL"])
def test_idle_connections_stay(start: Start, auth: str) -> None:
    server = start(login_seconds=0.2)
    one = client(server.port, auth)
    time.sleep(0.6)
    one.cursor().execute("use x")
    one.close()


@pytest.mark.parametrize("auth", ["NONE", "NOSASL"])
def test_a_request_above_the_limit_gets_an_error(start: Start, auth: str) -> None:
    server = start(frame_bytes=100_000)
    one = client(server.port, auth)
    one._client.ExecuteStatement(statement("x" * 90_000))
    with pytest.raises(TApplicationException, match=r"larger|exceeded"):
        one._client.ExecuteStatement(statement("x" * 400_000))
    assert sum(server.refusals.values()) == 1
    client(server.port, auth).close()


def test_an_endless_message_without_frames_ends(start: Start) -> None:
    server = start(frame_bytes=100_000)
    message = b"\x80\x01\0\x01\0\0\0\x07Unknown\0\0\0\x07" + b"\x02\0\x01\x01" * 1_000_000
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as sock:
        try:
            sock.sendall(message)
            answer = sock.recv(1000)
        except ConnectionError:
            answer = b"larger than 100000 bytes"
    assert b"larger than 100000 bytes" in answer
    until(lambda: len(server.dispatcher.ended) == 1)


@pytest.mark.parametrize("auth", ["NONE", "NOSASL"])
def test_one_connection_too_many(start: Start, auth: str) -> None:
    server = start(connections=3)
    held = [client(server.port, auth) for _ in range(3)]
    refusals = (TTransportException, TApplicationException)
    with left_to_the_collector(), pytest.raises(refusals, match="3 connections, its limit"):
        client(server.port, auth)
    web = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    web.request("GET", "/healthz")
    with web.getresponse() as refused:
        assert refused.status == 503
    web.close()
    assert server.refusals == {"connections": 2}
    held.pop().close()
    until(lambda: server.listener.connections == 2)
    client(server.port, auth).close()
    for one in held:
        one.close()


def test_a_storm_of_connections_above_the_limit(start: Start) -> None:
    server = start(connections=2, login_seconds=5)
    held = [client(server.port) for _ in range(2)]
    storm = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(100)]
    for sock in storm:
        sock.sendall(b"\x01")
    until(lambda: server.refusals["connections"] == 100)
    held[0].cursor().execute("use x")
    for sock in storm:
        sock.close()
    until(lambda: not server.listener._refusing)
    for one in held:
        one.close()


@pytest.mark.variants(3)
@pytest.mark.parametrize("said", ["silent", "sasl", "sasl user", "http"])
def test_those_that_do_not_log_in_keep_nobody_out(start: Start, said: str) -> None:
    """More of them than there are places, and more than the server waits for: all from one address."""
    server = start(connections=20, login_seconds=60)
    first = client(server.port)
    storm = held_open(socket.create_connection(("127.0.0.1", server.port)) for _ in range(400))
    for sock in storm:
        # The server may have given it up already.
        with contextlib.suppress(OSError):
            sock.sendall(BEGINNINGS[said])
    began = time.monotonic()
    for auth in ("NONE", "NOSASL"):
        one = client(server.port, auth)
        one.cursor().execute("use x")
        one.close()
    first.cursor().execute("use x")
    assert time.monotonic() - began < allowed(2)
    most = connection_watch.SILENT_AT_ONCE if said == "silent" else listener.ENTERING_AT_ONCE
    until(lambda: server.listener.connections <= most + 1)
    until(lambda: server.refusals["timeout"] >= 400 - most)
    most_threads = 1 if said == "silent" else most + 1
    until(lambda: sum(one.name.startswith("sharkpy-client-") for one in threading.enumerate()) <= most_threads)
    while storm:
        storm.pop().close()
    until(lambda: server.listener.connections == 1)
    assert server.refusals.keys() == {"timeout"}


def test_who_has_many_gives_way_before_who_has_one() -> None:
    pairs = [socket.socketpair() for _ in range(5)]
    hosts = ("10.0.0.1", "10.0.0.2", "10.0.0.2", "10.0.0.3", "10.0.0.2")
    waiting = [
        connection_module.Connection(pair[0], f"{host}:1", number)
        for number, (pair, host) in enumerate(zip(pairs, hosts, strict=True))
    ]
    gone = []
    while waiting:
        gone.append(connection_watch.connection_to_drop(waiting).number)
        waiting = [one for one in waiting if one.number not in gone]
    assert gone == [1, 2, 0, 3, 4]
    for pair in pairs:
        for sock in pair:
            sock.close()


def test_the_limit_holds_for_those_that_log_in_at_once(start: Start) -> None:
    """All have begun before the first of them is in."""
    server = start(connections=3)
    entering = held_open(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) for _ in range(10))
    for sock in entering:
        sock.sendall(b"\x01")
    until(lambda: server.listener.connections == 10)
    answers = []
    for sock in entering:
        sock.sendall(b"\0\0\0\x05PLAIN\x02\0\0\0\x06\0bob\0x")
        answers.append(sock.recv(200))
    assert sorted(answer[0] for answer in answers) == [4] * 7 + [5] * 3
    assert b"3 connections, its limit" in next(answer for answer in answers if answer[0] == 4)
    assert server.refusals == {"connections": 7}


@pytest.mark.parametrize("auth", ["NONE", "NOSASL"])
def test_a_client_that_vanishes_during_a_call(start: Start, auth: str) -> None:
    server = start()
    one = client(server.port, auth)
    one._client.send_ExecuteStatement(statement("sleep 0.5"))
    server.dispatcher.handler.began.wait(PATIENCE)
    one._transport.close()
    until(lambda: len(server.dispatcher.ended) == 1)
    time.sleep(0.1)
    assert len(server.dispatcher.ended) == 1


@pytest.mark.parametrize("auth", ["NONE", "NOSASL"])
def test_a_client_that_does_not_read_its_answer(start: Start, monkeypatch: pytest.MonkeyPatch, auth: str) -> None:
    monkeypatch.setattr(connection_module, "SEND_SECONDS", 0.3)
    server = start()
    one = client(server.port, auth)
    one._client.send_GetLog(logs(50_000_000))
    until(lambda: len(server.dispatcher.ended) == 1, seconds=10)
    client(server.port, auth).close()


@pytest.mark.parametrize("auth", ["NONE", "NOSASL"])
def test_a_large_answer_arrives_whole(start: Start, auth: str) -> None:
    one = client(start().port, auth)
    assert one._client.GetLog(logs(12_000_000)).log == "x" * 12_000_000
    one.close()


def test_many_buffers_arrive_in_order() -> None:
    here, there = socket.socketpair()
    sender = connection_module.Connection(here, "test:1", 1)
    buffers = [bytes([number % 251]) * (number * 37 % 1000) for number in range(2000)]
    thread = threading.Thread(target=sender.send, args=[[*buffers[:999], memoryview(buffers[999]), *buffers[1000:]]])
    thread.start()
    whole = b""
    while len(whole) < sum(map(len, buffers)):
        whole += there.recv(1000)
    thread.join()
    assert whole == b"".join(buffers)
    here.close()
    there.close()


class Watched(socket.socket):
    """A socket that notes the time limits it is given."""

    limits: list[float | None]

    def settimeout(self, value: float | None) -> None:
        self.limits.append(value)
        super().settimeout(value)


@pytest.fixture
def watched() -> Iterator[tuple[Watched, socket.socket]]:
    here, there = socket.socketpair()
    with Watched(fileno=here.detach()) as sock, there:
        sock.limits = []
        yield sock, there


def test_short_messages_change_no_mode_of_the_socket(watched: tuple[Watched, socket.socket]) -> None:
    sock, there = watched
    connection = connection_module.Connection(sock, "test:1", 1)
    for number in range(3):
        there.sendall(b"call")
        assert connection.peek(math.inf) == ord("c")
        assert connection.read(4, math.inf) == b"call"
        connection.send([b"answer", memoryview(b" to "), str(number).encode()])
        assert there.recv(100) == f"answer to {number}".encode()
    connection.send([b""])
    assert sock.limits == []


def test_a_deadline_of_reading_is_none_of_sending(watched: tuple[Watched, socket.socket]) -> None:
    sock, there = watched
    connection = connection_module.Connection(sock, "test:1", 1)
    there.sendall(b"c")
    assert connection.read(1, connection_module.after(0.2)) == b"c"
    time.sleep(0.3)
    connection.send([b"answer"])
    assert there.recv(100) == b"answer"
    there.sendall(b"d")
    assert connection.peek(math.inf) == ord("d")
    assert sock.gettimeout() is None


def test_short_messages_to_a_slow_reader_arrive_whole(watched: tuple[Watched, socket.socket]) -> None:
    sock, there = watched
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    connection = connection_module.Connection(sock, "test:1", 1)
    messages = [bytes([number]) * 60_000 for number in range(20)]
    thread = threading.Thread(target=lambda: [connection.send([one]) for one in messages])
    thread.start()
    whole = b""
    while len(whole) < sum(map(len, messages)):
        whole += there.recv(10_000)
    thread.join()
    assert whole == b"".join(messages)
    assert not connection.is_broken


def test_short_messages_to_one_who_does_not_read(
    watched: tuple[Watched, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "SEND_SECONDS", 0.2)
    sock, _ = watched
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    connection = connection_module.Connection(sock, "test:1", 1)

    def fill() -> None:
        for _ in range(100):
            connection.send([b"x" * 60_000])

    with pytest.raises(TimeoutError):
        fill()
    assert connection.is_broken


def test_stop_ends_idle_connections_and_waits_for_calls(start: Start) -> None:
    server = start()
    idle, busy = client(server.port), client(server.port, "NOSASL")
    answers: list[Any] = []
    call = threading.Thread(target=lambda: answers.append(busy._client.ExecuteStatement(statement("sleep 1"))))
    call.start()
    server.dispatcher.handler.began.wait(PATIENCE)
    server.listener.stop(drain=True)
    call.join(PATIENCE)
    assert answers[0].status.statusCode == ttypes.TStatusCode.SUCCESS_STATUS
    assert len(server.dispatcher.ended) == 2
    with pytest.raises((TTransportException, EOFError, OSError)):
        idle._client.ExecuteStatement(statement("use x"))
    with pytest.raises(TTransportException):
        client(server.port)


def test_stop_cuts_off_what_runs_too_long(start: Start) -> None:
    server = start(drain_seconds=0.3)
    busy = client(server.port)
    busy._client.send_ExecuteStatement(statement("sleep 2"))
    server.dispatcher.handler.began.wait(PATIENCE)
    began = time.monotonic()
    server.listener.stop(drain=True)
    assert time.monotonic() - began < allowed(2)
    until(lambda: len(server.dispatcher.ended) == 1)


def test_a_port_in_use_is_an_error_of_configuration(start: Start) -> None:
    server = start()
    with pytest.raises(ConfigurationError, match="cannot listen"):
        start(port=server.port)


def test_unknown_first_bytes_are_closed(start: Start) -> None:
    server = start()
    for first in (b"\x7f", b"\xff\xff", b"{}", b"\x05"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as sock:
            sock.sendall(first)
            with contextlib.suppress(ConnectionError):
                assert sock.recv(10) == b""
    until(lambda: server.refusals == {"protocol": 4})


def test_frames_without_bytes_are_passed_over(start: Start) -> None:
    server = start()
    one = client(server.port)
    one._transport._trans.write(struct.pack("!i", 0) * 3)
    one._transport._trans.flush()
    one.cursor().execute("use x")
    one.close()


@pytest.mark.parametrize("auth", ["NONE", "NOSASL"])
def test_calls_sent_ahead_are_answered_in_order(start: Start, auth: str) -> None:
    one = client(start().port, auth)
    for rows in range(20):
        one._client.send_GetLog(logs(rows))
    assert [len(one._client.recv_GetLog().log) for _ in range(20)] == list(range(20))
    one.close()
