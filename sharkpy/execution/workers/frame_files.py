"""Frames of bytes in mapped files, which use no process memory and need not go through the JVM."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

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
    for path in Path(folder).glob(f"{prefix}*"):
        path.unlink(missing_ok=True)


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
