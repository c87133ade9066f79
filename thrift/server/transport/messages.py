"""One call: a message in a thrift transport, the dispatcher that answers it, and the buffers of its answer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

from thrift.Thrift import TApplicationException, TException
from thrift.transport.TTransport import CReadableTransport, TMemoryBuffer, TTransportBase

from sharkpy.thrift.binary_protocol import exception_message
from sharkpy.thrift.transport.connection import Buffer, Connection, MessageTooLargeError, after
from sharkpy.thrift.transport.service import Client, Service

_log = logging.getLogger(__name__)

UNREADABLE = (TException, EOFError, OSError, ValueError, OverflowError, TypeError)
"""Errors of the codec for bytes that do not form a message, and of the socket for bytes that do not arrive."""


def answer_message(service: Service, client: Client, request: Any, reply: Reply) -> bool:
    """Have a message answered. Return False if that failed: without frames, the next message cannot be found."""
    try:
        service.dispatcher.process(request, reply, client)
        reply.flush()
    except Exception as error:  # noqa: BLE001 - an error of the codec on forged bytes ends only this call
        service.refused("call")
        known = isinstance(error, UNREADABLE)
        _log.info("%s: a call could not be answered: %r", client.peer, error, exc_info=not known)
        if not reply.is_sent:
            kind = TApplicationException.PROTOCOL_ERROR if known else TApplicationException.INTERNAL_ERROR
            reply.replace(
                exception_message(f"the request could not be read: {str(error) or 'it ends too early'}", kind=kind)
            )
        return False
    return True


class Frame(TMemoryBuffer):  # type: ignore[misc]
    """One whole message in memory."""

    def __init__(self, message: bytes) -> None:
        super().__init__(message)
        self.limit = len(message)


class UnframedMessages(TTransportBase, CReadableTransport):  # type: ignore[misc]
    """Messages one after another on a connection. Each has about `limit` bytes at most and arrives within `seconds`."""

    def __init__(self, connection: Connection, limit: int, seconds: float) -> None:
        self.limit = limit
        self._connection = connection
        self._seconds = seconds
        self._deadline = 0.0
        self._taken = 0
        self._buffer = BytesIO()

    def begin_message(self, deadline: float) -> None:
        """Wait until `deadline` for the first byte of the next message."""
        rest = self._buffer.read()
        if not rest:
            self._connection.peek(deadline)
            rest = self._connection.read_some(deadline)
        self._buffer = BytesIO(rest)
        self._taken = len(rest)
        self._deadline = after(self._seconds)

    def readAll(self, sz: int) -> bytes:  # noqa: N802
        found = self._buffer.read(sz)
        if len(found) == sz:
            return found
        return self.cstringio_refill(found, sz).read(sz)

    def read(self, sz: int) -> bytes:
        found = self._buffer.read(sz)
        return found or self.cstringio_refill(b"", 1).read(sz)

    @property
    def cstringio_buf(self) -> BytesIO:
        return self._buffer

    def cstringio_refill(self, partialread: bytes, reqlen: int) -> BytesIO:
        parts, held = [partialread], len(partialread)
        while held < reqlen:
            part = self._connection.read_some(self._deadline)
            self._taken += len(part)
            if self._taken - len(part) > self.limit:
                raise MessageTooLargeError(self.limit)
            parts.append(part)
            held += len(part)
        self._buffer = BytesIO(b"".join(parts))
        return self._buffer


class Reply(TTransportBase):  # type: ignore[misc]
    """Buffers of an answer, kept as they are and passed to `send` by `flush`."""

    def __init__(self, send: Callable[[Sequence[Buffer]], None]) -> None:
        self.is_sent = False
        self._send = send
        self._buffers: list[Buffer] = []

    def write(self, buf: Buffer) -> None:
        self._buffers.append(buf)

    def flush(self) -> None:
        buffers, self._buffers = self._buffers, []
        if buffers:
            self.is_sent = True
            self._send(buffers)

    def replace(self, message: bytes) -> None:
        """Answer `message` instead of everything that was not sent."""
        self._buffers = [message]
        self.flush()
