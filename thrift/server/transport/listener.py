"""The server's port: accepts clients, a thread for each, within limits; and ends them in good order."""

from __future__ import annotations

import contextlib
import itertools
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable

from sharkpy.base.errors import ConfigurationError
from sharkpy.thrift.auth import login_for
from sharkpy.thrift.config import ServerConfig
from sharkpy.thrift.transport.client import Dispatcher
from sharkpy.thrift.transport.connection import Connection, after
from sharkpy.thrift.transport.departures import Departures
from sharkpy.thrift.transport.first_byte import SPEAKERS
from sharkpy.thrift.transport.service import Refusal, Service
from sharkpy.thrift.transport.tls import HANDSHAKE, HANDSHAKE_FAILURE, server_context

_log = logging.getLogger(__name__)

BACKLOG = 512
REFUSED_AT_ONCE = 32
"""Clients above the limit of connections that are told so; others are cut off."""

REFUSAL_SECONDS = 5.0
ACCEPT_SECONDS = 0.5
KEEPALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 20, "TCP_KEEPCNT": 4}


class Listener:
    """Port of a server: `start` binds and returns; `stop` ends everything.

    `refused` is told why a client was, for counters.

    ConfigurationError where the certificate, the way to authenticate or the address cannot work.
    """

    def __init__(
        self, config: ServerConfig, dispatcher: Dispatcher, refused: Callable[[Refusal], None] = lambda _: None
    ) -> None:
        self._config = config
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._departures = Departures(dispatcher.vanished)
        self._service = Service(config, dispatcher, login_for(config, self._ended.wait), refused, self._departures)
        self._tls = server_context(config)
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._threads: dict[Connection, threading.Thread] = {}
        self._refusing = 0
        self._port: int | None = None
        self._accepting: threading.Thread | None = None

    @property
    def port(self) -> int:
        """Number of the port, once started."""
        if self._port is None:
            raise ConfigurationError("the server has not been started")
        return self._port

    @property
    def connections(self) -> int:
        """Number of clients connected now."""
        return len(self._threads) - self._refusing

    def start(self) -> None:
        """Bind the address and accept clients in a thread."""
        listening = _bind(self._config.host, self._config.port)
        listening.settimeout(ACCEPT_SECONDS)
        self._port = int(listening.getsockname()[1])
        self._accepting = threading.Thread(target=self._accept, args=[listening], name="sharkpy-accept", daemon=True)
        self._accepting.start()

    def stop_accepting(self) -> None:
        """Free the port; connections go on. May be called more than once."""
        self._stopping.set()
        if self._accepting is not None:
            self._accepting.join()

    def stop(self, *, drain: bool = True, seconds: float | None = None) -> None:
        """Accept nobody, end idle connections, and those with a running call after it, or at once without `drain`.

        Returns when all have ended; what still runs after `seconds`, by default the configuration's, is cut off.
        """
        self.stop_accepting()
        self._ended.set()
        allowed = self._config.limits.drain_seconds if seconds is None else seconds
        self._end_connections(at_once=not drain, seconds=allowed if drain else 0.0)
        self._end_connections(at_once=True, seconds=REFUSAL_SECONDS)
        self._departures.stop()

    def _end_connections(self, *, at_once: bool, seconds: float) -> None:
        with self._lock:
            threads = dict(self._threads)
        for connection in threads:
            connection.interrupt(at_once=at_once)
        deadline = time.monotonic() + seconds
        for thread in threads.values():
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))

    def _accept(self, listening: socket.socket) -> None:
        with listening:
            while not self._stopping.is_set():
                try:
                    sock, address = listening.accept()
                except TimeoutError:
                    continue
                except OSError as error:
                    _log.warning("no client could be accepted: %s", error)
                    self._stopping.wait(0.1)
                    continue
                self._take_in(
                    sock, f"[{address[0]}]:{address[1]}" if ":" in address[0] else f"{address[0]}:{address[1]}"
                )

    def _take_in(self, sock: socket.socket, peer: str) -> None:
        limit = self._config.limits.connections
        connection = Connection(sock, peer, next(self._numbers))
        with self._lock:
            too_many = bool(limit) and len(self._threads) - self._refusing >= limit
            cut_off = too_many and self._refusing >= REFUSED_AT_ONCE
            serve = self._refuse if too_many else self._serve
            thread = threading.Thread(
                target=self._run, args=[connection, serve], name=f"sharkpy-client-{connection.number}", daemon=True
            )
            if not cut_off:
                self._threads[connection] = thread
                self._refusing += too_many
        if too_many:
            self._service.refused("connections")
            _log.warning("%s was refused: %d connections are open, the limit", peer, limit)
        if cut_off:
            connection.close()
            return
        try:
            thread.start()
        except RuntimeError as error:
            _log.warning("%s was refused: %s", peer, error)
            self._forget(connection, serve)

    def _run(self, connection: Connection, serve: Callable[[Connection], None]) -> None:
        try:
            serve(connection)
        except TimeoutError:
            self._service.refused("timeout")
            _log.info("%s was given up: too slow", connection.peer)
        except EOFError:
            _log.debug("%s has gone", connection.peer)
        except OSError as error:
            _log.info("%s was lost: %s", connection.peer, error)
        except Exception:  # noqa: BLE001 - one connection must not take the others along
            _log.exception("the connection of %s ended by an error of the server", connection.peer)
        finally:
            self._forget(connection, serve)

    def _forget(self, connection: Connection, serve: Callable[[Connection], None]) -> None:
        connection.close()
        with self._lock:
            del self._threads[connection]
            self._refusing -= serve == self._refuse

    def _serve(self, connection: Connection) -> None:
        deadline = after(self._config.limits.login_seconds)
        first = self._begin(connection, deadline)
        if first is None:
            return
        speaker = SPEAKERS.get(first)
        if speaker is None:
            self._service.refused("protocol")
            _log.info("%s speaks no protocol of this server: its first byte is %#04x", connection.peer, first)
        elif self._tls is not None and not connection.is_encrypted:
            self._service.refused("tls")
            speaker.refuse(connection, "this server speaks TLS alone: connect with ssl=true")
        else:
            speaker.serve(connection, self._service, deadline)

    def _refuse(self, connection: Connection) -> None:
        first = self._begin(connection, after(REFUSAL_SECONDS))
        speaker = None if first is None else SPEAKERS.get(first)
        if speaker is not None:
            speaker.refuse(connection, f"the server has {self._config.limits.connections} connections, its limit")

    def _begin(self, connection: Connection, deadline: float) -> int | None:
        """The first byte that a client says, with TLS below it or without; None where it has been sent away."""
        first = connection.peek_raw(deadline)
        if first != HANDSHAKE:
            return first
        if self._tls is None:
            self._service.refused("tls")
            connection.send([HANDSHAKE_FAILURE])
            connection.linger()
            return None
        try:
            connection.encrypt(self._tls, deadline)
        except ssl.SSLError as error:
            self._service.refused("tls")
            _log.info("%s and the server agree on no TLS: %s", connection.peer, error)
            return None
        return connection.peek(deadline)


def _bind(host: str, port: int) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listening = socket.create_server((address[0], port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise ConfigurationError(f'the server cannot listen on "{host}", port {port}: {error}') from error
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, seconds in KEEPALIVE.items():
        with contextlib.suppress(AttributeError, OSError):
            listening.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), seconds)
    return listening
