"""Frames mutated, cut and forged: no death of the server, and no disturbance of another client."""

from __future__ import annotations

import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyhive import hive
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TTransport import TMemoryBuffer

from sharkpy.thrift.bindings import TCLIService, ttypes
from sharkpy.thrift.transport import Client
from sharkpy.thrift.transport.connection import Connection, after
from sharkpy.thrift.transport.listener import TRANSPORTS
from sharkpy.thrift.transport.messages import Frame, Reply, UnframedMessages, answer_message
from tests.waiting import PATIENCE, allowed, until

from .conftest import HANDLE, OPERATION, SUCCESS, Start

SESSION = ttypes.TSessionHandle(sessionId=HANDLE)
REQUESTS: dict[str, Any] = {
    "OpenSession": ttypes.TOpenSessionReq(
        client_protocol=7, username="bob", configuration={"use:database": "x", "a": "b"}
    ),
    "CloseSession": ttypes.TCloseSessionReq(sessionHandle=SESSION),
    "ExecuteStatement": ttypes.TExecuteStatementReq(
        sessionHandle=SESSION, statement="select 1", confOverlay={"k": "v"}, runAsync=True
    ),
    "GetTables": ttypes.TGetTablesReq(sessionHandle=SESSION, schemaName="%", tableTypes=["TABLE", "VIEW"]),
    "GetInfo": ttypes.TGetInfoReq(sessionHandle=SESSION, infoType=17),
    "GetOperationStatus": ttypes.TGetOperationStatusReq(operationHandle=OPERATION),
    "FetchResults": ttypes.TFetchResultsReq(operationHandle=OPERATION, orientation=0, maxRows=1000),
    "GetLog": ttypes.TGetLogReq(operationHandle=OPERATION),
}


def messages() -> list[bytes]:
    """A message of each call, in both forms of header, and one of an unknown call."""
    made = []
    for name, request in [*REQUESTS.items(), ("CloseImpalaOperation", REQUESTS["GetLog"])]:
        for strict in (True, False):
            buffer = TMemoryBuffer()
            protocol = TBinaryProtocol(buffer, strictWrite=strict)
            protocol.writeMessageBegin(name, 1, 5)
            known = name if name in REQUESTS else "GetLog"
            getattr(TCLIService, f"{known}_args")(req=request).write(protocol)
            made.append(bytes(buffer.getvalue()))
    return made


def _flip(random: random.Random, message: bytearray) -> None:
    for _ in range(random.randint(1, 4)):
        message[random.randrange(len(message))] = random.randrange(256)


def _cut(random: random.Random, message: bytearray) -> None:
    del message[random.randrange(len(message)) :]


def _insert(random: random.Random, message: bytearray) -> None:
    place = random.randrange(len(message))
    message[place:place] = random.randbytes(random.randint(1, 16))


def _forge_length(random: random.Random, message: bytearray) -> None:
    place = random.randrange(max(1, len(message) - 4))
    lie = random.choice([0x7FFFFFFF, -1, -0x80000000, 0x01000000, 0x00FFFFFF, 1 << 20, 65536])
    message[place : place + 4] = struct.pack("!i", lie)


def _nest(random: random.Random, message: bytearray) -> None:
    place = random.randrange(len(message))
    message[place:place] = random.choice([b"\x0c\0\x01", b"\x0f\0\0\0\x01", b"\x0d\x0c\x0c\0\0\0\x01"]) * 500


def _noise(random: random.Random, message: bytearray) -> None:
    message[:] = random.randbytes(random.randint(0, 200))


MUTATIONS: tuple[Callable[[random.Random, bytearray], None], ...] = (_flip, _cut, _insert, _forge_length, _nest, _noise)


def mutated(seed: int, count: int) -> Iterator[bytes]:
    chance, originals = random.Random(seed), messages()
    for _ in range(count):
        message = bytearray(chance.choice(originals))
        for _ in range(chance.randint(1, 2)):
            if message:
                chance.choice(MUTATIONS)(chance, message)
        yield bytes(message)


def is_answer(sent: bytes) -> bool:
    name, kind, _ = TBinaryProtocol(TMemoryBuffer(sent)).readMessageBegin()
    return kind in (2, 3) and isinstance(name, str)


class Neighbour:
    """A client that goes on working; `worst` is its slowest call in seconds."""

    def __init__(self, port: int) -> None:
        self.calls, self.worst = 0, 0.0
        self.errors: list[Exception] = []
        self._connection = hive.connect("127.0.0.1", port, username="bob")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def __enter__(self) -> Neighbour:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._connection.close()

    def _work(self) -> None:
        try:
            while not self._stop.wait(0.01):
                began = time.monotonic()
                self._connection.cursor().execute("use x")
                self.calls, self.worst = self.calls + 1, max(self.worst, time.monotonic() - began)
        except Exception as error:
            self.errors.append(error)


def fuzz_in_process(server: Any, seed: int, count: int) -> None:
    """Every second message as a frame, the others without frames, all through the code that serves connections."""
    server.dispatcher.handler.GetLog = lambda request: ttypes.TGetLogResp(status=SUCCESS, log="")
    service = server.listener._service
    client = Client("bob", "test:1", "sasl", 0)
    for number, message in enumerate(mutated(seed, count)):
        sent: list[Any] = []
        if number % 2:
            answer_message(service, client, Frame(message), Reply(sent.extend))
        else:
            here, there = socket.socketpair()
            with here, there:
                there.sendall(message or b"\0")
                there.shutdown(socket.SHUT_WR)
                unframed = UnframedMessages(Connection(here, "test:1", 0), 1 << 20, 5.0)
                unframed.begin_message(after(5.0))
                answer_message(service, client, unframed, Reply(sent.extend))
        assert is_answer(b"".join(sent)), f"seed {seed}, message {number}: {message!r}"


def fuzz_connections(server: Any, seed: int, count: int) -> None:
    """Each message on a connection of its own: raw, in a frame after a login, and as the body of a request."""
    forms = (
        lambda message: message,
        lambda message: b"\x01\0\0\0\x05PLAIN\x02\0\0\0\x06\0bob\0x" + struct.pack("!I", len(message)) + message,
        lambda message: (
            b"POST /cliservice HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b" % (len(message), message)
        ),
        lambda message: b"\x01" + message,
        lambda message: b"POST " + message,
        lambda message: b"\x16\x03\x01" + message,
    )
    for number, message in enumerate(mutated(seed, count)):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as sock:
            try:
                sock.sendall(forms[number % len(forms)](message))
                sock.shutdown(socket.SHUT_WR)
                while sock.recv(65536):
                    pass
            except OSError:
                pass


def fuzz(server: Any, seed: int, in_process: int, connections: int) -> None:
    with Neighbour(server.port) as neighbour:
        fuzz_in_process(server, seed, in_process)
        fuzz_connections(server, seed, connections)
    assert neighbour.errors == []
    assert neighbour.calls > 20
    assert neighbour.worst < allowed(5.0)
    # The last ones have their time to log in.
    until(lambda: server.listener.connections == 0)
    hive.connect("127.0.0.1", server.port, username="bob").close()


def test_fuzzed_frames(start: Start) -> None:
    fuzz(start(login_seconds=5.0), seed=1, in_process=10_000, connections=300)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(10))
def test_a_million_fuzzed_frames(start: Start, seed: int) -> None:
    fuzz(start(login_seconds=5.0), seed=seed + 100, in_process=100_000, connections=2_000)


def test_every_first_byte_is_known_or_closed(start: Start) -> None:
    server = start(login_seconds=0.2)
    for first in range(256):
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as sock:
            try:
                sock.sendall(bytes([first]))
                sock.shutdown(socket.SHUT_WR)
                while sock.recv(1000):
                    pass
            except OSError:
                pass
    assert set(TRANSPORTS) == {0, 1, 0x80, *range(65, 91)}
    hive.connect("127.0.0.1", server.port, username="bob").close()
