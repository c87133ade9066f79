"""Calls as POST requests of HTTP/1.1, and pages for GET."""

from __future__ import annotations

import base64
import binascii
import http.client
import io
import logging
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus

from thrift.Thrift import TApplicationException

from sharkpy.thrift.auth import NEEDS_LOGIN
from sharkpy.thrift.auth.authenticator import AuthenticationError
from sharkpy.thrift.transport.buffers import Frame, Reply
from sharkpy.thrift.transport.call import answer
from sharkpy.thrift.transport.client import Client, PageAnswer
from sharkpy.thrift.transport.connection import Buffer, Connection, MessageTooLargeError, after
from sharkpy.thrift.transport.service import Service
from sharkpy.thrift.wire.protocol import exception_message

_log = logging.getLogger(__name__)

HEAD_BYTES = 32 << 10
CHUNK_LINE_BYTES = 1 << 10
DRAINED_BYTES = 64 << 10
"""Of the body of a refused request: read, so that the connection stays; with more it ends."""

THRIFT = "application/x-thrift"
_REQUEST_LINE = re.compile(r"([A-Z]{1,16}) (\S{1,4096}) HTTP/1\.([01])")


class RefusedError(Exception):
    """A request that is answered with `status` and its text instead of being served."""

    def __init__(self, status: HTTPStatus, text: str, **headers: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    path: str
    headers: Message
    minor_version: int

    @property
    def keeps_alive(self) -> bool:
        said = self.headers.get("Connection", "").lower()
        return "close" not in said and (self.minor_version == 1 or "keep-alive" in said)

    @property
    def is_call(self) -> bool:
        return self.method == "POST" and self.headers.get_content_type() == THRIFT


def refuse(connection: Connection, text: str, status: HTTPStatus = HTTPStatus.SERVICE_UNAVAILABLE) -> None:
    """Answer the first request, whatever it is, with an error."""
    _respond(connection, status, "text/plain; charset=utf-8", [text.encode() + b"\n"], keep=False, reason=text)
    connection.linger()


def serve(connection: Connection, service: Service, deadline: float) -> None:
    """Serve requests until the client goes or the server stops; the first one is there before `deadline`.

    Only who has made a call may be idle for longer than a login may take.
    """
    has_called = False
    while True:
        try:
            request = _read_head(connection, deadline)
        except RefusedError as refused:
            service.refused("http")
            refuse(connection, refused.text, refused.status)
            return
        if not connection.begin_call():
            return
        keep = request.keeps_alive
        try:
            _serve_one(connection, service, request, deadline, keep=keep)
            has_called |= request.method == "POST"
        except RefusedError as refused:
            service.refused("login" if refused.status == HTTPStatus.UNAUTHORIZED else "http")
            keep = keep and _drain(connection, request, deadline)
            _respond_refused(connection, request, refused, keep=keep)
        if not (connection.end_call() and keep):
            connection.linger()
            return
        seconds = service.config.limits.login_seconds
        try:
            connection.peek(math.inf if has_called else after(seconds))
        except TimeoutError:
            return
        deadline = after(seconds)


def _serve_one(connection: Connection, service: Service, request: _Request, deadline: float, *, keep: bool) -> None:
    path = request.path.partition("?")[0]
    called = "/" + service.config.http_path.strip("/")
    is_ours = path == called or path.startswith(called.rstrip("/") + "/")
    if request.method == "POST":
        if not is_ours:
            raise RefusedError(HTTPStatus.NOT_FOUND, f"calls go to {called}")
        _serve_call(connection, service, request, deadline, keep=keep)
    elif request.method in ("GET", "HEAD") and not (is_ours and called != "/"):
        page = _page(connection, service, request, path)
        shows_body = request.method == "GET"
        _respond(connection, page.status, page.content_type, [page.body], keep=keep, shows_body=shows_body)
    else:
        allowed = "POST" if is_ours else "GET, HEAD"
        raise RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, f"{path} takes {allowed}", Allow=allowed)


def _page(connection: Connection, service: Service, request: _Request, path: str) -> PageAnswer:
    try:
        return service.dispatcher.page(path, lambda: _log_in(connection, service, request))
    except RefusedError:
        raise
    except Exception:  # noqa: BLE001 - a page is no reason to lose the connection
        _log.exception("the page %s could not be made", path)
        raise RefusedError(HTTPStatus.INTERNAL_SERVER_ERROR, "the page could not be made") from None


def _serve_call(connection: Connection, service: Service, request: _Request, deadline: float, *, keep: bool) -> None:
    if "Origin" in request.headers:
        # Browsers send it, drivers do not: no page may call a server that its reader can reach.
        raise RefusedError(HTTPStatus.FORBIDDEN, "calls from web pages are refused")
    user = _log_in(connection, service, request)
    if request.headers.get("Expect", "").lower() == "100-continue":
        connection.send([b"HTTP/1.1 100 Continue\r\n\r\n"])
    body = _read_body(connection, request, service.config.limits.frame_bytes, deadline)
    answered: list[Buffer] = []
    client = Client(user, connection.peer, "http", connection.number)
    with service.departures.watched(connection, client):
        answer(service, client, Frame(body), Reply(answered.extend))
    _respond(connection, HTTPStatus.OK, THRIFT, answered, keep=keep)


def _log_in(connection: Connection, service: Service, request: _Request) -> str:
    """The user's name."""
    given = request.headers.get("Authorization")
    if given is None and service.config.auth not in NEEDS_LOGIN:
        return ""
    try:
        scheme, _, credentials = (given or "").partition(" ")
        if scheme.lower() != "basic":
            raise AuthenticationError("this server wants a name and a password (HTTP Basic)")
        try:
            user, colon, password = base64.b64decode(credentials.strip(), validate=True).partition(b":")
        except (binascii.Error, ValueError):
            colon = b""
        if not colon:
            raise AuthenticationError("the Authorization header is not in the form of HTTP Basic")
        return service.login.check(user, password, connection.host)
    except AuthenticationError as error:
        challenge = 'Basic realm="sharkpy", charset="UTF-8"'
        raise RefusedError(HTTPStatus.UNAUTHORIZED, error.message, WWW_Authenticate=challenge) from None


def _read_head(connection: Connection, deadline: float) -> _Request:
    head = connection.read_through(b"\r\n\r\n", HEAD_BYTES, deadline)
    if head is None:
        raise RefusedError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the request's headers are too large")
    first, _, rest = head.partition(b"\r\n")
    line = _REQUEST_LINE.fullmatch(first.decode("latin-1"))
    if not line:
        raise RefusedError(HTTPStatus.BAD_REQUEST, "this is no request of HTTP/1.1")
    try:
        headers = http.client.parse_headers(io.BytesIO(rest))
    except http.client.HTTPException:
        raise RefusedError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the request has too many headers") from None
    return _Request(line[1], line[2], headers, int(line[3]))


def _read_body(connection: Connection, request: _Request, limit: int, deadline: float) -> bytes:
    coding, size = _body_form(request)
    if coding == "chunked":
        return _read_chunks(connection, limit, deadline)
    if size is None:
        raise RefusedError(HTTPStatus.LENGTH_REQUIRED, "the request has neither Content-Length nor chunks")
    if size > limit:
        raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(MessageTooLargeError(limit)))
    return connection.read(size, deadline)


def _body_form(request: _Request) -> tuple[str, int | None]:
    """Transfer coding and length; where both or two lengths are given, others may read it otherwise: refused."""
    coding = request.headers.get("Transfer-Encoding", "").strip().lower()
    lengths = {length.strip() for length in request.headers.get_all("Content-Length", [])}
    if coding not in ("", "chunked") or (coding and lengths) or len(lengths) > 1:
        raise RefusedError(HTTPStatus.BAD_REQUEST, "the length of the request's body is not clear")
    for length in lengths:
        if not re.fullmatch("[0-9]{1,18}", length):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "Content-Length is no number")
        return coding, int(length)
    return coding, None


def _read_chunks(connection: Connection, limit: int, deadline: float) -> bytes:
    parts: list[bytes] = []
    held = 0
    while True:
        size = _read_chunk_size(connection, deadline)
        held += size
        if held > limit:
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(MessageTooLargeError(limit)))
        if size == 0:
            break
        parts.append(connection.read(size, deadline))
        if connection.read(2, deadline) != b"\r\n":
            raise RefusedError(HTTPStatus.BAD_REQUEST, "a chunk does not end where it should")
    while _read_line(connection, deadline) != b"\r\n":
        held += CHUNK_LINE_BYTES
        if held > limit + HEAD_BYTES:
            raise RefusedError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the request's trailers are too large")
    return b"".join(parts)


def _read_chunk_size(connection: Connection, deadline: float) -> int:
    digits = _read_line(connection, deadline).partition(b";")[0].strip()
    if not re.fullmatch(b"[0-9a-fA-F]{1,15}", digits):
        raise RefusedError(HTTPStatus.BAD_REQUEST, "a chunk has no length")
    return int(digits, 16)


def _read_line(connection: Connection, deadline: float) -> bytes:
    line = connection.read_through(b"\n", CHUNK_LINE_BYTES, deadline)
    if line is None:
        raise RefusedError(HTTPStatus.BAD_REQUEST, "a line between chunks is too long")
    return line


def _drain(connection: Connection, request: _Request, deadline: float) -> bool:
    """Read what is left of a refused request. False where the next one cannot be found."""
    try:
        coding, size = _body_form(request)
    except RefusedError:
        return False
    if coding or (size or 0) > DRAINED_BYTES or "Expect" in request.headers:
        return False
    connection.read(size or 0, deadline)
    return True


def _respond_refused(connection: Connection, request: _Request, refused: RefusedError, *, keep: bool) -> None:
    """Drivers read an exception of their protocol, people a line of text."""
    if request.is_call:
        body = exception_message(refused.text, kind=TApplicationException.INTERNAL_ERROR)
        content_type = THRIFT
    else:
        body, content_type = refused.text.encode() + b"\n", "text/plain; charset=utf-8"
    _respond(
        connection,
        refused.status,
        content_type,
        [body],
        keep=keep,
        shows_body=request.method != "HEAD",
        reason=refused.text,
        headers=refused.headers,
    )


def _respond(
    connection: Connection,
    status: HTTPStatus,
    content_type: str,
    body: Sequence[Buffer],
    *,
    keep: bool,
    shows_body: bool = True,
    reason: str | None = None,
    headers: dict[str, str] | None = None,
) -> None:
    """`reason` is the only text of an error that some drivers show."""
    lines = {
        "Content-Type": content_type,
        "Content-Length": str(sum(len(buffer) for buffer in body)),
        "Connection": "keep-alive" if keep else "close",
        "X-Content-Type-Options": "nosniff",
        **(headers or {}),
    }
    first = f"HTTP/1.1 {status.value} {reason or status.phrase}"
    head = "\r\n".join((first, *(f"{name}: {value}" for name, value in lines.items()), "", ""))
    connection.send([head.encode("latin-1", "replace"), *(body if shows_body else ())])
