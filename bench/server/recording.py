"""Recorded answers of a server on one SASL connection, replayed to a client, to measure only the client.

Clients call one after another and never look at the call's number, so the n-th frame answers the n-th request.
"""

from __future__ import annotations

import multiprocessing
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_NEGOTIATION = struct.Struct("!BI")
_FRAME = struct.Struct("!I")
_COMPLETE = _NEGOTIATION.pack(5, 0)


def recorded(port: int, use: Callable[[int], object]) -> list[bytes]:
    """Record the frames that the server at `port` answers to the calls of `use(port)` on its one connection."""
    frames: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        proxy = threading.Thread(target=_record, args=(listening, port, frames))
        proxy.start()
        use(listening.getsockname()[1])
        proxy.join()
    return frames


def _record(listening: socket.socket, port: int, frames: list[bytes]) -> None:
    client, _ = listening.accept()
    with client, socket.create_connection(("127.0.0.1", port)) as server:
        for _ in range(2):
            head, body = _message(client, _NEGOTIATION)
            server.sendall(head + body)
        head, body = _message(server, _NEGOTIATION)
        client.sendall(head + body)
        while (request := _message(client, _FRAME))[0]:
            server.sendall(b"".join(request))
            frames.append(b"".join(_message(server, _FRAME)))
            client.sendall(frames[-1])


@contextmanager
def replayed(frames: list[bytes]) -> Iterator[int]:
    """Start a process that answers each connection with `frames`; returns its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        process = multiprocessing.get_context("fork").Process(target=_replay, args=(listening, frames), daemon=True)
        process.start()
        try:
            yield listening.getsockname()[1]
        finally:
            process.terminate()
            process.join()


def _replay(listening: socket.socket, frames: list[bytes]) -> None:
    while True:
        client, _ = listening.accept()
        with client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in range(2):
                _message(client, _NEGOTIATION)
            client.sendall(_COMPLETE)
            for frame in frames:
                if not _message(client, _FRAME)[0]:
                    break
                client.sendall(frame)


def _message(source: socket.socket, head: struct.Struct) -> tuple[bytes, bytes]:
    """Read a head and a body, whose length the head ends with; nothing at the end of the stream."""
    begin = _exactly(source, head.size)
    return (begin, _exactly(source, head.unpack(begin)[-1])) if begin else (b"", b"")


def _exactly(source: socket.socket, size: int) -> bytes:
    parts: list[bytes] = []
    while size > 0:
        part = source.recv(min(size, 1 << 20))
        if not part:
            return b""
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
