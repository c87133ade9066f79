"""Watch for clients that disconnect during their call, when no thread reads from them."""

from __future__ import annotations

import contextlib
import logging
import select
import threading
from collections.abc import Callable, Iterator

from sharkpy.thrift.transport.client import Client
from sharkpy.thrift.transport.connection import Connection

_log = logging.getLogger(__name__)
_LOOK_SECONDS = 0.1
_GONE = getattr(select, "EPOLLRDHUP", 0)


class Departures:
    """Watcher of connections: one thread for all, started with the first one.

    `vanished` is called repeatedly until the call has ended.

    If the system has no epoll, a disconnected client is noticed only when its call is answered.
    """

    def __init__(self, vanished: Callable[[Client], None]) -> None:
        self._vanished = vanished
        self._lock = threading.Lock()
        self._watched: dict[int, tuple[Connection, Client]] = {}
        self._poll = select.epoll() if _GONE else None
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
            self._poll.register(place, _GONE)
            if self._thread is None and not self._stopped.is_set():
                self._thread = threading.Thread(target=self._look, name="sharkpy-departures", daemon=True)
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
