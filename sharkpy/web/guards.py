"""Checks of each request before it is answered, and security headers of each answer."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders

from sharkpy.thrift.config import ServerConfig
from sharkpy.thrift.transport.http_transport import HEAD_BYTES, HEADERS
from sharkpy.web.errors import RefusedError, error_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_ANY_HOST = frozenset({"/healthz"})
"""Paths for load balancers, which may use any name. They show nothing."""
CONTENT_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Headers of each answer, unless the answer has its own."""


class Guard:
    """ASGI app that refuses requests for unknown hosts and from other sites, and passes the others to `app`.

    1. A page of another site may have a name that leads to this server (DNS rebinding). Its requests have that name as
       their host. Addresses, localhost and configured names cannot be such names.
    2. A request that changes something must not come from a page of another origin.
    """

    def __init__(self, app: ASGIApp, config: ServerConfig) -> None:
        self._app = app
        self._hosts = _known_hosts(config)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._check(scope, Headers(scope=scope))
        except RefusedError as error:
            await error_response(error)(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)

    def _check(self, scope: Scope, headers: Headers) -> None:
        size = len(scope["raw_path"]) + len(scope["query_string"]) + sum(len(a) + len(b) for a, b in headers.raw)
        if size > HEAD_BYTES or len(headers.raw) > HEADERS:
            raise RefusedError(431, "the request's headers are too large", "54000", headers={"Connection": "close"})
        if scope["http_version"] not in ("1.0", "1.1"):
            raise RefusedError(505, "this server speaks HTTP/1.1", "08P01", headers={"Connection": "close"})
        host = headers.get("host", "")
        if scope["path"] not in _ANY_HOST and not self.is_known(host):
            raise RefusedError(
                421,
                f'this server does not know itself as "{host[:100]}"',
                "42501",
                hint="start the server with --web-host and this name",
            )
        if scope["method"] not in SAFE_METHODS:
            _check_origin(headers, host, scope["scheme"])

    def is_known(self, host: str) -> bool:
        """Return whether a Host header has an address or a known name."""
        name = _host_name(host)
        return name is not None and (name in self._hosts or name.endswith(".localhost") or _is_address(name))


def _check_origin(headers: Headers, host: str, scheme: str) -> None:
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
    if site not in ("same-origin", "none") or (origin is not None and not _is_same(origin, host, scheme)):
        raise RefusedError(403, "a page of another site may not do this", "42501")


def _is_same(origin: str, host: str, scheme: str) -> bool:
    """Return whether an origin is the host of the request. A proxy may speak TLS for a server without TLS."""
    try:
        found = urlsplit(origin)
        default = {"http": 80, "https": 443}.get(found.scheme)
        return default is not None and (found.hostname, found.port or default) in {
            (one.hostname, one.port or default)
            for one in (urlsplit(f"{scheme}://{host}"), urlsplit(f"{found.scheme}://{host}"))
        }
    except ValueError:
        return False


def _host_name(host: str) -> str | None:
    """Return the name or address of a Host header in lower case, without its port, or None if it is malformed."""
    if not host or any(character in host for character in "/?#@\\ ,"):
        return None
    try:
        found = urlsplit(f"//{host}")
        _ = found.port
    except ValueError:
        return None
    return found.hostname.rstrip(".") if found.hostname else None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _known_hosts(config: ServerConfig) -> frozenset[str]:
    names = {"localhost", config.host.lower(), *(one.lower().rstrip(".") for one in config.web_hosts)}
    if not config.is_loopback:
        names.add(socket.gethostname().lower())
    return frozenset(names - {""})
