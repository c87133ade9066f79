"""Calls of HiveServer2's service, one at a time over one byte channel. A status of failure is raised as an error.

The channel is TCP or TLS with SASL PLAIN frames or bare Thrift, or HTTP.
"""

from __future__ import annotations

import base64
import re
import struct
import threading
from collections.abc import Callable
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TException
from thrift.transport.THttpClient import THttpClient
from thrift.transport.TSocket import TSocket
from thrift.transport.TSSLSocket import TSSLSocket
from thrift.transport.TTransport import TBufferedTransport, TFramedTransport, TTransportException

from sharkpy.base.errors import ExecutionError, SharkError
from sharkpy.client.certificates import tls_context
from sharkpy.client.server_errors import LoginError, server_error
from sharkpy.client.server_url import ServerUrl
from sharkpy.thrift.bindings import TCLIService, ttypes

_GOOD = (ttypes.TStatusCode.SUCCESS_STATUS, ttypes.TStatusCode.SUCCESS_WITH_INFO_STATUS)
_PLACE = re.compile(r" ?\(line (\d+), column (\d+)\)|\b[Ll]ine (\d+):(\d+)\b|\(line (\d+), pos (\d+)\)")
_STATE = re.compile(r" ?\[SQLSTATE \w{5}\]")
_PREFIX = re.compile(
    r"^(?:Error (?:running query|while compiling statement): )?(?:FAILED: )?"
    r"(?:(?:\[[\w.]+\] )?[\w.$]+(?:Exception|Error)(?: \[Error \d+\])?:? )*"
)
"""Prefix that servers put before a message: Java's and Hive's names of the error's kind."""
_HINT = re.compile(r"; (did you mean .*)")


class RemoteCalls:
    """Calls of the service. Several threads may call; one call runs at a time."""

    def __init__(self, url: ServerUrl) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._channel = open_channel(url)
        self._client = TCLIService.Client(TBinaryProtocolAccelerated(self._channel))

    def call(self, name: str, request: Any) -> Any:
        """Call a method of the service and return its answer. Raise an error if its status is not good."""
        with self._lock:
            method: Callable[[Any], Any] = getattr(self._client, name)
            try:
                answer = method(request)
            except (TException, OSError, EOFError) as error:
                raise ExecutionError(
                    f"lost the connection to {self._url}: {reason(error)}",
                    hint="start the shell again: the session on the server is gone or out of reach",
                    sqlstate="08S01",
                ) from None
        check_status(answer.status)
        return answer

    def close(self) -> None:
        self._channel.close()


def check_status(status: Any) -> None:
    if status is not None and status.statusCode not in _GOOD:
        raise error_of(status.errorMessage or "the server names no reason", status.sqlState)


def error_of(message: str, sqlstate: str | None) -> SharkError:
    """Return the error of an answer, with place and hint taken out of the server's text."""
    lines = message.strip().splitlines()
    text = _STATE.sub("", _PREFIX.sub("", lines[0] if lines else ""))
    hint = None
    line = column = None
    if match := _PLACE.search(text):
        numbers = [int(number) for number in match.groups() if number]
        line, column = numbers[0], numbers[1] + (match.group(5) is not None)
        if match.group(1):
            hint = text[match.end() :].lstrip("; ") or None
            text = text[: match.start()]
    elif said := _HINT.search(text):
        hint, text = said.group(1), text[: said.start()]
    return server_error(text.strip() or message, sqlstate, line, column, hint)


_START, _OK, _COMPLETE = 1, 2, 5
_HTTP_OK, _HTTP_REFUSED = 200, (401, 403)
_NOBODY = "anonymous"
LOGIN_SECONDS = 20
MAX_FRAME_BYTES = (1 << 30) - 1


def open_channel(url: ServerUrl) -> Any:
    """Open a Thrift transport. Raise LoginError if the login is refused, ExecutionError if no server answers."""
    try:
        if url.transport == "http":
            channel = TBufferedTransport(_HttpTransport(url))
            channel.open()
            return channel
        wire = _tcp(url)
        wire.setTimeout(LOGIN_SECONDS * 1000)
        wire.open()
    except (TTransportException, OSError) as error:
        raise ExecutionError(f"cannot connect to {url}: {reason(error)}", sqlstate="08001") from None
    try:
        if url.transport == "nosasl":
            wire.setTimeout(None)
            return TBufferedTransport(wire)
        _log_in(wire, url)
        wire.setTimeout(None)
        return TFramedTransport(wire, MAX_FRAME_BYTES)
    except (TTransportException, OSError, EOFError) as error:
        wire.close()
        hint = "does it speak TLS (ssl=true), HTTP (transportMode=http) or no SASL (auth=noSasl)?"
        raise ExecutionError(f"{url} ended the login: {reason(error)}", hint=hint, sqlstate="08001") from None
    except BaseException:
        wire.close()
        raise


def reason(error: BaseException) -> str:
    """Return the cause of an error in the system's words, even if thrift has wrapped it."""
    inner = getattr(error, "inner", None)
    text = getattr(inner or error, "strerror", None) or str(inner or error)
    return text or type(error).__name__


def _tcp(url: ServerUrl) -> Any:
    if url.is_tls:
        return TSSLSocket(url.host, url.port, ssl_context=tls_context(url.tls_ca), server_hostname=url.host)
    return TSocket(url.host, url.port, socket_keepalive=True)


def _log_in(wire: Any, url: ServerUrl) -> None:
    """Log in by SASL PLAIN: user and password go in one message, the answer comes in one or two."""
    credentials = f"\0{url.user or _NOBODY}\0{url.password or _NOBODY}".encode()
    for status, payload in ((_START, b"PLAIN"), (_OK, credentials)):
        wire.write(struct.pack(">bI", status, len(payload)) + payload)
    wire.flush()
    while True:
        status, length = struct.unpack(">bI", wire.readAll(5))
        if length > MAX_FRAME_BYTES:
            raise EOFError("it answers in another protocol")
        payload = wire.readAll(length) if length else b""
        if status == _COMPLETE:
            return
        if status != _OK:
            raise LoginError(payload.decode("utf-8", errors="replace") or "the server refused the login")


class _HttpTransport(THttpClient):  # type: ignore[misc]
    """Transport of one POST a call. An answer that is not Thrift becomes an error with its text."""

    def __init__(self, url: ServerUrl) -> None:
        scheme, context = ("https", tls_context(url.tls_ca)) if url.is_tls else ("http", None)
        host = f"[{url.host}]" if ":" in url.host else url.host
        super().__init__(f"{scheme}://{host}:{url.port}/{url.http_path}", ssl_context=context)
        token = base64.b64encode(f"{url.user or _NOBODY}:{url.password or _NOBODY}".encode()).decode()
        self.setCustomHeaders({"Authorization": f"Basic {token}", "X-XSRF-HEADER": "true"})

    def flush(self) -> None:
        super().flush()
        if self.code in _HTTP_REFUSED:
            raise LoginError(f"the server refused the login: {self.code} {self.message}")
        if self.code != _HTTP_OK:
            raise ExecutionError(f"the server answered {self.code} {self.message}", sqlstate="08S01")
