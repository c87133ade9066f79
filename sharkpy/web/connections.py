"""Connections of the web server: uvicorn's HTTP with bounds on numbers, sizes and times."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Literal, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from sharkpy.thrift.auth.login_throttle import address_of
from sharkpy.thrift.config import Limits

Refusal = Literal["connections", "connections_per_address", "http", "timeout"]
_LOOK_SECONDS = 0.5
_CLOSING_SECONDS = 5.0
KEEP_ALIVE_SECONDS = 60
"""Seconds that a connection without a request stays open."""
READER_SECONDS = "sharkpy.reader_seconds"
"""Key in the scope of a request whose client may read nothing of its answer for another time; 0: any time."""


class WebConnection(H11Protocol):
    """One connection. `look` ends it if its client makes no progress.

    1. The head of a request must arrive within `login_seconds`, and so must its body after that.
    2. A client must read at least something of its answer within `login_seconds`, or the `READER_SECONDS` of its
       request.
    3. A connection that the server closes has a few seconds to take the last bytes.
    4. A client that sends nothing more after its request may have gone, or may wait for its answer. It gets interim
       responses until the answer begins: the system of a client that has gone refuses them. Over TLS, it has gone.
    """

    def __init__(self, *, limits: Limits, refused: Callable[[Refusal], None], **named: Any) -> None:
        super().__init__(**named)
        self._limits = limits
        self._refused = refused
        self._step: tuple[object, ...] = ()
        """State of the connection; a change of it is progress."""
        self._since = time.monotonic()
        self._is_half_closed = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        limits = self._limits
        if limits.connections_per_address and self._num_of_address() > limits.connections_per_address:
            self._refuse("connections_per_address")
        elif limits.connections and len(self.connections) > limits.connections:
            idle = [one for one in self.connections if isinstance(one, WebConnection) and one.is_idle]
            # One of them is this connection: it has no request yet.
            min(idle, key=lambda one: one._since)._refuse("connections")

    def _num_of_address(self) -> int:
        own = _address(self)
        return sum(_address(one) == own for one in self.connections)

    def _refuse(self, reason: Refusal) -> None:
        self._refused(reason)
        self.transport.abort()

    @property
    def is_idle(self) -> bool:
        """True if no request is being answered."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def eof_received(self) -> bool:  # type: ignore[override]
        """Return whether the connection stays open for an answer after its client has closed its half."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.more_body or cycle.response_complete or self.scheme == "https":
            return False
        cycle.keep_alive = False
        # HTTP 1.0 has no interim responses.
        self._is_half_closed = self.conn.their_http_version == b"1.1"
        self._probe()
        return self._is_half_closed

    def _probe(self) -> None:
        if self._is_half_closed and self.conn.our_state is h11.SEND_RESPONSE and not self.transport.is_closing():
            event = h11.InformationalResponse(status_code=HTTPStatus.CONTINUE, headers=[], reason="Continue")
            self.transport.write(self.conn.send(event) or b"")

    def look(self) -> None:
        """End the connection if it has been in the same state for too long."""
        self._probe()
        step, seconds = self._current()
        now = time.monotonic()
        if step != self._step:
            self._step, self._since = step, now
        elif seconds and now - self._since > seconds:
            self._refuse("timeout")

    def _current(self) -> tuple[tuple[object, ...], float]:
        """Return the state, and the seconds for which it may last; 0: any time."""
        limit, unsent = self._limits.login_seconds, self.transport.get_write_buffer_size()
        if self.transport.is_closing():
            return ("closing", unsent), _CLOSING_SECONDS
        if self.flow.write_paused:
            return ("sending", unsent), self._reader_seconds()
        if self.is_idle:
            begun = self.conn.their_state is not h11.IDLE or bool(self.conn.trailing_data[0])
            is_first = self.cycle is None
            return ("waiting", id(self.cycle), begun), limit if begun or is_first else KEEP_ALIVE_SECONDS
        return ("answering", id(self.cycle), self.cycle.more_body), limit if self.cycle.more_body else 0.0

    def _reader_seconds(self) -> float:
        scope = cast("dict[str, float] | None", self.scope)
        return (scope or {}).get(READER_SECONDS, self._limits.login_seconds)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        self._refused("http")
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            # An answer has begun already.
            self.transport.abort()

    def timeout_keep_alive_handler(self) -> None:
        if self.is_idle:
            super().timeout_keep_alive_handler()


def _address(connection: Any) -> str:
    return address_of(connection.client[0]) if connection.client else ""


async def watch(connections: set[Any]) -> None:
    """Look at all connections again and again, until this task is cancelled."""
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        for one in list(connections):
            one.look()
