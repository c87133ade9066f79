"""The file of a block. Opening it and reading a column do not depend on the other columns.

| section | holds |
|---|---|
| parts | the parts of each column's encoding, aligned to 64 bytes, so that mapped files need no copies |
| layouts | one JSON text per column: type, encoding, parameters, positions of its parts, their checksum |
| statistics | one JSON text per column (`packed_statistics`) |
| directory | one record per column (`RECORD`), with a checksum of its layout |
| trailer | the positions of the sections, and checksums of all texts, of the directory and of the trailer itself |

Checksums are xxh3. The bytes between parts are never read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from sharkpy.base.records import dataclass
from sharkpy.columnar import arrow_buffers
from sharkpy.columnar.column_statistics import (
    RECORD,
    Array,
    ColumnStatistics,
    PackedStatistics,
    index_in_directory,
    name_hash,
    texts_of,
)
from sharkpy.columnar.encoded_column import EncodedColumn
from sharkpy.values.type_parser import parse_type, type_text
from sharkpy.values.types import DataType

_MAGIC = b"SHKBLK02"
_TRAILER = np.dtype(
    [
        ("num_rows", "<u8"),
        ("num_columns", "<u8"),
        ("layouts", "<u8"),
        ("statistics", "<u8"),
        ("statistics_bytes", "<u8"),
        ("directory", "<u8"),
        ("columns_digest", "<u8"),
        ("texts_digest", "<u8"),
        ("directory_digest", "<u8"),
        ("digest", "<u8"),
        ("magic", "S8"),
    ]
)
_CHECKED = _TRAILER.fields["digest"][1] if _TRAILER.fields is not None else 0
"""Bytes of the trailer that `digest` covers."""
_PART_TYPES: dict[str, pa.DataType] = {
    str(dtype): dtype
    for dtype in (
        *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
        *(pa.float32(), pa.float64()),
    )
}
_ALIGNMENT = 64
_SMALL_PIECE = 1 << 16
"""Size up to which a piece is joined with its neighbours."""


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column as stored in a file. `checksum` covers all its parts in order."""

    encoded: EncodedColumn
    checksum: int


@dataclass(frozen=True, slots=True)
class SerializedBlock:
    """The bytes of a block's file in pieces, and its statistics. Large parts are not copied."""

    pieces: tuple[pa.Buffer, ...]
    statistics: PackedStatistics


class BlockFile:
    """A block's file with a verified trailer and directory. Raise ValueError for any other damage."""

    def __init__(self, buffer: pa.Buffer) -> None:
        trailer = _trailer(buffer)
        self._buffer = buffer
        self._statistics = int(trailer["statistics"]), int(trailer["statistics_bytes"])
        self._layouts, self._texts_digest = int(trailer["layouts"]), int(trailer["texts_digest"])
        self.num_rows = int(trailer["num_rows"])
        self.columns_digest = int(trailer["columns_digest"])
        """Checksum of names and types, from `columns_digest`."""
        start, size = int(trailer["directory"]), int(trailer["num_columns"]) * RECORD.itemsize
        if start + size != buffer.size - _TRAILER.itemsize or self._layouts > start:
            raise ValueError("its trailer is damaged")
        self._records = buffer.slice(start, size)
        if xxhash.xxh3_64_intdigest(memoryview(self._records)) != trailer["directory_digest"]:
            raise ValueError("its directory does not match its checksum")
        self._directory: Array = np.frombuffer(memoryview(self._records), RECORD)

    def __contains__(self, name: str) -> bool:
        return index_in_directory(self._directory, name) is not None

    def names(self) -> tuple[str, ...]:
        """Return the names of all columns. This reads all layouts."""
        return tuple(str(self._layout(place)["name"]) for place in range(len(self._directory)))

    def column(self, name: str) -> StoredColumn:
        """Return a column. Only its layout is verified. Raise KeyError if the block has no such column."""
        place = index_in_directory(self._directory, name)
        layout = None if place is None else self._layout(place)
        if layout is None or layout["name"] != name:
            raise KeyError(name)
        return StoredColumn(_rebuild(layout["column"], self._buffer), int(layout["checksum"], 16))

    def statistics(self) -> PackedStatistics:
        """Return the statistics of all columns, copied from the file. They and the layouts are verified."""
        start, size = self._statistics
        texts = self._buffer.slice(self._layouts, start + size - self._layouts)
        if xxhash.xxh3_64_intdigest(memoryview(texts)) != self._texts_digest:
            raise ValueError("its layouts and statistics do not match their checksum")
        own = texts.slice(start - self._layouts)
        return PackedStatistics(self.num_rows, self._records.to_pybytes(), own.to_pybytes())

    def _layout(self, place: int) -> dict[str, Any]:
        record = self._directory[place]
        start, size = int(record["layout"]), int(record["layout_bytes"])
        text = self._buffer.slice(start, size).to_pybytes() if start + size <= self._buffer.size else b""
        if xxhash.xxh3_64_intdigest(text) != record["layout_digest"]:
            raise ValueError("the layout of a column does not match its checksum")
        return json.loads(text)  # type: ignore[no-any-return]


def serialize(
    num_rows: int, columns: Mapping[str, EncodedColumn], statistics: Sequence[tuple[str, ColumnStatistics]]
) -> SerializedBlock:
    """Serialize a block with these columns. `statistics` are in the same order."""
    out = _Pieces()
    places = [_put_parts(column, out) for column in columns.values()]
    directory = np.zeros(len(columns), RECORD)
    directory["name"] = [name_hash(name) for name in columns]
    directory["size_bytes"] = [column.size_bytes for column in columns.values()]
    layouts = [_layout_text(name, column, places[index]) for index, (name, column) in enumerate(columns.items())]
    texts = texts_of(statistics)
    _set_places(directory, "layout", layouts, out.size)
    _set_places(directory, "statistics", texts, 0)
    directory["layout_digest"] = [xxhash.xxh3_64_intdigest(text) for text in layouts]
    packed = PackedStatistics(num_rows, directory.tobytes(), b"".join(texts))
    digest = columns_digest([(name, column.dtype) for name, column in columns.items()])
    return SerializedBlock(_ended(out, b"".join(layouts), packed, digest), packed)


def _layout_text(name: str, column: EncodedColumn, places: list[int]) -> bytes:
    layout = {"name": name, "column": _layout(column, iter(places)), "checksum": f"{checksum(column):016x}"}
    return json.dumps(layout, separators=(",", ":")).encode()


def _set_places(directory: Array, field: str, texts: Sequence[bytes], start: int) -> None:
    lengths = np.array([len(text) for text in texts], np.uint64)
    directory[f"{field}_bytes"] = lengths
    directory[field] = np.cumsum(lengths, dtype=np.uint64) - lengths + np.uint64(start)


def checksum(column: EncodedColumn) -> int:
    digest = xxhash.xxh3_64()
    for _, part in column.flat_parts():
        for chunk in _chunks(part):
            digest.update(memoryview(chunk))
    return digest.intdigest()


def columns_digest(columns: Sequence[tuple[str, DataType]]) -> int:
    """Return a checksum of the names and types of a block's columns, in order."""
    return xxhash.xxh3_64_intdigest(json.dumps([(name, str(dtype)) for name, dtype in columns]).encode())


def content_digest(content: pa.Buffer) -> int:
    """Return a checksum of a whole file, derived from the checksums of its columns.

    `content` is the file, or its last piece.
    """
    return int(_trailer(content)["digest"])


class _Pieces:
    """A file under construction: small adjacent pieces are joined, large pieces are kept as they are."""

    def __init__(self) -> None:
        self.size = 0
        self._runs: list[bytearray | pa.Buffer] = [bytearray()]

    def add(self, piece: bytes | pa.Buffer) -> None:
        self.size += len(piece)
        run = self._runs[-1]
        if len(piece) > _SMALL_PIECE or not isinstance(run, bytearray):
            self._runs += [pa.py_buffer(piece), bytearray()]
        else:
            run += piece if isinstance(piece, bytes) else memoryview(piece)

    def align(self) -> None:
        self.add(bytes(-self.size % _ALIGNMENT))

    def buffers(self) -> tuple[pa.Buffer, ...]:
        return tuple(pa.py_buffer(bytes(run)) if isinstance(run, bytearray) else run for run in self._runs if len(run))


def _ended(out: _Pieces, layouts: bytes, statistics: PackedStatistics, digest: int) -> tuple[pa.Buffer, ...]:
    """Append the texts, directory and trailer to the file."""
    trailer = np.zeros((), _TRAILER)
    trailer["num_rows"], trailer["columns_digest"] = statistics.num_rows, digest
    trailer["num_columns"] = len(statistics.records) // RECORD.itemsize
    texts = layouts + statistics.texts
    trailer["layouts"], trailer["texts_digest"] = out.size, xxhash.xxh3_64_intdigest(texts)
    trailer["statistics"], trailer["statistics_bytes"] = out.size + len(layouts), len(statistics.texts)
    out.add(texts)
    out.align()
    trailer["directory"] = out.size
    trailer["directory_digest"] = xxhash.xxh3_64_intdigest(statistics.records)
    out.add(statistics.records)
    trailer["magic"] = _MAGIC
    trailer["digest"] = xxhash.xxh3_64_intdigest(_MAGIC + trailer.tobytes()[:_CHECKED])
    out.add(trailer.tobytes())
    return out.buffers()


def _trailer(content: pa.Buffer) -> Array:
    if content.size < _TRAILER.itemsize:
        raise ValueError("its end is missing")
    stored = content.slice(content.size - _TRAILER.itemsize).to_pybytes()
    trailer: Array = np.frombuffer(stored, _TRAILER)[0]
    if trailer["magic"] != _MAGIC:
        raise ValueError("its end is missing, or it is a block of another version")
    if xxhash.xxh3_64_intdigest(_MAGIC + stored[:_CHECKED]) != trailer["digest"]:
        raise ValueError("its trailer does not match its checksum")
    return trailer


def _put_parts(column: EncodedColumn, out: _Pieces) -> list[int]:
    """Append a column's parts to the file, and return their positions."""
    places = []
    for _, part in column.flat_parts():
        out.align()
        places.append(out.size)
        for chunk in _chunks(part):
            out.add(chunk)
    return places


def _chunks(part: Any) -> list[pa.Buffer]:
    """The bytes of a part, which may be a chunked array."""
    arrays = part.chunks if isinstance(part, pa.ChunkedArray) else [part]
    width = part.type.bit_width // 8
    return [arrow_buffers.buffer(one, 1).slice(one.offset * width, len(one) * width) for one in arrays if len(one)]


def _layout(column: EncodedColumn, places: Any) -> dict[str, object]:
    """Describe a column without its bytes. `places` are the positions of its parts, in the order of `flat_parts`."""
    return {
        "encoding": column.encoding,
        "type": type_text(column.dtype),
        "rows": column.num_rows,
        "params": column.params,
        "parts": [(name, str(part.type), len(part), next(places)) for name, part in column.parts.items()],
        "children": {name: _layout(child, places) for name, child in column.children.items()},
    }


def _rebuild(layout: dict[str, Any], buffer: pa.Buffer) -> EncodedColumn:
    return EncodedColumn(
        layout["encoding"],
        parse_type(layout["type"]),
        layout["rows"],
        layout["params"],
        {name: _part(buffer, *place) for name, *place in layout["parts"]},
        {name: _rebuild(child, buffer) for name, child in layout["children"].items()},
    )


def _part(buffer: pa.Buffer, type_name: str, length: int, start: int) -> pa.Array[Any]:
    dtype = _PART_TYPES[type_name]
    size = length * (dtype.bit_width // 8)
    if start + size > buffer.size:
        raise ValueError("a part of a column is missing")
    return pa.Array.from_buffers(dtype, length, [None, buffer.slice(start, size)])
