"""Rows that come from a socket. They are in a spool before they are read, and before they are acknowledged."""

from __future__ import annotations

import contextlib
import logging
import socket
import struct
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from sharkpy.base.errors import BindError, DataError, ExecutionError, SharkError
from sharkpy.base.parse_limits import whole_number
from sharkpy.catalog.continuous_query import Position
from sharkpy.catalog.stream_kinds import FRAMES, MAX_BYTES, SOCKET
from sharkpy.columnar.block_folders import used_bytes
from sharkpy.ml.tables.tabular import TabularRows, tabular
from sharkpy.sources.formats import file_suffix, source
from sharkpy.sources.new_files import output_file
from sharkpy.streaming.sources.spool import SpoolReader, spool_file

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.model import Table
    from sharkpy.streaming.sources.folder_events import FolderEvents

_BATCH_SECONDS = 0.05
"""Time for which lines that arrive are collected in one file."""
_BATCH_BYTES = 4 << 20
_MOST_FRAME = 256 << 20
"""Maximum number of bytes of a line or frame. A longer one ends its connection."""
_FIRST_WAIT, _LONGEST_WAIT = 0.2, 10.0
"""First and longest wait until a failed connection is retried, in seconds. The wait doubles each time."""
_CHECK_SECONDS = 0.2
_LENGTH = struct.Struct(">I")
_ROWS = struct.Struct(">Q")
_log = logging.getLogger(__name__)


class SocketReader(SpoolReader):
    """Reader of a spool that a thread fills from a connection. The thread connects again when the connection ends.

    1. Lines end with a line feed, and are in the stream's format. The sender of lines gets no acknowledgement: lines
       that were on the way when this process ended are lost.
    2. With `frames` 'arrow' each frame is four bytes of length, most significant first, and an Arrow IPC stream. When
       its rows are on disk the sender gets eight bytes: the number of rows of all frames of the connection so far.
    3. Nothing is read from the connection while more than `max.bytes` wait to be read.
    """

    def __init__(self, stream: Table, catalog: Catalog, events: FolderEvents | None = None) -> None:
        super().__init__(stream, catalog, events)
        self._spool = Path(self._folder)
        place, options = ("", ()) if stream.stream is None else (stream.stream.place, stream.stream.options)
        self._address = host_and_port(place)
        self._is_framed = dict(options).get(FRAMES) == "arrow"
        self._most = SOCKET.value(options, MAX_BYTES)
        self._fault = ""
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def look(self, age: float = 0.0) -> Position:
        """Look for new rows. Raise ExecutionError 08006 if there are none, and no connection."""
        self._begin()
        end = super().look(age)
        if self._fault and self.first() == end:
            raise ExecutionError(self._fault, sqlstate="08006")
        return end

    def close(self) -> None:
        super().close()
        self._closed.set()
        if self._thread is not None:
            self._thread.join()

    def _begin(self) -> None:
        with self._lock:
            if self._thread is None and not self._closed.is_set():
                self._thread = threading.Thread(target=self._run, name=f"socket {self._stream.name}", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        wait = _FIRST_WAIT
        while not self._closed.is_set():
            try:
                with socket.create_connection(self._address, timeout=_CHECK_SECONDS * 10) as connection:
                    self._fault, wait = "", _FIRST_WAIT
                    connection.settimeout(_CHECK_SECONDS)
                    if self._is_framed:
                        self._take_frames(connection)
                    else:
                        self._take_lines(connection)
                self._fault = f"{self._name} has closed the connection"
            except OSError as error:
                self._fault = f"{self._name}: {error.strerror or error}"
            except SharkError as error:
                self._fault = f"{self._name}: {error}"
            except Exception:  # noqa: BLE001 - the thread would end without a report
                _log.exception("the connection to %s has failed", self._name)
                self._fault = f"{self._name}: the connection has failed"
            self._closed.wait(wait)
            wait = min(2 * wait, _LONGEST_WAIT)

    @property
    def _name(self) -> str:
        host, port = self._address
        return f"{host}:{port}"

    # Lines

    def _take_lines(self, connection: socket.socket) -> None:
        """Spool lines as they come. The last line of a connection may lack its end."""
        waiting, size, began = list[bytes](), 0, 0.0
        while not self._closed.is_set():
            data = self._received(connection, _BATCH_SECONDS)
            if data:
                began = began or time.monotonic()
                waiting.append(data)
                size += len(data)
            is_due = data == b"" or size >= _BATCH_BYTES or time.monotonic() - began >= _BATCH_SECONDS
            if size and is_due:
                left = self._spool_lines(b"".join(waiting), is_last=data == b"")
                waiting, size, began = [left] if left else [], len(left), 0.0
                if size > _MOST_FRAME:
                    raise DataError(f"a line of more than {_MOST_FRAME} bytes", sqlstate="54000")
                self._await_room()
            if data == b"":
                return

    def _spool_lines(self, data: bytes, *, is_last: bool) -> bytes:
        """Spool complete lines. Return the rest after the last of them."""
        cut = len(data) if is_last else data.rfind(b"\n") + 1
        if cut:
            storage = self._stream.storage
            with spool_file(self._spool, file_suffix(storage.name, ())) as path, output_file(str(path)) as file:
                file.write(data[:cut])
        return data[cut:]

    # Frames

    def _take_frames(self, connection: socket.socket) -> None:
        """Spool frames, each before it is acknowledged."""
        done = 0
        while (head := self._exactly(connection, _LENGTH.size, is_first=True)) is not None:
            (size,) = _LENGTH.unpack(head)
            if size > _MOST_FRAME:
                raise DataError(f"a frame of {size} bytes, more than {_MOST_FRAME}", sqlstate="54000")
            frame = self._exactly(connection, size)
            if frame is None:
                return
            done += self._spool_frame(frame)
            connection.sendall(_ROWS.pack(done))
            self._await_room()

    def _spool_frame(self, frame: bytes) -> int:
        schema, storage = self._stream.schema, self._stream.storage
        try:
            with pa.ipc.open_stream(frame) as reader:
                table = tabular(reader.read_all())
        except pa.ArrowException as error:
            raise DataError(f"a frame is not an Arrow IPC stream: {error}") from None
        rows = TabularRows(schema, "a frame")([table], 0)
        with spool_file(self._spool, file_suffix(storage.name, storage.properties)) as path:
            return source(storage.name).write(rows, schema, storage.properties, str(path))

    def _exactly(self, connection: socket.socket, size: int, *, is_first: bool = False) -> bytes | None:
        """Return `size` bytes of a frame; None at the end of the connection, or when the reader is closed.

        Raise DataError for an incomplete frame.
        """
        parts, left = list[bytes](), size
        while left and not self._closed.is_set():
            data = self._received(connection, _CHECK_SECONDS, left)
            if data == b"":
                if is_first and left == size:
                    return None
                raise DataError("the connection ended within a frame")
            if data:
                parts.append(data)
                left -= len(data)
        return None if left else b"".join(parts)

    # Both

    @staticmethod
    def _received(connection: socket.socket, seconds: float, size: int = 1 << 20) -> bytes | None:
        """Return the bytes that have come: none at the connection's end, and None if there are none after `seconds`."""
        connection.settimeout(seconds)
        with contextlib.suppress(TimeoutError):
            return connection.recv(min(size, 1 << 20))
        return None

    def _await_room(self) -> None:
        while not self._closed.is_set() and self._spool.is_dir() and used_bytes(str(self._spool)) > self._most:
            self._closed.wait(_CHECK_SECONDS)


_MOST_PORT = 65535


def host_and_port(text: str) -> tuple[str, int]:
    """Split `host:port`; an IPv6 host may be in brackets. Raise BindError 22023 for an invalid address."""
    host, _, digits = text.rpartition(":")
    port = whole_number(digits)
    if not host or port is None or not 0 < port <= _MOST_PORT:
        raise BindError(f'"{text}" is not an address', hint="write 'host:port'", sqlstate="22023")
    return host.removeprefix("[").removesuffix("]"), port
