"""Calls as POST requests of HTTP/1.1, and pages for GET."""

from __future__ import annotations

import base64
import binascii
import logging
import math
from http import HTTPStatus

from thrift.Thrift import TApplicationException

from sharkpy.thrift.auth import NEEDS_LOGIN
from sharkpy.thrift.auth.authenticator import AuthenticationError
from sharkpy.thrift.transport.buffers import Frame, Reply
from sharkpy.thrift.transport.client import Client, PageAnswer
from sharkpy.thrift.transport.connection import Buffer, Connection, after
from sharkpy.thrift.transport.http_connection import HttpAnswer, HttpConnection, HttpRequest, RefusedError
from sharkpy.thrift.transport.message_answer import answer
from sharkpy.thrift.transport.service import Service
from sharkpy.thrift.wire.protocol import exception_message

_log = logging.getLogger(__name__)

THRIFT = "application/x-thrift"
TEXT = "text/plain; charset=utf-8"


def refuse(connection: Connection, text: str) -> None:
    """Answer the first request, whatever it is, with an error."""
    _end_with(HttpConnection(connection), connection, RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, text))


def serve(connection: Connection, service: Service, deadline: float) -> None:
    """Serve requests until the client goes or the server stops; the first one arrives before `deadline`.

    Only a client that has made a call may be idle for longer than a login may take.
    """
    requests = HttpConnection(connection)
    has_called = False
    while True:
        try:
            request = requests.read_request(deadline)
        except RefusedError as refused:
            service.refused("http")
            _end_with(requests, connection, refused)
            return
        if not connection.begin_call():
            return
        exchange = _Exchange(connection, requests, service, request, deadline)
        try:
            found = exchange.answer()
            has_called |= request.method == "POST"
        except RefusedError as refused:
            service.refused("login" if refused.status == HTTPStatus.UNAUTHORIZED else "http")
            found = _refusal(refused, is_call=exchange.is_call)
        stays = requests.respond(found, deadline)
        if not (connection.end_call() and stays):
            connection.linger()
            return
        seconds = service.config.limits.login_seconds
        try:
            if not requests.is_ahead:
                connection.peek(math.inf if has_called else after(seconds))
        except TimeoutError:
            return
        deadline = after(seconds)


def _end_with(requests: HttpConnection, connection: Connection, refused: RefusedError) -> None:
    """Answer a request that could not be read, and let the client read the answer."""
    requests.respond(_refusal(refused, is_call=False), math.inf)
    connection.linger()


def _refusal(refused: RefusedError, *, is_call: bool) -> HttpAnswer:
    """Return the answer of a refusal: drivers read an exception of their protocol, people a line of text."""
    if is_call:
        body = exception_message(refused.text, kind=TApplicationException.INTERNAL_ERROR)
    else:
        body = refused.text.encode() + b"\n"
    return HttpAnswer(refused.status, THRIFT if is_call else TEXT, [body], refused.text, refused.headers)


class _Exchange:
    """One request and its answer. A request that is not served raises RefusedError."""

    def __init__(
        self,
        connection: Connection,
        requests: HttpConnection,
        service: Service,
        request: HttpRequest,
        deadline: float,
    ) -> None:
        self._connection = connection
        self._requests = requests
        self._service = service
        self._request = request
        self._deadline = deadline

    @property
    def is_call(self) -> bool:
        """True for a call of a driver, which reads the answer as thrift."""
        content_type = self._request.header("content-type").partition(";")[0].strip().lower()
        return self._request.method == "POST" and content_type == THRIFT

    def answer(self) -> HttpAnswer:
        method, path = self._request.method, self._request.target.partition("?")[0]
        called = "/" + self._service.config.http_path.strip("/")
        is_ours = path == called or path.startswith(called.rstrip("/") + "/")
        if method == "POST":
            if not is_ours:
                raise RefusedError(HTTPStatus.NOT_FOUND, f"calls go to {called}")
            return self._call()
        if method in ("GET", "HEAD") and not (is_ours and called != "/"):
            page = self._page(path)
            return HttpAnswer(page.status, page.content_type, [page.body])
        allowed = "POST" if is_ours else "GET, HEAD"
        raise RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, f"{path} takes {allowed}", Allow=allowed)

    def _call(self) -> HttpAnswer:
        if b"origin" in self._request.headers:
            # Browsers send Origin, drivers do not. A web page must not call a server that its reader can reach.
            raise RefusedError(HTTPStatus.FORBIDDEN, "calls from web pages are refused")
        user = self._log_in()
        if not self._request.has_length:
            raise RefusedError(HTTPStatus.LENGTH_REQUIRED, "the request has neither Content-Length nor chunks")
        if too_many := self._service.admit(self._connection):
            raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, too_many)
        body = self._requests.read_body(self._service.config.limits.frame_bytes, self._deadline)
        answered: list[Buffer] = []
        client = Client(user, self._connection.peer, "http", self._connection.number)
        with self._service.departures.watched(self._connection, client):
            answer(self._service, client, Frame(body), Reply(answered.extend))
        return HttpAnswer(HTTPStatus.OK, THRIFT, answered)

    def _page(self, path: str) -> PageAnswer:
        try:
            return self._service.dispatcher.page(path, self._log_in)
        except RefusedError:
            raise
        except Exception:  # noqa: BLE001 - a failed page must not end the connection
            _log.exception("the page %s could not be made", path)
            raise RefusedError(HTTPStatus.INTERNAL_SERVER_ERROR, "the page could not be made") from None

    def _log_in(self) -> str:
        """Return the user's name, or "" if no login is needed and the request has none."""
        if b"authorization" not in self._request.headers and self._service.config.auth not in NEEDS_LOGIN:
            return ""
        try:
            user, password = _credentials(self._request.header("authorization"))
            return self._service.login.check(user, password, self._connection.host)
        except AuthenticationError as error:
            challenge = 'Basic realm="sharkpy", charset="UTF-8"'
            raise RefusedError(HTTPStatus.UNAUTHORIZED, error.message, WWW_Authenticate=challenge) from None


def _credentials(given: str) -> tuple[bytes, bytes]:
    """Return the name and the password of an Authorization header."""
    scheme, _, credentials = given.partition(" ")
    if scheme.lower() != "basic":
        raise AuthenticationError("this server wants a name and a password (HTTP Basic)")
    try:
        user, colon, password = base64.b64decode(credentials.strip(), validate=True).partition(b":")
    except (binascii.Error, ValueError):
        colon = b""
    if not colon:
        raise AuthenticationError("the Authorization header is not in the form of HTTP Basic")
    return user, password
