"""Lobby of the port: connections that have not sent anything yet. They have no thread and take no client's place."""

from __future__ import annotations

import selectors
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sharkpy.thrift.transport.connection import Connection

SILENT_AT_ONCE = 256
"""Silent connections that are kept. Above that, an older one gives way to each new one."""


def to_give_way(connections: Iterable[Connection]) -> Connection:
    """Return the oldest connection of the host that has most of them, so that a host crowds out only itself.

    `connections` are in the order of their arrival, and there is at least one.
    """
    waiting = list(connections)
    by_host = Counter(one.host for one in waiting)
    most = max(by_host.values())
    return next(one for one in waiting if by_host[one.host] == most)


@dataclass(frozen=True, slots=True)
class Arrival:
    """Client that has sent its first byte, and the time by which it must have logged in."""

    connection: Connection
    deadline: float


class Lobby:
    """Watch over a listening socket and the silent connections, for the one thread that accepts.

    `given_up` is called with each connection that was silent too long or gave way. The connection is closed then.
    """

    def __init__(self, listening: socket.socket, given_up: Callable[[Connection], None]) -> None:
        self._listening = listening
        self._given_up = given_up
        self._selector = selectors.DefaultSelector()
        self._selector.register(listening, selectors.EVENT_READ)
        self._silent: dict[Connection, float] = {}

    def __len__(self) -> int:
        return len(self._silent)

    def add(self, connection: Connection, deadline: float) -> None:
        if len(self._silent) >= SILENT_AT_ONCE:
            self.make_room()
        self._silent[connection] = deadline
        self._selector.register(connection, selectors.EVENT_READ)

    def make_room(self) -> bool:
        """Close one silent connection. Return False if there is none."""
        if not self._silent:
            return False
        self._give_up(to_give_way(self._silent))
        return True

    def wait(self, seconds: float) -> tuple[bool, list[Arrival]]:
        """Wait for an event. Return whether new clients wait, and the connections that have sent a byte or have ended.

        The caller owns these connections from then on.
        """
        ready = [key.fileobj for key, _ in self._selector.select(seconds)]
        spoken = [Arrival(one, self._take(one)) for one in ready if isinstance(one, Connection)]
        now = time.monotonic()
        for connection in [one for one, deadline in self._silent.items() if deadline <= now]:
            self._give_up(connection)
        return self._listening in ready, spoken

    def close(self) -> None:
        for connection in list(self._silent):
            self._take(connection)
            connection.close()
        self._selector.close()

    def _take(self, connection: Connection) -> float:
        self._selector.unregister(connection)
        return self._silent.pop(connection)

    def _give_up(self, connection: Connection) -> None:
        self._given_up(connection)
        self._take(connection)
        connection.close()
