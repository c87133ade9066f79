"""Frames of bytes, and broadcast build sides, in mapped files: they use no process memory and bypass the JVM.

A broadcast is read whole by each task: sent with the task, mapped from a file, or broadcast by Spark.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from sharkpy.base.errors import InternalError
from sharkpy.base.records import dataclass
from sharkpy.execution.tasks.payloads import read_payloads

FILE_BYTES = 1 << 20
"""Size of a result's frame above which a task passes it to a local driver as a file."""
_ALIGNED = 64
_REFERENCE = b"file:"
_HEADER = 8


class FrameBuffer:
    """Frames in the order of `append`: the first `limit` bytes in memory, the rest in a file in `folder`."""

    def __init__(self, limit: int, folder: str) -> None:
        self._limit = limit
        self._path = Path(folder, f"frames-{uuid.uuid4().hex}")
        self._kept: list[pa.Buffer] = []
        self._places: list[tuple[int, int]] = []
        self._size = 0
        self._file: pa.OSFile | None = None

    def append(self, frame: bytes) -> None:
        self._size += len(frame)
        if self._size <= self._limit:
            self._kept.append(pa.py_buffer(frame))
            return
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = pa.OSFile(str(self._path), "wb")
        self._places.append((self._file.tell(), len(frame)))
        self._file.write(frame)
        self._file.write(bytes(-len(frame) % _ALIGNED))

    def frames(self) -> list[pa.Buffer]:
        """Take all frames, once; the file is removed with the last of them."""
        if self._file is None:
            return self._kept
        self._file.close()
        content = map_once(self._path)
        return self._kept + [content.slice(start, size) for start, size in self._places]

    def close(self) -> None:
        """Remove the file, even after a failure; frames already taken stay valid."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._path.unlink(missing_ok=True)


REPORTED_BYTES = 256 << 10
"""Bytes of a task's frames up to which its report has them."""


class FrameList:
    """Frames of a task in the order of `add`, while they have at most `limit` bytes. A limit of 0 means none."""

    def __init__(self, limit: int) -> None:
        self._left = limit
        self._frames: list[bytes | pa.Buffer] | None = [] if limit else None

    def add(self, frame: bytes | pa.Buffer) -> Iterator[bytes | pa.Buffer]:
        """Add a frame. If the frames exceed the limit, yield them instead, now and from now on."""
        if self._frames is None:
            yield frame
            return
        self._frames.append(frame)
        self._left -= len(frame)
        if self._left < 0:
            yield from self._frames
            self._frames = None

    @property
    def frames(self) -> tuple[bytes, ...] | None:
        """All frames, or None if they were yielded."""
        return None if self._frames is None else tuple(map(bytes, self._frames))


def map_once(path: Path) -> pa.Buffer:
    """Map a file and unlink it. Its space is freed when no mapping is left."""
    with pa.memory_map(str(path), "r") as mapped:
        content = mapped.read_buffer(mapped.size())
    path.unlink()
    return content


def send_frame(frame: pa.Buffer, folder: str, prefix: str) -> bytes | pa.Buffer:
    """Write `frame` to a file and return its header and path as a frame. Without space, return the frame itself."""
    if frame.size <= FILE_BYTES or not folder:
        return frame
    path = Path(folder, f"{prefix}{uuid.uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb", buffering=0) as file:
            _write_all(file.fileno(), memoryview(frame).cast("B"))
    except OSError:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        return frame
    return frame.slice(0, _HEADER).to_pybytes() + _REFERENCE + str(path).encode()


def receive_frame(frame: pa.Buffer) -> pa.Buffer:
    """Return the frame that was passed to `send_frame`."""
    if frame.slice(_HEADER, len(_REFERENCE)).to_pybytes() != _REFERENCE:
        return frame
    return map_once(Path(frame.slice(_HEADER + len(_REFERENCE)).to_pybytes().decode()))


def remove_frames(folder: str, prefix: str) -> None:
    """Remove frames that were sent but not received."""
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(prefix):
                Path(entry.path).unlink(missing_ok=True)


def write_stream(path: Path, header: bytes, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """Write an Arrow stream after `header`, batch by batch."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with pa.OSFile(str(path), "wb") as file:
            file.write(header)
            with pa.ipc.new_stream(file, schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _write_all(descriptor: int, content: memoryview) -> None:
    place = 0
    while place < len(content):
        place += os.write(descriptor, content[place : place + (1 << 28)])


INLINE_BYTES = 32 << 10
_CACHED_BYTES = 256 << 20
"""Limit on the bytes of broadcasts that a process caches for later tasks."""


@dataclass(frozen=True, slots=True)
class BroadcastSource:
    """Source of broadcast rows for a task: one of `data` (an Arrow stream), `path` (a file to map) or `spark`."""

    key: str
    data: bytes | None = None
    path: str | None = None
    spark: Any = None
    """Broadcast of pyspark with an Arrow stream as value."""


def broadcast_table(payloads: Sequence[pa.Buffer], schema: pa.Schema) -> pa.Table:
    """Return the rows of the collected payloads."""
    return read_payloads(payloads, schema)


def send_broadcast(table: pa.Table, folder: Path, is_local: bool, context: Any) -> BroadcastSource:
    """Make `table` readable by tasks; `folder` is visible to them if `is_local`."""
    key = uuid.uuid4().hex
    if is_local and table.nbytes > INLINE_BYTES:
        path = folder / f"broadcast-{key}.arrow"
        write_stream(path, b"", table.schema, table.to_batches())
        return BroadcastSource(key, path=str(path))
    data = _stream(table)
    if data.size <= INLINE_BYTES:
        return BroadcastSource(key, data=data.to_pybytes())
    return BroadcastSource(key, spark=context.broadcast(data.to_pybytes()))


def drop_broadcast(source: BroadcastSource) -> None:
    """Free a broadcast; tasks that have mapped its file keep it."""
    if source.path is not None:
        Path(source.path).unlink(missing_ok=True)
    if source.spark is not None:
        source.spark.destroy()


_loaded: OrderedDict[str, pa.Table] = OrderedDict()


def load_broadcast(source: BroadcastSource) -> pa.Table:
    """Return the table of `source`, cached in this process for the query's other tasks."""
    table = _loaded.get(source.key)
    if table is None:
        table = _open(source)
        _loaded[source.key] = table
        while len(_loaded) > 1 and sum(kept.nbytes for kept in _loaded.values()) > _CACHED_BYTES:
            _loaded.popitem(last=False)
    return table


def _open(source: BroadcastSource) -> pa.Table:
    if source.data is not None:
        return pa.ipc.open_stream(source.data).read_all()
    if source.path is not None:
        with pa.memory_map(source.path) as file:
            return pa.ipc.open_stream(file).read_all()
    if source.spark is not None:
        return pa.ipc.open_stream(source.spark.value).read_all()
    raise InternalError("a broadcast without rows")


def _stream(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
