"""Endpoints of the API: rows of a table, each with a function from a request to its answer."""

from __future__ import annotations

import inspect
import json
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
from starlette.responses import Response

from sharkpy.base.records import dataclass
from sharkpy.thrift.auth import NEEDS_LOGIN
from sharkpy.thrift.auth.authenticators import AuthenticationError
from sharkpy.thrift.auth.login_throttle import address_of
from sharkpy.thrift.config import LINK
from sharkpy.thrift.transport.http_transport import credentials
from sharkpy.web.engine_samples import EngineSamples, WorkerLooks
from sharkpy.web.errors import JSON, RefusedError, error_response
from sharkpy.web.events import Events
from sharkpy.web.guards import SAFE_METHODS
from sharkpy.web.links import Links
from sharkpy.web.logins import BrowserLogins, Reader
from sharkpy.web.shapes import ShapeError, json_bytes, read_shape
from sharkpy.web.stream_calls import StateLooks

if TYPE_CHECKING:
    from starlette.requests import Request

    from sharkpy.thrift.auth import Login
    from sharkpy.thrift.server import ServerParts
    from sharkpy.web.log_tail import LogTail

Body = TypeVar("Body")
BODY_BYTES = 1 << 20
"""Most bytes of the body of a request to the API."""
CSRF_HEADER = "X-CSRF-Token"
_MOST_LOGINS_AT_ONCE = 64
_MOST_LOGINS_OF_ADDRESS = 32
_THREADS = 16
_MOST_THREADS = 1_000


class Web:
    """State of a web server: the parts of HiveServer2 that it uses, and the logins of browsers."""

    def __init__(self, parts: ServerParts, login: Login, log: LogTail) -> None:
        self.parts = parts
        self.config = parts.config
        self.needs_login = parts.config.auth in NEEDS_LOGIN
        self.is_secure = parts.config.tls_cert is not None
        self.logins = BrowserLogins(parts.config.limits)
        self.links = Links()
        self.login_hint = (
            "press Enter in the terminal of sharkpy console, and follow the new link"
            if parts.config.auth == LINK
            else None
        )
        """Way to log in, if it is not a password."""
        self.threads = anyio.CapacityLimiter(_THREADS)
        """Limit on requests that work in threads at the same time."""
        # As many as HiveServer2 has for as many statements.
        self.statement_threads = anyio.CapacityLimiter(2 * parts.config.limits.concurrent_operations or _MOST_THREADS)
        """Limit on threads that work for statements, and may wait for them."""
        self.stopping = threading.Event()
        self.events = Events(self)
        self.states = StateLooks()
        self.samples = EngineSamples(parts)
        self.workers = WorkerLooks()
        self.log = log
        self._login = login
        self._checking: Counter[str] = Counter()
        """Logins that are being checked, by address."""
        self._login_threads = anyio.CapacityLimiter(_MOST_LOGINS_AT_ONCE)

    @property
    def login_version(self) -> object:
        try:
            return self._login.version()
        except AuthenticationError:
            return None

    async def in_thread(self, work: Callable[..., Any], *arguments: object) -> Any:
        """Return `work(*arguments)`, computed in another thread. The event loop serves other requests meanwhile."""
        return await anyio.to_thread.run_sync(work, *arguments, limiter=self.threads)

    async def check_login(self, user: bytes, password: bytes, host: str) -> str:
        """Return the name of a user who may log in. Raise AuthenticationError for any other one, after a delay."""
        address = address_of(host)
        if self._checking[address] >= _MOST_LOGINS_OF_ADDRESS or self._checking.total() >= _MOST_LOGINS_AT_ONCE:
            self.parts.metrics.refuse("login")
            raise RefusedError(HTTPStatus.TOO_MANY_REQUESTS, "too many logins at once: try again later", "28000")
        self._checking[address] += 1
        try:
            name: str = await anyio.to_thread.run_sync(
                self._login.check, user, password, host, limiter=self._login_threads
            )
            return name
        except AuthenticationError:
            self.parts.metrics.refuse("login")
            raise
        finally:
            self._checking[address] -= 1
            if not self._checking[address]:
                del self._checking[address]

    def reader_of(self, user: str) -> Reader:
        is_admin = bool(user) and user in self.config.admins
        return Reader(user, is_admin, is_admin or not self.needs_login)


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """Request of a reader, with the state of the server."""

    http: Request
    web: Web
    reader: Reader

    @property
    def parts(self) -> ServerParts:
        return self.web.parts

    @property
    def host(self) -> str:
        return client_host(self.http)

    @property
    def name(self) -> str:
        """`{name}` in the path."""
        return str(self.http.path_params["name"])

    async def body(self, shape: type[Body], most_bytes: int = BODY_BYTES) -> Body:
        """Return the body, which must be JSON of this shape. Raise RefusedError if it is not, or is too large."""
        if self.http.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the body must be {JSON}", "22023")
        try:
            return read_shape(shape, json.loads(await self.raw_body(most_bytes)))
        except ShapeError as error:
            raise RefusedError(HTTPStatus.BAD_REQUEST, str(error), "22023") from None
        except (ValueError, RecursionError):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "the body is not JSON", "22023") from None

    async def raw_body(self, most_bytes: int = BODY_BYTES) -> bytes:
        """Return the bytes of the body. Raise RefusedError if there are more than `most_bytes`."""
        gathered = bytearray()
        async for part in self.http.stream():
            gathered += part
            if len(gathered) > most_bytes:
                # The rest of the body is not read.
                raise RefusedError(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                    f"the body has more than {most_bytes:,} bytes",
                    "54000",
                    headers={"Connection": "close"},
                )
        return bytes(gathered)


@dataclass(frozen=True, slots=True)
class Parameter:
    """Parameter in the query of a path, for the description of the API."""

    name: str
    text: str
    kind: Any = str
    is_repeated: bool = False


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Row of the API. `answer` returns a dataclass, which is sent as JSON, or a response.

    A plain function runs in a thread; a coroutine must not wait for anything but the event loop. `takes` and `gives`:
    shapes of the body and of the answer, for the description. With `needs_login`, the reader has logged in if the
    server's clients must.
    """

    method: str
    path: str
    answer: Callable[[ApiRequest], Any]
    summary: str
    takes: type | None = None
    gives: type | None = None
    parameters: tuple[Parameter, ...] = ()
    needs_login: bool = True
    content_type: str = JSON
    """Content type of the answer."""
    statuses: tuple[int, ...] = field(default=())
    """Statuses of errors that this endpoint has in addition to the ones of all endpoints."""

    async def respond(self, http: Request, web: Web) -> Response:
        """Answer a request."""
        try:
            reader = await identify(http, web) if self.needs_login else Reader("")
            request = ApiRequest(http, web, reader)
            if inspect.iscoroutinefunction(self.answer):
                found = await self.answer(request)
            else:
                found = await web.in_thread(self.answer, request)
        except Exception as error:  # noqa: BLE001 - the client gets it as an answer
            if isinstance(error, RefusedError) and error.status != HTTPStatus.UNAUTHORIZED:
                web.parts.metrics.refuse("http")
            return error_response(error)
        if found is None:
            return Response(status_code=HTTPStatus.NO_CONTENT)
        return found if isinstance(found, Response) else Response(json_bytes(found), media_type=JSON)


def client_host(http: Request) -> str:
    return http.client.host if http.client is not None else ""


async def identify(http: Request, web: Web) -> Reader:
    """Return the reader of a request by its Authorization header or its cookie.

    Raise RefusedError 401 if the server's clients must log in and the reader did not. Raise RefusedError 403 if a
    request with a cookie changes something and has not the token of its login. Browsers do not send a Bearer token by
    themselves, so it needs no other token.
    """
    given, bearer = http.headers.get("authorization"), bearer_token(http)
    if given is not None and bearer is None:
        try:
            return web.reader_of(await web.check_login(*credentials(given), client_host(http)))
        except AuthenticationError as error:
            raise RefusedError(HTTPStatus.UNAUTHORIZED, error.message, "28000") from None
    value = login_value(http, web)
    login = web.logins.find(value, web.login_version) if value else None
    if login is not None:
        reader = web.reader_of(login.user)
        if bearer is None and http.method not in SAFE_METHODS:
            token = http.headers.get(CSRF_HEADER, "")
            if not secrets.compare_digest(token.encode("utf-8", "replace"), login.csrf_token.encode()):
                raise RefusedError(HTTPStatus.FORBIDDEN, f"the request has not the login's {CSRF_HEADER}", "42501")
        return Reader(reader.user, reader.is_admin, reader.sees_all, login)
    if bearer is not None:
        message = "the token has ended or is none of this server: log in again, or use HTTP Basic"
        raise RefusedError(HTTPStatus.UNAUTHORIZED, message, "28000")
    if web.needs_login:
        raise RefusedError(HTTPStatus.UNAUTHORIZED, "this server needs a login", "28000", web.login_hint)
    return Reader("", sees_all=True)


def bearer_token(http: Request) -> str | None:
    """Return the token of `Authorization: Bearer`, or None without one."""
    scheme, _, token = http.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def login_value(http: Request, web: Web) -> str:
    """Return the value by which the request names its login: its Bearer token, else its cookie, else nothing."""
    token = bearer_token(http)
    return http.cookies.get(cookie_name(http, web), "") if token is None else token


def cookie_name(http: Request, web: Web) -> str:
    """Return the name of the login's cookie. It has the port, since a browser sends cookies to all ports of a host."""
    server: Mapping[str, Any] | tuple[str, int] | None = http.scope.get("server")
    port = server[1] if isinstance(server, tuple) else 0
    return f"__Host-sharkpy-{port}" if web.is_secure else f"sharkpy-{port}"
