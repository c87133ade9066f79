"""Watches of connections from which no thread reads: before their first byte, and during their call."""

from __future__ import annotations

import contextlib
import logging
import select
import selectors
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from sharkpy.base.records import dataclass
from sharkpy.thrift.transport.connection import Connection
from sharkpy.thrift.transport.service import Client

SILENT_AT_ONCE = 256
"""Silent connections that are kept. Above that, an older one gives way to each new one."""


def connection_to_drop(connections: Iterable[Connection]) -> Connection:
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


class SilentConnections:
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
        self._give_up(connection_to_drop(self._silent))
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


_log = logging.getLogger(__name__)
_LOOK_SECONDS = 0.1
_DISCONNECTED = getattr(select, "EPOLLRDHUP", 0)


class DisconnectWatch:
    """Watcher of connections: one thread for all, started with the first one.

    `vanished` is called repeatedly until the call has ended.

    If the system has no epoll, a disconnected client is noticed only when its call is answered.
    """

    def __init__(self, vanished: Callable[[Client], None]) -> None:
        self._vanished = vanished
        self._lock = threading.Lock()
        self._watched: dict[int, tuple[Connection, Client]] = {}
        self._poll = select.epoll() if _DISCONNECTED else None
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def watched(self, connection: Connection, client: Client) -> Iterator[None]:
        if self._poll is None:
            yield
            return
        place = connection.fileno()
        with self._lock:
            self._watched[place] = connection, client
            self._poll.register(place, _DISCONNECTED)
            if self._thread is None and not self._stopped.is_set():
                self._thread = threading.Thread(target=self._look, name="sharkpy-disconnects", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                del self._watched[place]
                if not self._poll.closed:
                    self._poll.unregister(place)

    def stop(self) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
        if self._poll is not None:
            with self._lock:
                self._poll.close()

    def _look(self) -> None:
        while self._poll is not None and not self._stopped.is_set():
            self._poll.poll(5 * _LOOK_SECONDS)
            with self._lock:
                # Polled again: a descriptor found without the lock may be another connection's by now.
                gone = [self._watched[place] for place, _ in self._poll.poll(0)]
            for connection, client in gone:
                if connection.is_in_call:
                    self._tell(client)
            if gone:
                self._stopped.wait(_LOOK_SECONDS)

    def _tell(self, client: Client) -> None:
        try:
            self._vanished(client)
        except Exception:  # noqa: BLE001 - the watch of other clients continues
            _log.exception("what ran for %s could not be ended", client.peer)
