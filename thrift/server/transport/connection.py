"""A client's socket: reads with deadlines, complete answers, and interruption by another thread."""

from __future__ import annotations

import contextlib
import math
import socket
import ssl
import threading
import time
from collections.abc import Sequence

from thrift.transport.TTransport import TTransportException

CHUNK = 256 << 10
SEND_SECONDS = 60.0
"""Seconds after which a client that takes no byte of its answer is given up."""

LINGER_SECONDS = 2.0
JOINED_BYTES = 64 << 10
BUFFERS_AT_ONCE = 256

Buffer = bytes | bytearray | memoryview


class Connection:
    """Connection of a client, used by the one thread that serves it. Only `interrupt` may be called by another thread.

    1. A read has a deadline, a time of `time.monotonic()`. Bytes past the end of a read are kept for the next read.
    2. The end of the stream raises EOFError, and a passed deadline TimeoutError. Other failures raise OSError.
    3. Between `begin_call` and `end_call`, an interruption waits for the answer unless it is `at_once`.
    """

    def __init__(self, sock: socket.socket, peer: str, number: int) -> None:
        self.peer = peer
        self.number = number
        self.is_broken = False
        """True once an answer could not be sent. Then nothing more can be sent."""
        self.is_encrypted = False
        self._socket = sock
        self._ahead = b""
        self._lock = threading.Lock()
        self._in_call = False
        self._interrupted = False

    @property
    def host(self) -> str:
        return self.peer.rpartition(":")[0]

    def peek_raw(self, deadline: float) -> int:
        """Return the first byte on the wire without consuming it."""
        self._limit_time(deadline)
        first = self._socket.recv(1, socket.MSG_PEEK)
        if not first:
            raise EOFError
        return first[0]

    def encrypt(self, context: ssl.SSLContext, deadline: float) -> None:
        """Begin TLS; all following bytes are encrypted."""
        self._limit_time(deadline)
        encrypted = context.wrap_socket(self._socket, server_side=True, do_handshake_on_connect=False)
        self._socket = encrypted
        self.is_encrypted = True
        encrypted.do_handshake()

    def peek(self, deadline: float) -> int:
        """Return the next byte without consuming it."""
        if not self._ahead:
            self._ahead = self._receive(deadline)
        return self._ahead[0]

    def read_some(self, deadline: float) -> bytes:
        """Read the available bytes, at least one."""
        some, self._ahead = self._ahead, b""
        return some or self._receive(deadline)

    def read(self, size: int, deadline: float) -> bytes:
        """Read exactly `size` bytes. Memory is allocated as they arrive."""
        if len(self._ahead) >= size:
            whole, self._ahead = self._ahead[:size], self._ahead[size:]
            return whole
        parts, missing = [self._ahead], size - len(self._ahead)
        self._ahead = b""
        while missing > 0:
            part = self._receive(deadline)
            parts.append(part[:missing])
            self._ahead = part[missing:]
            missing -= len(part)
        return b"".join(parts)

    def send(self, buffers: Sequence[Buffer]) -> None:
        """Send all of `buffers`, large ones without copying them."""
        try:
            if sum(len(buffer) for buffer in buffers) <= JOINED_BYTES:
                self._send_joined(b"".join(buffers))
                return
            self._socket.settimeout(SEND_SECONDS)
            if self.is_encrypted:
                self._send_pieces(buffers)
            else:
                self._send_gathered(buffers)
        except BaseException:
            self.is_broken = True
            raise

    def _send_joined(self, message: bytes) -> None:
        """Send a small message, with one system call if the client reads it at once.

        A socket with a time limit needs further system calls before that. Each system call releases the interpreter's
        lock, which a busy thread then keeps for a while.
        """
        sent = 0
        if not self.is_encrypted and self._socket.gettimeout() is None:
            with contextlib.suppress(BlockingIOError):
                sent = self._socket.send(message, socket.MSG_DONTWAIT)
        if sent < len(message):
            self._socket.settimeout(SEND_SECONDS)
            self._socket.sendall(memoryview(message)[sent:])

    def _send_pieces(self, buffers: Sequence[Buffer]) -> None:
        for buffer in buffers:
            view = memoryview(buffer)
            for start in range(0, len(view), CHUNK):
                self._socket.sendall(view[start : start + CHUNK])

    def _send_gathered(self, buffers: Sequence[Buffer]) -> None:
        views = [view for buffer in buffers if len(view := memoryview(buffer).cast("B"))]
        first = 0
        while first < len(views):
            sent = self._socket.sendmsg(views[first : first + BUFFERS_AT_ONCE])
            while first < len(views) and sent >= len(views[first]):
                sent -= len(views[first])
                first += 1
            if sent:
                views[first] = views[first][sent:]

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def is_in_call(self) -> bool:
        return self._in_call

    def begin_call(self) -> bool:
        """Note that a call begins. Return False if the connection was interrupted before."""
        with self._lock:
            self._in_call = not self._interrupted
            return self._in_call

    def end_call(self) -> bool:
        """Note that the call has ended.

        Return False if the connection was interrupted meanwhile, or cannot send any more.
        """
        with self._lock:
            self._in_call = False
            return not (self._interrupted or self.is_broken)

    def interrupt(self, *, at_once: bool) -> None:
        """End the connection: after its running call, or without waiting for the call if `at_once`."""
        with self._lock:
            self._interrupted = True
            if at_once or not self._in_call:
                self._shut_down(socket.SHUT_RDWR)

    def linger(self) -> None:
        """Let the client read the last answer: closing a socket with unread bytes would discard the answer."""
        if self.is_broken:
            return
        self._shut_down(socket.SHUT_WR)
        self._ahead = b""
        with contextlib.suppress(OSError, EOFError, ValueError):
            deadline = time.monotonic() + LINGER_SECONDS
            while time.monotonic() < deadline:
                self._receive(deadline)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()

    def _shut_down(self, how: int) -> None:
        # Not the method of SSLSocket, which would remove the codec under the thread that reads.
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._socket, how)

    def _limit_time(self, deadline: float) -> None:
        if deadline == math.inf:
            if self._socket.gettimeout() is not None:
                self._socket.settimeout(None)
            return
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)

    def _receive(self, deadline: float) -> bytes:
        self._limit_time(deadline)
        some = self._socket.recv(CHUNK)
        if not some:
            raise EOFError
        return some


class MessageTooLargeError(TTransportException):  # type: ignore[misc]
    """Message with more bytes than the server accepts."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            TTransportException.SIZE_LIMIT, f"the request is larger than {limit} bytes, the server's limit"
        )


def after(seconds: float) -> float:
    """Return the deadline in `seconds` from now; 0 means no deadline."""
    return time.monotonic() + seconds if seconds > 0 else math.inf
