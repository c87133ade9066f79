"""Clients that go while their call runs are noticed, and only they."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from sharkpy.thrift.transport import Client
from sharkpy.thrift.transport.connection import Connection
from sharkpy.thrift.transport.connection_watch import DisconnectWatch
from tests.waiting import PATIENCE, until

_made: list[socket.socket] = []


@pytest.fixture(autouse=True)
def sockets_close() -> Iterator[None]:
    yield
    while _made:
        _made.pop().close()


def pair(number: int) -> tuple[socket.socket, Connection, Client]:
    client, server = socket.socketpair()
    _made.extend((client, server))
    return client, Connection(server, f"peer:{number}", number), Client("", f"peer:{number}", "nosasl", number)


def test_gone_in_a_call_and_not_before() -> None:
    told: list[int] = []
    disconnects = DisconnectWatch(lambda client: told.append(client.connection))
    one, connection, client = pair(1)
    _, other_connection, other = pair(2)
    with disconnects.watched(connection, client), disconnects.watched(other_connection, other):
        other_connection.begin_call()
        one.sendall(b"x")
        one.close()
        time.sleep(0.4)
        assert not told, "who is not in a call is noticed by the thread that reads"
        connection.begin_call()
        until(lambda: told)
        connection.end_call()
        time.sleep(0.3)
        number = len(told)
        time.sleep(0.3)
        assert len(told) == number
    assert set(told) == {1}
    disconnects.stop()


class SlowPoll:
    """A poll that returns its result late."""

    def __init__(self, poll: Any) -> None:
        self._poll = poll

    def __getattr__(self, name: str) -> Any:
        return getattr(self._poll, name)

    def poll(self, seconds: float) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = self._poll.poll(seconds)
        if seconds and found:
            time.sleep(0.3)
        return found


def test_a_socket_that_takes_the_number_of_one_that_went_is_not_taken_for_it() -> None:
    told: list[int] = []
    disconnects = DisconnectWatch(lambda client: told.append(client.connection))
    disconnects._poll = SlowPoll(disconnects._poll)  # type: ignore[assignment]
    gone, connection, client = pair(1)
    with disconnects.watched(connection, client):
        place = connection.fileno()
        gone.close()
        time.sleep(0.1)
    connection.close()
    for _ in range(10):
        alive, connection, client = pair(2)
        if connection.fileno() == place:
            break
    assert connection.fileno() == place
    with disconnects.watched(connection, client):
        connection.begin_call()
        time.sleep(0.5)
    disconnects.stop()
    assert not told
    alive.close()


def test_an_error_of_one_does_not_end_the_watch(caplog: pytest.LogCaptureFixture) -> None:
    told = threading.Event()

    def vanished(client: Client) -> None:
        if client.connection == 1:
            raise ValueError("a bug")
        told.set()

    disconnects = DisconnectWatch(vanished)
    (one, connection, client), (two, other_connection, other) = pair(1), pair(2)
    with disconnects.watched(connection, client), disconnects.watched(other_connection, other):
        connection.begin_call()
        one.close()
        time.sleep(0.3)
        other_connection.begin_call()
        two.close()
        assert told.wait(PATIENCE)
    disconnects.stop()
    assert "could not be ended" in caplog.text
