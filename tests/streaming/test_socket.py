"""Rows from a socket: in the spool before they can be read; a frame is acknowledged when it is safe."""

from __future__ import annotations

import io
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

import sharkpy
from sharkpy.base.errors import BindError, NotAllowedError
from sharkpy.execution.restrictions import Restrictions
from tests.ports import free_ports
from tests.rows import rows
from tests.waiting import until

SECONDS = 20


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", *free_ports(1))) as listener:
        listener.settimeout(SECONDS)
        yield listener


@contextmanager
def accepted(listener: socket.socket) -> Iterator[socket.socket]:
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(SECONDS)
        yield connection


def create(context: sharkpy.SharkContext, listener: socket.socket, options: str = "", form: str = "") -> None:
    port = listener.getsockname()[1]
    context.sql(f"CREATE STREAM s (n BIGINT, s STRING) {form} FROM SOCKET '127.0.0.1:{port}' {options}")
    context.sql("CREATE CONTINUOUS TABLE t AS SELECT n, s FROM s")


def has(context: sharkpy.SharkContext, count: int) -> bool:
    return rows(context, "SELECT count(*) FROM t") == [(count,)]


def frame(numbers: list[int]) -> bytes:
    table = pa.table({"s": [f"s{n}" for n in numbers], "n": numbers})
    target = io.BytesIO()
    with pa.ipc.new_stream(target, table.schema) as writer:
        writer.write_table(table)
    return struct.pack(">I", target.tell()) + target.getvalue()


def test_lines_come_whole_however_they_are_cut(context: sharkpy.SharkContext, listener: socket.socket) -> None:
    create(context, listener, form="ROW FORMAT DELIMITED FIELDS TERMINATED BY ','")
    with accepted(listener) as connection:
        connection.sendall(b"1,one\n2,tw")
        until(lambda: has(context, 1))
        connection.sendall(b"o\n3,three")
    # The connection has ended: its last line is whole.
    until(lambda: has(context, 3))
    assert rows(context, "SELECT n, s FROM t ORDER BY n") == [(1, "one"), (2, "two"), (3, "three")]


def test_the_next_connection_goes_on(context: sharkpy.SharkContext, listener: socket.socket) -> None:
    create(context, listener, form="STORED AS JSONFILE")
    for n in range(3):
        with accepted(listener) as connection:
            connection.sendall(f'{{"n": {n}, "s": "a"}}\n'.encode())
    until(lambda: has(context, 3))
    assert rows(context, "SELECT sum(n) FROM t") == [(3,)]


def test_a_frame_is_acknowledged_when_it_is_safe(context: sharkpy.SharkContext, listener: socket.socket) -> None:
    create(context, listener, "('frames' = 'arrow')")
    with accepted(listener) as connection:
        for count, numbers in ((3, [1, 2, 3]), (5, [4, 5]), (5, [])):
            connection.sendall(frame(numbers))
            assert struct.unpack(">Q", connection.recv(8)) == (count,)
    until(lambda: has(context, 5))
    assert rows(context, "SELECT n, s FROM t WHERE n > 3 ORDER BY n") == [(4, "s4"), (5, "s5")]


def test_a_torn_frame_and_one_that_is_none_are_not_read(context: sharkpy.SharkContext, listener: socket.socket) -> None:
    create(context, listener, "('frames' = 'arrow')")
    for bad in (frame([7, 8])[:-20], struct.pack(">I", 5) + b"hello", struct.pack(">I", 0xFFFFFFFF)):
        with accepted(listener) as connection:
            connection.sendall(bad)
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(8) == b""
    with accepted(listener) as connection:
        connection.sendall(frame([1]))
        assert connection.recv(8) == struct.pack(">Q", 1)
    until(lambda: has(context, 1))


def test_nobody_listens(context: sharkpy.SharkContext, listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    listener.close()
    create(context, listener=_Closed(port))
    until(lambda: "Connection refused" in (rows(context, "SHOW CONTINUOUS TABLES")[0][-1] or ""))
    with socket.create_server(("127.0.0.1", port)) as again:
        again.settimeout(SECONDS)
        with accepted(again) as connection:
            connection.sendall(b"5\x01five\n")
            until(lambda: has(context, 1))
            assert rows(context, "SHOW CONTINUOUS TABLES")[0][-1] is None


class _Closed:
    """Listener that was closed, by its port."""

    def __init__(self, port: int) -> None:
        self._port = port

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", self._port


def test_what_was_received_survives_the_session(tmp_path: Path, listener: socket.socket) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        create(context, listener, "('frames' = 'arrow')")
        with accepted(listener) as connection:
            connection.sendall(frame([1, 2]))
            assert connection.recv(8) == struct.pack(">Q", 2)
            context.sql("PAUSE CONTINUOUS TABLE t")
            connection.sendall(frame([3]))
            assert connection.recv(8) == struct.pack(">Q", 3)
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.sql("RESUME CONTINUOUS TABLE t")
        until(lambda: has(context, 3))


def test_addresses(context: sharkpy.SharkContext) -> None:
    for bad in ("", "host", "host:", "host:0", "host:70000", ":80", "host:8x"):
        with pytest.raises(BindError, match="is not an address"):
            context.sql(f"CREATE STREAM s (n INT) FROM SOCKET '{bad}'")
    context.sql("CREATE STREAM s (n INT) FROM SOCKET '[::1]:9999'")
    assert "FROM SOCKET '[::1]:9999'" in [line for (line,) in rows(context, "SHOW CREATE TABLE s")]


def test_remote_sessions_may_not_connect(context: sharkpy.SharkContext) -> None:
    context.restrictions = Restrictions(refuses_connections=True)
    with pytest.raises(NotAllowedError, match="a stream FROM SOCKET is not allowed in this session"):
        context.sql("CREATE STREAM s (n INT) FROM SOCKET 'localhost:9999'")


def test_bad_rows_go_to_a_table(context: sharkpy.SharkContext, listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    context.sql(f"CREATE STREAM s (n BIGINT) STORED AS JSONFILE FROM SOCKET '127.0.0.1:{port}'")
    context.sql("CREATE CONTINUOUS TABLE t ON BAD ROW SKIP TO bad AS SELECT n FROM s")
    with accepted(listener) as connection:
        connection.sendall(b'{"n": 1}\nno object\n{"n": 2}\n')
        until(lambda: has(context, 2))
    assert rows(context, "SELECT * FROM bad") == [
        ("default.s", f"127.0.0.1:{port}", None, "no object", "no JSON object")
    ]
