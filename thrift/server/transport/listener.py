"""The server's port: accepts clients, serves each in a thread within limits, and ends them in order.

The first byte of a client tells its transport, and whether it speaks TLS.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import socket
import ssl
import threading
import time
from collections.abc import Callable
from functools import partial

from sharkpy.base.errors import ConfigurationError
from sharkpy.base.records import dataclass
from sharkpy.thrift.auth import login_for
from sharkpy.thrift.auth.login_throttle import address_of
from sharkpy.thrift.config import ServerConfig
from sharkpy.thrift.transport import binary_transport, http_transport
from sharkpy.thrift.transport.connection import Connection, after
from sharkpy.thrift.transport.connection_watch import Arrival, DisconnectWatch, SilentConnections, connection_to_drop
from sharkpy.thrift.transport.service import Dispatcher, Refusal, Service

_log = logging.getLogger(__name__)

BACKLOG = 512
REFUSED_AT_ONCE = 32
"""Clients above the limit of connections that get a refusal at the same time. Further clients are cut off."""

ENTERING_AT_ONCE = 128
"""Clients that may be logging in at once. Above that, an older login gives way to each new one."""

REFUSAL_SECONDS = 5.0
CUT_OFF_SECONDS = 1.0
ACCEPT_SECONDS = 0.5
KEEPALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 20, "TCP_KEEPCNT": 4}


class Listener:
    """Port of a server: `start` binds and returns; `stop` ends everything.

    1. A client gets a thread at its first byte, and one of the limited places at its login. A client that does not get
       that far keeps no other client out.
    2. `refused` gets the reason of each refusal, for counters.

    Raise ConfigurationError if the certificate, the authentication or the address cannot work.
    """

    def __init__(
        self, config: ServerConfig, dispatcher: Dispatcher, refused: Callable[[Refusal], None] = lambda _: None
    ) -> None:
        self._config = config
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._disconnects = DisconnectWatch(dispatcher.vanished)
        self.login = login_for(config, self._ended.wait)
        self._service = Service(config, dispatcher, self.login, refused, self._disconnects, self._admit)
        self._tls = server_context(config)
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._threads: dict[Connection, threading.Thread] = {}
        self._entering: dict[Connection, None] = {}
        """Connections that are logging in, in the order in which they began."""
        self._admitted: set[Connection] = set()
        self._refusing: set[Connection] = set()
        self._silent_connections: SilentConnections | None = None
        self._port: int | None = None
        self._accepting: threading.Thread | None = None

    @property
    def port(self) -> int:
        """Port number, once started."""
        if self._port is None:
            raise ConfigurationError("the server has not been started")
        return self._port

    @property
    def connections(self) -> int:
        """Number of connected clients, including clients that have not sent anything yet."""
        return (
            len(self._threads)
            - len(self._refusing)
            + (0 if self._silent_connections is None else len(self._silent_connections))
        )

    def start(self) -> None:
        """Bind the address and accept clients in a thread."""
        listening = bind(self._config.host, self._config.port)
        listening.setblocking(False)
        self._silent_connections = SilentConnections(listening, self._give_up)
        self._port = int(listening.getsockname()[1])
        self._accepting = threading.Thread(
            target=self._accept, args=[listening, self._silent_connections], name="sharkpy-accept", daemon=True
        )
        self._accepting.start()

    def stop_accepting(self) -> None:
        """Free the port; open connections continue. May be called more than once."""
        self._stopping.set()
        if self._accepting is not None:
            self._accepting.join()

    def stop(self, *, drain: bool = True, seconds: float | None = None) -> None:
        """Accept no client, and end all connections: after their running call, or at once without `drain`.

        Return when all have ended. Connections that still run after `seconds`, by default the configuration's, are cut
        off. Their threads get only a moment more.
        """
        self.stop_accepting()
        self._ended.set()
        allowed = self._config.limits.drain_seconds if seconds is None else seconds
        self._end_connections(at_once=not drain, seconds=allowed if drain else 0.0)
        self._end_connections(at_once=True, seconds=CUT_OFF_SECONDS)
        self._disconnects.stop()

    def _end_connections(self, *, at_once: bool, seconds: float) -> None:
        with self._lock:
            threads = dict(self._threads)
        for connection in threads:
            connection.interrupt(at_once=at_once)
        deadline = time.monotonic() + seconds
        for thread in threads.values():
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))

    def _accept(self, listening: socket.socket, silent_connections: SilentConnections) -> None:
        with listening, contextlib.closing(silent_connections):
            while not self._stopping.is_set():
                is_wanted, arrivals = silent_connections.wait(ACCEPT_SECONDS)
                for arrival in arrivals:
                    self._take_in(arrival)
                if is_wanted:
                    self._let_in(listening, silent_connections)

    def _let_in(self, listening: socket.socket, silent_connections: SilentConnections) -> None:
        """Accept waiting clients as long as the system has sockets for them."""
        for _ in range(BACKLOG):
            try:
                sock, address = listening.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                if not silent_connections.make_room():
                    _log.warning("no client could be accepted: %s", error)
                    self._stopping.wait(0.1)
                return
            peer = f"[{address[0]}]:{address[1]}" if ":" in address[0] else f"{address[0]}:{address[1]}"
            connection = Connection(sock, peer, next(self._numbers))
            silent_connections.add(connection, after(self._config.limits.login_seconds))

    def _take_in(self, arrival: Arrival) -> None:
        """Serve a client that has sent a byte in a thread. Refuse a client above the limit, or cut it off."""
        connection, limit = arrival.connection, self._config.limits.connections
        with self._lock:
            reason = self._refusal(connection)
            text = self._text_of(reason or "connections")
            most = limit + ENTERING_AT_ONCE + REFUSED_AT_ONCE if limit else math.inf
            too_many = reason is not None or len(self._threads) >= most
            cut_off = (too_many and len(self._refusing) >= REFUSED_AT_ONCE) or len(self._threads) >= most
            serve = partial(self._refuse, text) if too_many else partial(self._serve, deadline=arrival.deadline)
            thread = threading.Thread(
                target=self._run, args=[connection, serve], name=f"sharkpy-client-{connection.number}", daemon=True
            )
            if not cut_off:
                self._threads[connection] = thread
                if too_many:
                    self._refusing.add(connection)
                else:
                    self._begin_login(connection)
        if too_many:
            self._service.refused(reason or "connections")
            _log.warning("%s was refused: %s", connection.peer, text)
        if cut_off:
            connection.close()
            return
        try:
            thread.start()
        except RuntimeError as error:
            _log.warning("%s was refused: %s", connection.peer, error)
            self._forget(connection)

    def _begin_login(self, connection: Connection) -> None:
        """Note a client that logs in, under the lock. If too many clients log in, another one gives way."""
        if len(self._entering) >= ENTERING_AT_ONCE:
            slow = connection_to_drop(self._entering)
            del self._entering[slow]
            slow.interrupt(at_once=True)
            self._give_up(slow)
        self._entering[connection] = None

    def _admit(self, connection: Connection) -> str:
        """Give one of the places to a client that has logged in. Return "", or the reason if there is no place."""
        with self._lock:
            self._entering.pop(connection, None)
            reason = self._refusal(connection)
            if reason is None:
                self._admitted.add(connection)
                return ""
        self._service.refused(reason)
        return self._text_of(reason)

    def _refusal(self, connection: Connection) -> Refusal | None:
        """Return the limit that keeps a connection out, if there is one. Call this under the lock."""
        limits = self._config.limits
        if connection in self._admitted:
            return None
        if limits.connections and len(self._admitted) >= limits.connections:
            return "connections"
        address = address_of(connection.host)
        most = limits.connections_per_address
        num_own = sum(address_of(one.host) == address for one in self._admitted) if most else 0
        return "connections_per_address" if most and num_own >= most else None

    def _text_of(self, reason: Refusal) -> str:
        whose = f"{getattr(self._config.limits, reason)} connections"
        return f"the server has {whose}{' of your address' if reason != 'connections' else ''}, its limit"

    def _give_up(self, connection: Connection) -> None:
        self._service.refused("timeout")
        _log.info("%s was given up: too slow", connection.peer)

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
        except Exception:  # noqa: BLE001 - an error of one connection must not end the others
            _log.exception("the connection of %s ended by an error of the server", connection.peer)
        finally:
            self._forget(connection)

    def _forget(self, connection: Connection) -> None:
        connection.close()
        with self._lock:
            del self._threads[connection]
            self._entering.pop(connection, None)
            self._admitted.discard(connection)
            self._refusing.discard(connection)

    def _serve(self, connection: Connection, deadline: float) -> None:
        first = self._begin(connection, deadline)
        if first is None:
            return
        transport = TRANSPORTS.get(first)
        if transport is None:
            self._service.refused("protocol")
            _log.info("%s speaks no protocol of this server: its first byte is %#04x", connection.peer, first)
        elif self._tls is not None and not connection.is_encrypted:
            self._service.refused("tls")
            transport.refuse(connection, "this server speaks only TLS: connect with ssl=true")
        else:
            transport.serve(connection, self._service, deadline)

    def _refuse(self, text: str, connection: Connection) -> None:
        first = self._begin(connection, after(REFUSAL_SECONDS))
        transport = None if first is None else TRANSPORTS.get(first)
        if transport is not None:
            transport.refuse(connection, text)

    def _begin(self, connection: Connection, deadline: float) -> int | None:
        """Return a client's first byte, decrypted if it speaks TLS, or None if the client was refused."""
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


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address. Raise ConfigurationError if that is impossible."""
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


@dataclass(frozen=True, slots=True)
class Transport:
    """Transport: how it serves a connection, and how it refuses a client."""

    serve: Callable[[Connection, Service, float], None]
    refuse: Callable[[Connection, str], None]


TRANSPORTS: dict[int, Transport] = {
    0x01: Transport(binary_transport.serve_sasl, binary_transport.refuse_sasl),  # START
    0x80: Transport(binary_transport.serve_nosasl, binary_transport.refuse_nosasl),  # a strict message header
    0x00: Transport(
        binary_transport.serve_nosasl, binary_transport.refuse_nosasl
    ),  # an old message header: the length of the call's name
    **dict.fromkeys(range(ord("A"), ord("Z") + 1), Transport(http_transport.serve_http, http_transport.refuse_http)),
}


HANDSHAKE = 0x16
"""The first byte of a TLS connection."""

HANDSHAKE_FAILURE = b"\x15\x03\x01\x00\x02\x02\x28"
"""Alert for a client that wants TLS from a server without TLS. The client reports it instead of a lost connection."""


def server_context(config: ServerConfig) -> ssl.SSLContext | None:
    """Return a context for TLS 1.2 and newer with the server's certificate, or None if none is configured."""
    if config.tls_cert is None or config.tls_key is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    try:
        context.load_cert_chain(config.tls_cert, config.tls_key, password=_no_password)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f'no TLS with certificate "{config.tls_cert}" and key "{config.tls_key}": {error}'
        ) from error
    return context


def _no_password() -> str:
    raise ssl.SSLError("the key is encrypted")
