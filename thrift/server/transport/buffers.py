"""Thrift transports for a dispatcher: a message to read, and the buffers of its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO

from thrift.transport.TTransport import CReadableTransport, TMemoryBuffer, TTransportBase

from sharkpy.thrift.transport.connection import Buffer, Connection, MessageTooLargeError, after


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
