"""HTTP/1.1: calls as POST requests, and pages for GET. h11 has the rules of the protocol, this file the limits."""

from __future__ import annotations

import base64
import binascii
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from http import HTTPStatus
from io import BytesIO

import h11
from thrift.Thrift import TApplicationException

from sharkpy.base.records import dataclass
from sharkpy.thrift.auth import NEEDS_LOGIN
from sharkpy.thrift.auth.authenticators import AuthenticationError
from sharkpy.thrift.binary_protocol import exception_message
from sharkpy.thrift.transport.connection import Buffer, Connection, MessageTooLargeError, after
from sharkpy.thrift.transport.messages import Frame, Reply, answer_message
from sharkpy.thrift.transport.service import Client, PageAnswer, Service

_log = logging.getLogger(__name__)

THRIFT = "application/x-thrift"
TEXT = "text/plain; charset=utf-8"


def refuse_http(connection: Connection, text: str) -> None:
    """Answer the first request, whatever it is, with an error."""
    _end_with(HttpConnection(connection), connection, RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, text))


def serve_http(connection: Connection, service: Service, deadline: float) -> None:
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
        with self._service.disconnects.watched(self._connection, client):
            answer_message(self._service, client, Frame(body), Reply(answered.extend))
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
            user, password = credentials(self._request.header("authorization"))
            return self._service.login.check(user, password, self._connection.host)
        except AuthenticationError as error:
            challenge = 'Basic realm="sharkpy", charset="UTF-8"'
            raise RefusedError(HTTPStatus.UNAUTHORIZED, error.message, WWW_Authenticate=challenge) from None


def credentials(given: str) -> tuple[bytes, bytes]:
    """Return the name and the password of an Authorization header. Raise AuthenticationError if it is malformed."""
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


HEAD_BYTES = 32 << 10
HEADERS = 100
DRAINED_BYTES = 64 << 10
"""Bytes of a refused request's body that are read so that the connection stays open. A longer body ends it."""

_LARGE = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
_VERSIONS = (b"1.0", b"1.1")


class RefusedError(Exception):
    """Request that is answered with `status` and its text instead of being served."""

    def __init__(self, status: HTTPStatus, text: str, **headers: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """Head of a request. Names of `headers` are in lower case; of several headers with one name, the first counts."""

    method: str
    target: str
    headers: Mapping[bytes, bytes]

    def header(self, name: str) -> str:
        """Return the text of a header, or "" if it is missing."""
        return self.headers.get(name.encode(), b"").decode("latin-1")

    @property
    def length(self) -> int | None:
        """Bytes of the body, or None if it comes in chunks."""
        return None if b"transfer-encoding" in self.headers else int(self.headers.get(b"content-length", 0))

    @property
    def has_length(self) -> bool:
        """True if the request gives the length of its body, or sends it in chunks."""
        return b"content-length" in self.headers or b"transfer-encoding" in self.headers


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """Answer to a request. `reason` replaces the status' own words; some drivers show nothing else of an error."""

    status: HTTPStatus
    content_type: str
    body: Sequence[Buffer]
    reason: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


class HttpConnection:
    """HTTP over a connection, one request after another.

    1. Call `read_request`, then `read_body` if the body is needed, then `respond`. Repeat if `respond` returned True.
    2. A violation of the protocol or of a limit raises RefusedError. If `read_request` raises it, `respond` is the last
       call.
    3. Reads have a deadline and fail as the reads of `Connection` do.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._protocol = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)
        self._request: HttpRequest | None = None

    @property
    def is_ahead(self) -> bool:
        """True if bytes of the next request have already arrived."""
        return bool(self._protocol.trailing_data[0])

    def read_request(self, deadline: float) -> HttpRequest:
        self._request = None
        event = self._next_event(deadline)
        if not isinstance(event, h11.Request) or event.http_version not in _VERSIONS:
            raise RefusedError(HTTPStatus.BAD_REQUEST, "this is not a request of HTTP/1.1")
        self._request = _checked(event)
        return self._request

    def read_body(self, limit: int, deadline: float) -> bytes:
        """Read the whole body. Ask for it first if the client waits for that."""
        if self._request is not None and (self._request.length or 0) > limit:
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(MessageTooLargeError(limit)))
        if self._protocol.they_are_waiting_for_100_continue:
            go_on = h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue")
            self._connection.send([self._protocol.send(go_on) or b""])
        body = BytesIO()
        while not isinstance(event := self._next_event(deadline), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                body.write(event.data)
            if body.tell() > limit:
                raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(MessageTooLargeError(limit)))
        return body.getvalue()

    def respond(self, answer: HttpAnswer, deadline: float) -> bool:
        """Answer the request, or bytes that could not be read as one. Return True if another request may follow."""
        stays = self._skip_body(deadline)
        headers = {
            "Content-Type": answer.content_type,
            "Content-Length": str(sum(len(buffer) for buffer in answer.body)),
            "X-Content-Type-Options": "nosniff",
            **answer.headers,
            **({} if stays else {"Connection": "close"}),
        }
        reason = " ".join(answer.reason.split()) or answer.status.phrase
        protocol = self._protocol
        head = h11.Response(
            status_code=answer.status.value, headers=list(headers.items()), reason=reason.encode("latin-1", "replace")
        )
        buffers: list[Buffer] = [protocol.send(head) or b""]
        if self._request is None or self._request.method != "HEAD":
            for buffer in answer.body:
                data = h11.Data(data=buffer)  # type: ignore[arg-type]  # passed through: whatever has a length
                buffers += protocol.send_with_data_passthrough(data) or ()
        protocol.send(h11.EndOfMessage())
        self._connection.send(buffers)
        if protocol.our_state is not h11.DONE or protocol.their_state is not h11.DONE:
            return False
        protocol.start_next_cycle()
        return True

    def _skip_body(self, deadline: float) -> bool:
        """Read the rest of a request. Return False if that is impossible or takes too long."""
        protocol = self._protocol
        if self._request is None or protocol.their_state is h11.ERROR:
            return False
        if protocol.their_state is not h11.SEND_BODY:
            return True
        length = self._request.length
        if protocol.they_are_waiting_for_100_continue or length is None or length > DRAINED_BYTES:
            return False
        try:
            self.read_body(DRAINED_BYTES, deadline)
        except RefusedError:
            return False
        return True

    def _next_event(self, deadline: float) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        try:
            while (event := self._protocol.next_event()) is h11.NEED_DATA:
                self._protocol.receive_data(self._connection.read_some(deadline))
        except h11.RemoteProtocolError as error:
            if error.error_status_hint == _LARGE:
                raise RefusedError(_LARGE, "the request's headers are too large") from None
            raise RefusedError(HTTPStatus.BAD_REQUEST, f"this is not a request of HTTP/1.1: {error}") from None
        return event


def _checked(event: h11.Request) -> HttpRequest:
    """Return the request. Check the limits that h11 does not set on a head that came at once, and the body's length."""
    lines = event.headers.raw_items()
    if len(lines) > HEADERS:
        raise RefusedError(_LARGE, "the request has too many headers")
    if len(event.target) + sum(len(name) + len(value) for name, value in lines) > HEAD_BYTES:
        raise RefusedError(_LARGE, "the request's headers are too large")
    headers = {name.lower(): value for name, value in reversed(lines)}
    if b"content-length" in headers and b"transfer-encoding" in headers:
        raise RefusedError(HTTPStatus.BAD_REQUEST, "the length of the request's body is not clear")
    return HttpRequest(event.method.decode(), event.target.decode("latin-1"), headers)
