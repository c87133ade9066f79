"""Whole lines of a split of a text file, as chunks of bytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from sharkpy.errors import SourceError
from sharkpy.sources.failures import format_error, io_error
from sharkpy.sources.layout import DataFile
from sharkpy.sources.split import Split

CHUNK_BYTES = 16 << 20
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


def compression(path: str) -> str | None:
    return COMPRESSIONS.get(Path(path).suffix.lower())


def line_splits(
    files: Sequence[DataFile],
    format_name: str,
    properties: tuple[tuple[str, str], ...],
    split_bytes: int,
    header_lines: int,
    newline: bytes,
) -> list[Split]:
    """Byte ranges of plain files from behind the header on; a compressed file is one split."""
    splits = []
    for file in files:
        start, step = 0, max(split_bytes, 1)
        if compression(file.path) is not None:
            step = max(file.size_bytes, 1)
        elif header_lines:
            start = _header_end(file.path, header_lines, newline)
        for place in range(start, file.size_bytes, step):
            length = min(step, file.size_bytes - place)
            identity = (file.size_bytes, file.modified_ns, None, file.partition)
            splits.append(Split(file.path, format_name, properties, place, length, *identity))
    return splits


def check_unchanged(split: Split) -> None:
    """SourceError where the file is gone or was changed after the split was made."""
    try:
        status = Path(split.path).stat()
    except OSError as error:
        raise io_error(error, split.path) from None
    if (status.st_size, status.st_mtime_ns) != (split.file_bytes, split.modified_ns):
        raise SourceError(f'"{split.path}" was changed while it was being read')


def line_chunks(split: Split, header_lines: int, newline: bytes, chunk_bytes: int = CHUNK_BYTES) -> Iterator[bytes]:
    """Chunks that begin and end at line ends (the file's last may lack its newline).

    A line belongs to the split in which its first byte lies.
    """
    check_unchanged(split)
    try:
        if compression(split.path) is None:
            yield from _plain_chunks(split, newline, chunk_bytes)
        else:
            yield from _compressed_chunks(split, header_lines, newline, chunk_bytes)
    except (EOFError, zlib.error) as error:
        raise format_error(split.path, "compressed", error) from None
    except OSError as error:
        kind = compression(split.path)
        if kind is not None and error.errno is None:
            raise format_error(split.path, kind, error) from None
        raise io_error(error, split.path) from None


def _plain_chunks(split: Split, newline: bytes, chunk_bytes: int) -> Iterator[bytes]:
    end = split.start + split.length
    with open(split.path, "rb", buffering=0) as file:
        place = split.start
        if place > 0:
            place = _next_line(file, place - 1, newline)
        while place < end:
            wanted = min(chunk_bytes, end - place)
            file.seek(place)
            data = _read_fully(file, wanted)
            if not data:
                return
            place += len(data)
            if not data.endswith(newline):
                rest_end = _next_line(file, place, newline)
                file.seek(place)
                data += _read_fully(file, rest_end - place)
                place = rest_end
            yield data


def _compressed_chunks(split: Split, header_lines: int, newline: bytes, chunk_bytes: int) -> Iterator[bytes]:
    import pyarrow as pa

    rest, to_skip = b"", header_lines
    kind: Any = compression(split.path)
    with pa.input_stream(split.path, compression=kind) as stream:
        while data := stream.read(chunk_bytes):
            data = rest + data
            cut = data.rfind(newline) + 1
            chunk, rest = data[:cut], data[cut:]
            while to_skip and chunk:
                chunk = chunk[chunk.find(newline) + 1 :]
                to_skip -= 1
            if chunk:
                yield chunk
    if rest and not to_skip:
        yield rest


def _read_fully(file: BinaryIO | object, size: int) -> bytes:
    """`size` bytes, or fewer at the end of the file: unbuffered reads may return less at a time."""
    reader = cast(BinaryIO, file)
    data = reader.read(size)
    while len(data) < size:
        more = reader.read(size - len(data))
        if not more:
            break
        data += more
    return data


def _next_line(file: BinaryIO | object, place: int, newline: bytes) -> int:
    """Offset behind the first newline at or after `place`, or the end of the file."""
    reader = cast(BinaryIO, file)
    reader.seek(place)
    while data := reader.read(1 << 16):
        found = data.find(newline)
        if found >= 0:
            return place + found + 1
        place += len(data)
    return place


def _header_end(path: str, lines: int, newline: bytes) -> int:
    place = 0
    try:
        with open(path, "rb", buffering=0) as file:
            for _ in range(lines):
                place = _next_line(file, place, newline)
    except OSError as error:
        raise io_error(error, path) from None
    return place
