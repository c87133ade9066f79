"""Byte channel to a server: TCP or TLS, then SASL PLAIN frames, bare Thrift, or HTTP."""

from __future__ import annotations

import base64
import ssl
import struct
from typing import Any

from thrift.transport.THttpClient import THttpClient
from thrift.transport.TSocket import TSocket
from thrift.transport.TSSLSocket import TSSLSocket
from thrift.transport.TTransport import TBufferedTransport, TFramedTransport, TTransportException

from sharkpy.base.errors import ConfigurationError, ExecutionError
from sharkpy.client.server_url import ServerUrl

_START, _OK, _COMPLETE = 1, 2, 5
_HTTP_OK, _HTTP_REFUSED = 200, (401, 403)
_NOBODY = "anonymous"
LOGIN_SECONDS = 20
MAX_FRAME_BYTES = (1 << 30) - 1


class LoginError(ExecutionError):
    """Error for a login that the server refuses."""

    sqlstate = "28000"


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
        return TSSLSocket(url.host, url.port, ssl_context=_tls_context(url), server_hostname=url.host)
    return TSocket(url.host, url.port, socket_keepalive=True)


def _tls_context(url: ServerUrl) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=str(url.tls_ca) if url.tls_ca else None)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f'"{url.tls_ca}" holds no certificates: {error.strerror or error}',
            hint="a file in PEM is needed; keytool -exportcert -rfc takes them out of a Java trust store",
        ) from None


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
        scheme, context = ("https", _tls_context(url)) if url.is_tls else ("http", None)
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
