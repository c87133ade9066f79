"""Requests to `sharkpy server` over HTTP: connections, logins, and errors from answers."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import select
import socket
import threading
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from sharkpy.base.errors import ConfigurationError, ExecutionError, SharkError
from sharkpy.base.records import dataclass
from sharkpy.client.certificates import tls_context
from sharkpy.client.server_errors import LoginError, server_error

ARROW = "application/vnd.apache.arrow.stream"
_SCHEMES = {"http": 80, "https": 443}
_HINT = "write http://[user[:password]@]host[:port][/database], or https://…"
_CONNECT_SECONDS = 20
_LOST = (http.client.HTTPException, OSError)
Connection = http.client.HTTPConnection


@dataclass(frozen=True, slots=True)
class HttpUrl:
    """Parts of a server's URL. The text of this object never contains `password`."""

    host: str
    port: int
    is_tls: bool = False
    user: str = ""
    password: str = field(default="", repr=False)
    database: str = "default"
    tls_ca: Path | None = None
    """PEM file with the certificates that verify the server; None for the certificates of this machine."""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_tls else 'http'}://{host}:{self.port}"


def is_http_url(text: str) -> bool:
    """Return whether a URL has the scheme http or https."""
    return text.strip().lower().startswith(tuple(f"{scheme}://" for scheme in _SCHEMES))


def parse_http_url(text: str) -> HttpUrl:
    """Parse `http://[user[:password]@]host[:port][/database]`. Raise ConfigurationError if it is malformed."""
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError:
        parts, port = SplitResult("", "", "", "", ""), None
    if parts.scheme not in _SCHEMES or not parts.hostname or parts.query or parts.fragment:
        raise ConfigurationError("this is not the URL of a server", hint=_HINT, sqlstate="08001")
    return HttpUrl(
        host=parts.hostname,
        port=port or _SCHEMES[parts.scheme],
        is_tls=parts.scheme == "https",
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        database=unquote(parts.path.strip("/")) or "default",
    )


class HttpCalls:
    """Connections to a server. Several threads may make requests; each request has a connection for itself."""

    def __init__(self, url: HttpUrl) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._is_closed = False
        self._headers = {"Content-Type": "application/json"}
        if url.user:
            token = base64.b64encode(f"{url.user}:{url.password}".encode()).decode()
            self._headers["Authorization"] = f"Basic {token}"

    def connection(self) -> Connection:
        """Return a connection that nothing else uses. Raise ExecutionError 08001 if there is no server."""
        with self._lock:
            if self._is_closed:
                raise ExecutionError("this session is closed", hint="connect again", sqlstate="08003")
            while self._idle:
                connection = self._idle.pop()
                if _is_alive(connection):
                    return connection
                connection.close()
        return self._opened()

    def _opened(self) -> Connection:
        url = self._url
        connection: Connection
        if url.is_tls:
            context = tls_context(url.tls_ca)
            connection = http.client.HTTPSConnection(url.host, url.port, timeout=_CONNECT_SECONDS, context=context)
        else:
            connection = http.client.HTTPConnection(url.host, url.port, timeout=_CONNECT_SECONDS)
        try:
            connection.connect()
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            connection.sock.settimeout(None)
        except OSError as error:
            connection.close()
            raise ExecutionError(f"cannot connect to {url}: {reason(error)}", sqlstate="08001") from None
        return connection

    def send(
        self, connection: Connection, method: str, path: str, body: Mapping[str, Any] | None = None, accept: str = "*/*"
    ) -> http.client.HTTPResponse:
        """Return the answer to a request, to be read. Raise the error of an answer that is one."""
        content = json.dumps(body or {}).encode()
        try:
            connection.request(method, path, content, {**self._headers, "Accept": accept})
            answer = connection.getresponse()
            if answer.status < http.client.BAD_REQUEST:
                return answer
            text = answer.read()
        except _LOST as error:
            connection.close()
            raise self.lost(error) from None
        connection.close()
        raise _error_of(answer, text)

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the JSON of an answer, or None if it is empty."""
        connection = self.connection()
        answer = self.send(connection, method, path, body)
        try:
            text = answer.read()
        except _LOST as error:
            connection.close()
            raise self.lost(error) from None
        self.give_back(connection, answer)
        return json.loads(text) if text else None

    def give_back(self, connection: Connection, answer: http.client.HTTPResponse) -> None:
        """Keep a connection for the next request if its answer was read to the end; otherwise close it."""
        with self._lock:
            if answer.isclosed() and connection.sock is not None and not self._is_closed:
                self._idle.append(connection)
                return
        connection.close()

    def lost(self, error: BaseException) -> SharkError:
        """Return the error for a connection that failed."""
        hint = "connect again if the session on the server is gone"
        return ExecutionError(f"lost the connection to {self._url}: {reason(error)}", hint=hint, sqlstate="08S01")

    def close(self) -> None:
        """Close idle connections; further requests fail."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def _is_alive(connection: Connection) -> bool:
    """Return whether the server has not ended an idle connection: nothing can be read from it."""
    try:
        return connection.sock is not None and not select.select([connection.sock], [], [], 0)[0]
    except (OSError, ValueError):
        return False


def cut(connection: Connection) -> None:
    """End a connection. A thread that waits for its bytes gets an error."""
    sock = connection.sock
    if sock is not None:
        with contextlib.suppress(OSError):
            # Not the method of TLS sockets, which would end their state under the reading thread.
            socket.socket.shutdown(sock, socket.SHUT_RDWR)


def reason(error: BaseException) -> str:
    """Return the cause of an error in the system's words."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _error_of(answer: http.client.HTTPResponse, text: bytes) -> SharkError:
    try:
        found = json.loads(text)["error"]
        error = server_error(**{name: found.get(name) for name in ("message", "sqlstate", "line", "column", "hint")})
    except (ValueError, LookupError, TypeError, AttributeError):
        error = ExecutionError(f"the server answered {answer.status} {answer.reason}", sqlstate="08S01")
    return LoginError(error.message) if answer.status == http.client.UNAUTHORIZED else error
