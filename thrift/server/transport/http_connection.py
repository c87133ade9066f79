"""Requests and answers of HTTP/1.1 on one connection. h11 has the rules of the protocol, this file has the limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from io import BytesIO

import h11

from sharkpy.thrift.transport.connection import Buffer, Connection, MessageTooLargeError

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
            raise RefusedError(HTTPStatus.BAD_REQUEST, "this is no request of HTTP/1.1")
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
            raise RefusedError(HTTPStatus.BAD_REQUEST, f"this is no request of HTTP/1.1: {error}") from None
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
