"""The file of a block: an Arrow IPC file of one row, with checksums over every byte that is read.

Each column of the block is a struct column of the file; its fields are the column's parts as large lists, so a
mapped file gives the parts without a copy. The file's schema metadata holds, as JSON, types, encodings,
parameters, statistics and an xxh3 checksum of each column's parts. A trailer between the last message and
Arrow's footer (where readers look at nothing) holds a checksum of all other bytes: header, metadata, footer.
List offsets and padding are never read.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import xxhash

from sharkpy.base.errors import CorruptionError
from sharkpy.columnar import parts
from sharkpy.columnar.column_statistics import BlockStatistics, ColumnStatistics
from sharkpy.columnar.domain import Domain, DomainValue, domain_of
from sharkpy.columnar.encoded_column import EncodedColumn
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import DataType

if TYPE_CHECKING:
    from io import IOBase

_KEY = b"sharkpy.block"
_MAGIC = b"SHKBLK01"
_TRAILER = struct.Struct("<8sQQQ")
_ARROW_MAGIC = b"ARROW1"
_CONTINUATION = b"\xff\xff\xff\xff"
Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column as it lies in a file; `checksum` is over all its parts in order."""

    encoded: EncodedColumn
    checksum: int


@dataclass(frozen=True, slots=True)
class BlockContent:
    """Description of a block in its file; nothing of the columns' parts has been verified."""

    num_rows: int
    columns: dict[str, StoredColumn]
    statistics: BlockStatistics


def checksum(column: EncodedColumn) -> int:
    digest = xxhash.xxh3_64()
    for _, part in column.flat_parts():
        for chunk in _chunks(part):
            digest.update(memoryview(chunk))
    return digest.intdigest()


def _chunks(part: Any) -> list[pa.Buffer]:
    """The bytes of a part, which may be a chunked array."""
    arrays = part.chunks if isinstance(part, pa.ChunkedArray) else [part]
    width = part.type.bit_width // 8
    return [parts.buffer(one, 1).slice(one.offset * width, len(one) * width) for one in arrays if len(one)]


def serialize(columns: dict[str, EncodedColumn], statistics: BlockStatistics) -> tuple[pa.Buffer, ...]:
    """The bytes of the file, in pieces: large parts as they lie in memory."""
    described = [_describe(name, column, statistics[name]) for name, column in columns.items()]
    metadata: dict[bytes | str, bytes | str] = {
        _KEY: json.dumps({"rows": statistics.num_rows, "columns": described}, separators=(",", ":"))
    }
    sink = _Pieces()
    structs = [_struct(column, sink) for column in columns.values()]
    schema = pa.schema([pa.field(name, s.type) for name, s in zip(columns, structs, strict=True)], metadata=metadata)
    batch = pa.RecordBatch.from_arrays(structs, schema=schema)
    with pa.ipc.new_file(pa.PythonFile(cast("IOBase", sink), mode="w"), schema) as writer:
        writer.write_batch(batch)
    return _sealed(sink.runs, sink.tell())


_SMALL_PIECE = 1 << 16
"""Bytes up to which a piece is put together with those around it."""


class _Pieces:
    """The file that Arrow writes: runs of small pieces put together, large ones as they are."""

    closed = False

    def __init__(self) -> None:
        self.runs: list[bytearray | pa.Buffer] = [bytearray()]
        self._size = 0
        self._chunked: dict[int, list[pa.Buffer]] = {}

    def stand_in(self, part: pa.ChunkedArray[Any]) -> pa.Array[Any]:
        """An array of as many values, never read nor written: in its place the file gets the chunks."""
        buffer = pa.allocate_buffer(len(part) * (part.type.bit_width // 8))
        self._chunked[buffer.address] = _chunks(part)
        return pa.Array.from_buffers(part.type, len(part), [None, buffer])

    def write(self, data: bytes | pa.Buffer) -> None:
        chunks = self._chunked.get(data.address) if isinstance(data, pa.Buffer) and data.size else None
        for piece in chunks or [pa.py_buffer(data)]:
            self._size += piece.size
            if piece.size > _SMALL_PIECE:
                self.runs += [piece, bytearray()]
            else:
                run = self.runs[-1]
                assert isinstance(run, bytearray)
                run += memoryview(piece)

    def tell(self) -> int:
        return self._size

    def flush(self) -> None: ...

    def close(self) -> None: ...


def _struct(column: EncodedColumn, sink: _Pieces) -> pa.StructArray:
    fields, lists = [], []
    for name, stored in column.flat_parts():
        part = sink.stand_in(stored) if isinstance(stored, pa.ChunkedArray) else stored
        ends: Any = parts.part(np.array([0, len(part)], np.int64))
        lists.append(pa.LargeListArray.from_arrays(ends, part))
        fields.append(pa.field(name, lists[-1].type))
    array = pa.StructArray.from_buffers(pa.struct(fields), 1, [None], children=lists)
    assert isinstance(array, pa.StructArray)
    return array


def _sealed(runs: list[bytearray | pa.Buffer], size: int) -> tuple[pa.Buffer, ...]:
    """Seal a file with the trailer before Arrow's footer. The messages and the footer may each be of several pieces."""
    _join_tail(runs, 10)
    (footer_bytes,) = struct.unpack_from("<i", runs[-1], len(runs[-1]) - 10)
    _join_tail(runs, footer_bytes + 10)
    body = 8
    for _ in range(2):
        _join_head(runs, body + 8)
        body += 8 + _message_bytes(runs[0], body)
    _join_head(runs, body)
    last = runs[-1]
    assert isinstance(last, bytearray)
    tail = bytes(last[len(last) - 10 - footer_bytes :])
    footer = size - len(tail)
    digest = _outer_digest(memoryview(bytes(runs[0][:body])), memoryview(tail), body, footer)
    del last[len(last) - len(tail) :]
    last += _TRAILER.pack(_MAGIC, body, footer, digest) + tail
    return tuple(pa.py_buffer(bytes(run)) if isinstance(run, bytearray) else run for run in runs if len(run))


def _join_head(runs: list[bytearray | pa.Buffer], size: int) -> None:
    """Put runs together until the first has `size` bytes."""
    count = 1
    while sum(map(len, runs[:count])) < size:
        count += 1
    if count > 1:
        runs[:count] = [bytearray(b"".join(runs[:count]))]


def _join_tail(runs: list[bytearray | pa.Buffer], size: int) -> None:
    """Put runs together until the last has `size` bytes."""
    count = 1
    while sum(map(len, runs[-count:])) < size:
        count += 1
    if count > 1:
        runs[-count:] = [bytearray(b"".join(runs[-count:]))]


def _message_bytes(data: bytearray | pa.Buffer, place: int) -> int:
    """Length of the message that begins at `place`, after its first eight bytes."""
    if bytes(data[place : place + 4]) != _CONTINUATION:
        raise CorruptionError("a block's messages are damaged")
    (length,) = struct.unpack_from("<i", data, place + 4)
    return int(length)


def _outer_digest(head: memoryview, tail: memoryview, body: int, footer: int) -> int:
    digest = xxhash.xxh3_64(_MAGIC + struct.pack("<QQ", body, footer))
    digest.update(head)
    digest.update(tail)
    return digest.intdigest()


def content_digest(content: pa.Buffer) -> int:
    """A number for the whole of a file: that of its outer bytes, among which are its columns' checksums.

    `content` is the file or the last piece of it.
    """
    (footer_bytes,) = struct.unpack_from("<i", content, content.size - 10)
    trailer = content.size - 10 - footer_bytes - _TRAILER.size
    _, _, _, digest = _TRAILER.unpack_from(content, trailer)
    return int(digest)


def verify_outer(buffer: pa.Buffer) -> None:
    """ValueError where anything but the columns' parts is damaged or the file is cut."""
    data = memoryview(buffer).cast("B")
    size = len(data)
    if size < 10 + _TRAILER.size or bytes(data[-6:]) != _ARROW_MAGIC:
        raise ValueError("its end is missing")
    (footer_bytes,) = struct.unpack_from("<i", data, size - 10)
    start = size - 10 - footer_bytes
    if footer_bytes < 0 or start < _TRAILER.size:
        raise ValueError("its footer is damaged")
    magic, body, footer, digest = _TRAILER.unpack_from(data, start - _TRAILER.size)
    if magic != _MAGIC or footer + _TRAILER.size != start or body > footer:
        raise ValueError("its trailer is damaged")
    if _outer_digest(data[:body], data[start:], body, footer) != digest:
        raise ValueError("its metadata does not match its checksum")


def parse(buffer: pa.Buffer) -> BlockContent:
    """The content of a file whose outer bytes are verified."""
    reader = pa.ipc.open_file(buffer)
    batch = reader.get_batch(0)
    described = json.loads(reader.schema.metadata[_KEY])
    columns: dict[str, StoredColumn] = {}
    statistics: list[tuple[str, ColumnStatistics]] = []
    for index, column in enumerate(described["columns"]):
        dtype, rows = parse_type(column["type"]), described["rows"]
        stored = batch.column(index)
        assert isinstance(stored, pa.StructArray)
        lists = iter(stored.flatten())
        encoded = _rebuild(column["layout"], lists)
        columns[column["name"]] = StoredColumn(encoded, column["checksum"])
        stats = _parse_statistics(column["statistics"], dtype, rows)
        statistics.append((column["name"], replace(stats, size_bytes=encoded.size_bytes)))
    return BlockContent(described["rows"], columns, BlockStatistics(described["rows"], tuple(statistics)))


def _describe(name: str, column: EncodedColumn, stats: ColumnStatistics) -> Json:
    return {
        "name": name,
        "type": str(column.dtype),
        "layout": _layout(column),
        "checksum": checksum(column),
        "statistics": _statistics_json(stats),
    }


def _layout(column: EncodedColumn) -> Json:
    return {
        "encoding": column.encoding,
        "type": str(column.dtype),
        "rows": column.num_rows,
        "params": column.params,
        "parts": list(column.parts),
        "children": {name: _layout(child) for name, child in column.children.items()},
    }


def _rebuild(layout: dict[str, object], lists: Iterator[Any]) -> EncodedColumn:
    names, children, params, rows = layout["parts"], layout["children"], layout["params"], layout["rows"]
    assert isinstance(names, list)
    assert isinstance(children, dict)
    assert isinstance(params, dict)
    assert isinstance(rows, int)
    stored = {name: next(lists).values for name in names}
    return EncodedColumn(
        str(layout["encoding"]),
        parse_type(str(layout["type"])),
        rows,
        params,
        stored,
        {name: _rebuild(child, lists) for name, child in children.items()},
    )


def _statistics_json(stats: ColumnStatistics) -> Json:
    distinct = None if stats.distinct is None else [_value_json(value) for value in stats.distinct]
    bounds = [None if value is None else _value_json(value) for value in (stats.low, stats.high)]
    return {
        "nulls": stats.null_count,
        "bounds": bounds,
        "exact": stats.exact,
        "nan": stats.has_nan,
        "distinct": distinct,
        "ndv": stats.num_distinct,
        "sketch": None if stats.sketch is None else base64.b85encode(stats.sketch).decode(),
    }


def _parse_statistics(stored: dict[str, object], dtype: DataType, num_rows: int) -> ColumnStatistics:
    nulls, bounds, distinct, ndv = stored["nulls"], stored["bounds"], stored["distinct"], stored["ndv"]
    assert isinstance(nulls, int)
    assert isinstance(bounds, list)
    assert isinstance(ndv, int)
    low, high = (None if value is None else _parse_value(value, dtype) for value in bounds)
    values = tuple(_parse_value(value, dtype) for value in distinct) if isinstance(distinct, list) else None
    exact, has_nan = bool(stored["exact"]), bool(stored["nan"])
    # Blocks of earlier versions have none.
    text = stored.get("sketch")
    sketch = base64.b85decode(text) if isinstance(text, str) else None
    return ColumnStatistics(dtype, num_rows, nulls, low, high, exact, has_nan, values, ndv, sketch=sketch)


def _value_json(value: DomainValue) -> object:
    match value:
        case bytes():
            return value.decode("latin-1")
        case float():
            return value.hex()
    return value


def _parse_value(value: object, dtype: DataType) -> DomainValue:
    match domain_of(dtype), value:
        case Domain.BYTES, str():
            return value.encode("latin-1")
        case Domain.FLOAT, str():
            return float.fromhex(value)
        case Domain.INTEGER, int():
            return value
    raise ValueError(f"statistics hold {value!r} for {dtype}")
