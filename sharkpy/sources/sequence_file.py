"""Hadoop's sequence files: records with a key, which Hive ignores, and a value, which is a row.

A file is a header, then records in runs between sync markers. Each record, or a block of many, may be compressed.
"""

from __future__ import annotations

import io
import itertools
import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import BinaryIO

import pyarrow as pa

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.hive_formats import LAZY_BINARY, SERDE_KEY
from sharkpy.sources.arrow import Array
from sharkpy.sources.binary_values import (
    FileBytes,
    joined_vlongs,
    read_text,
    read_vlong,
    read_vlongs,
    write_text,
    write_vlong,
)
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.hadoop_codecs import OUTPUT_CODEC, OUTPUT_TYPE, HadoopCodec, codec_of_class
from sharkpy.sources.layout import DataFile
from sharkpy.sources.new_files import output_file
from sharkpy.sources.open_files import check_unchanged, mapped
from sharkpy.sources.rows.delimited import DelimitedRows
from sharkpy.sources.rows.lazy_binary import LazyBinaryRows
from sharkpy.sources.rows.row_format import Properties, RowFormat
from sharkpy.sources.source import ReadMetrics, Split
from sharkpy.values.types import Schema

_BATCH_BYTES = 16 << 20
_PIECE_BYTES = 1 << 20
_FEW_BYTES = 1 << 10
_MOST_METADATA = 1 << 16
MOST_BYTES = (1 << 31) - 1
"""Most bytes of a record or a column: other readers use a Java array for it."""


@dataclass(frozen=True, slots=True)
class SequenceHeader:
    """Header of a file. `end`: offset of the first record. `codec`: None if nothing is compressed."""

    value_class: str
    codec: HadoopCodec | None
    is_block: bool
    sync: bytes
    end: int


class SequenceFileSource:
    """Sequence files. Rows are in the form of LazySimpleSerDe, or of the SerDe in the properties."""

    name = "sequencefile"
    splits_bytes = True

    def splits_lines(self, properties: Properties) -> bool:  # noqa: ARG002 - the protocol's signature
        return False

    def check(self, schema: Schema, properties: Properties) -> None:
        _rows(properties).check(schema, properties)

    def splits(
        self,
        files: Sequence[DataFile],
        schema: Schema,  # noqa: ARG002 - the protocol's signature
        properties: Properties,
        split_bytes: int,
    ) -> list[Split]:
        return byte_ranges(files, self.name, properties, split_bytes)

    def read(
        self, split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics | None = None
    ) -> Iterator[pa.RecordBatch]:
        check_unchanged(split)
        counted = metrics or ReadMetrics()
        reader = _rows(split.properties).reader(schema, names, split.properties, counted)
        for runs in _values(split):
            rows: Array = pa.array([value for _, values in runs for value in values], pa.binary())
            counted.bytes += rows.nbytes
            yield from reader.read_rows(rows)

    def read_placed(
        self, split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics
    ) -> Iterator[tuple[pa.RecordBatch, Sequence[int]]]:
        check_unchanged(split)
        reader = _rows(split.properties).reader(schema, names, split.properties, metrics)
        for place, values in itertools.chain.from_iterable(_values(split)):
            for batch in reader.read_rows(pa.array(values, pa.binary())):
                yield batch, [place] * batch.num_rows

    def write(self, batches: Iterable[pa.RecordBatch], schema: Schema, properties: Properties, path: str) -> int:
        num_rows, rows = 0, _rows(properties)
        given = dict(properties)
        codec = codec_of_class(given[OUTPUT_CODEC]) if OUTPUT_CODEC in given else None
        is_block = codec is not None and given.get(OUTPUT_TYPE, "RECORD").upper() == "BLOCK"
        is_binary = isinstance(rows, LazyBinaryRows)
        with output_file(path) as file:
            writer = SequenceFileWriter(
                file, BYTES_CLASS if is_binary else TEXT_CLASS, codec, given.get(OUTPUT_CODEC, ""), is_block
            )
            for batch in batches:
                for value in rows.encode(batch, schema, properties).to_pylist():
                    size = struct.pack(">i", len(value)) if is_binary else write_vlong(len(value))
                    writer.append(size + value)
                num_rows += batch.num_rows
            writer.flush()
        return num_rows


def byte_ranges(files: Sequence[DataFile], name: str, properties: Properties, split_bytes: int) -> list[Split]:
    step = max(split_bytes, 1)
    return [
        Split.of(file, name, properties, place, min(step, file.size_bytes - place))
        for file in files
        for place in range(0, file.size_bytes, step)
    ]


def synced_runs(data: FileBytes, split: Split, sync: bytes, header_end: int) -> Iterator[tuple[int, int]]:
    """Start and end of the runs of records that begin in the split; the first run begins after the header."""
    marker = SYNC_ESCAPE + sync
    end = split.start + split.length
    if split.start == 0:
        place, start = header_end, header_end
    else:
        place = data.find(marker, max(split.start, header_end))
        if place < 0 or place >= end:
            return
        start = place + len(marker)
    while True:
        check_cancelled()
        following = data.find(marker, start)
        yield start, len(data) if following < 0 else following
        if following < 0 or following >= end:
            return
        start = following + len(marker)


def cut_off(path: str) -> SourceError:
    return SourceError(f'"{path}" is cut off or damaged')


def _rows(properties: Properties) -> RowFormat:
    return LazyBinaryRows() if dict(properties).get(SERDE_KEY) == LAZY_BINARY else DelimitedRows(is_lined=False)


def run_place(start: int, header_end: int) -> int:
    """Offset of the run whose first record is at `start`: that of its marker, or of the file's start."""
    return 0 if start == header_end else start - len(SYNC_ESCAPE) - SYNC_BYTES


def _values(split: Split) -> Iterator[list[tuple[int, list[bytes]]]]:
    """Values of runs of records, with the offsets of the runs; small runs are returned together."""
    try:
        with mapped(split) as data:
            header = read_header(data, split.path)
            read = _block_values if header.is_block else _record_values
            pending: list[tuple[int, list[bytes]]] = []
            size = 0
            for start, end in synced_runs(data, split, header.sync, header.end):
                values = read(data, start, end, header, split.path)
                if values:
                    pending.append((run_place(start, header.end), values))
                size += sum(map(len, values))
                if size >= _BATCH_BYTES:
                    yield pending
                    pending, size = [], 0
            if pending:
                yield pending
    except OSError as error:
        raise io_error(error, split.path) from None


def read_header(data: FileBytes, path: str) -> SequenceHeader:
    version = data[3] if len(data) > 3 else 0
    if data[:3] != MAGIC or not 4 <= version <= VERSION:
        what = f"has version {version} of sequence files" if data[:3] == MAGIC else "is no sequence file"
        raise SourceError(f'"{path}" {what}')
    try:
        _, place = read_text(data, 4)
        value_class, place = read_text(data, place)
        is_compressed, is_block = data[place] != 0, data[place + 1] != 0
        codec_class, place = "DefaultCodec", place + 2
        if is_compressed and version >= 5:
            codec_class, place = read_text(data, place)
        if version >= 6:
            place = skip_metadata(data, place)
        sync = read_sync(data, place)
    except IndexError:
        raise cut_off(path) from None
    if value_class not in (TEXT_CLASS, BYTES_CLASS):
        raise UnsupportedError(f'values of class {value_class} in the sequence file "{path}"')
    codec = codec_of_class(codec_class) if is_compressed else None
    return SequenceHeader(value_class, codec, is_compressed and is_block, sync, place + SYNC_BYTES)


def skip_metadata(data: FileBytes, place: int) -> int:
    """Offset after the metadata of a header. IndexError if they are cut off, or longer than any writer makes them."""
    count, place = int.from_bytes(data[place : place + 4], "big"), place + 4
    if count > _MOST_METADATA:
        raise IndexError(place)
    for _ in range(2 * count):
        _, place = read_text(data, place)
    return place


def read_sync(data: FileBytes, place: int) -> bytes:
    """The sync marker that ends a header. IndexError if it is cut off."""
    if place + SYNC_BYTES > len(data):
        raise IndexError(place)
    return data[place : place + SYNC_BYTES]


def _record_values(data: FileBytes, start: int, end: int, header: SequenceHeader, path: str) -> list[bytes]:
    values, place = [], start
    unpack = struct.Struct(">ii").unpack
    while place < end:
        if place + 8 > end:
            raise cut_off(path)
        record_bytes, key_bytes = unpack(data[place : place + 8])
        first, place = place + 8 + key_bytes, place + 8 + record_bytes
        if key_bytes < 0 or record_bytes < key_bytes or place > end:
            raise cut_off(path)
        value = data[first:place]
        values.append(value if header.codec is None else decompressed(value, header.codec, path))
    return _contents(values, header.value_class, path)


def _contents(values: Iterable[bytes], value_class: str, path: str) -> list[bytes]:
    """Bytes of Text or BytesWritable values, which begin with their length."""
    is_binary = value_class == BYTES_CLASS
    contents = []
    try:
        for value in values:
            size, first = (int.from_bytes(value[:4], "big"), 4) if is_binary else read_vlong(value, 0)
            if not first <= first + size <= len(value):
                raise cut_off(path)
            contents.append(value[first : first + size])
    except IndexError:
        raise cut_off(path) from None
    return contents


def _block_values(data: FileBytes, start: int, end: int, header: SequenceHeader, path: str) -> list[bytes]:
    """Values of a block of records: their number, then key lengths, keys, value lengths and values, each compressed."""
    codec = header.codec
    if codec is None or start >= end:
        return []
    try:
        count, place = read_vlong(data, start)
        parts = []
        for _ in range(4):
            size, place = read_vlong(data, place)
            if not place <= place + size <= end:
                raise cut_off(path)
            parts.append(data[place : place + size])
            place += size
        packed_lengths = decompressed(parts[2], codec, path)
        if not 0 <= count <= len(packed_lengths):
            raise cut_off(path)
        lengths = read_vlongs(packed_lengths, count)
    except IndexError:
        raise cut_off(path) from None
    if min(lengths, default=0) < 0:
        raise cut_off(path)
    size = sum(lengths)
    content = decompressed(parts[3], codec, path, size)
    if len(content) != size:
        raise cut_off(path)
    ends = itertools.accumulate(lengths, initial=0)
    return _contents((content[first:last] for first, last in itertools.pairwise(ends)), header.value_class, path)


def decompressed(data: bytes, codec: HadoopCodec, path: str, most_bytes: int = MOST_BYTES) -> bytes:
    """Decompressed data. SourceError if it is damaged, or has more than `most_bytes`.

    It is read piece by piece, so that no more than that is ever in memory. Small data, which cannot expand to many
    megabytes, is read at once.
    """
    import zlib

    parts, left = list[bytes](), min(most_bytes, MOST_BYTES)
    try:
        if len(data) <= _FEW_BYTES:
            plain = codec.decompress(data)
            if len(plain) > left:
                raise cut_off(path)
            return plain
        with closing(codec.stream(io.BytesIO(data))) as stream:
            while part := stream.read(_PIECE_BYTES):
                parts.append(part)
                left -= len(part)
                if left < 0:
                    raise cut_off(path)
    except (EOFError, OSError, ValueError, zlib.error, IndexError, pa.ArrowException) as error:
        raise SourceError(f'"{path}" is damaged: its {codec.name} data cannot be read ({error})') from None
    return b"".join(parts)


MAGIC, VERSION = b"SEQ", 6
SYNC_ESCAPE = b"\xff\xff\xff\xff"
SYNC_BYTES = 16
TEXT_CLASS, BYTES_CLASS = "org.apache.hadoop.io.Text", "org.apache.hadoop.io.BytesWritable"
_SYNC_INTERVAL = 64 << 10
_BLOCK_BYTES = 1 << 20
_EMPTY_KEY = struct.pack(">i", 0)
"""An empty BytesWritable: Hive's key."""


class SequenceFileWriter:
    """Writer of records with an empty key."""

    def __init__(
        self, file: BinaryIO, value_class: str, codec: HadoopCodec | None, codec_class: str, is_block: bool
    ) -> None:
        self._file = file
        self._codec = codec
        self._is_block = is_block
        self._sync = os.urandom(SYNC_BYTES)
        self._pending: list[bytes] = []
        self._size = 0
        header = [MAGIC, bytes([VERSION]), write_text(BYTES_CLASS), write_text(value_class)]
        header += [bytes([codec is not None, is_block])]
        header += [] if codec is None else [write_text(full_class(codec, codec_class))]
        file.write(b"".join([*header, struct.pack(">i", 0), self._sync]))

    def append(self, value: bytes) -> None:
        if self._codec is not None and not self._is_block:
            value = self._codec.compress(value)
        self._pending.append(value)
        self._size += len(value) + 12
        if self._size >= (_BLOCK_BYTES if self._is_block else _SYNC_INTERVAL):
            self.flush()

    def flush(self) -> None:
        """Write the pending records after a sync marker."""
        if not self._pending:
            return
        self._file.write(SYNC_ESCAPE + self._sync)
        self._file.write(self._block() if self._is_block else self._records())
        self._pending, self._size = [], 0

    def _records(self) -> bytes:
        pack, key_bytes = struct.Struct(">ii").pack, len(_EMPTY_KEY)
        return b"".join(pack(key_bytes + len(one), key_bytes) + _EMPTY_KEY + one for one in self._pending)

    def _block(self) -> bytes:
        compress = self._codec.compress if self._codec is not None else bytes
        count = len(self._pending)
        key_lengths = joined_vlongs([len(_EMPTY_KEY)] * count)
        value_lengths = joined_vlongs([len(one) for one in self._pending])
        parts = (key_lengths, _EMPTY_KEY * count, value_lengths, b"".join(self._pending))
        packed = [compress(part) for part in parts]
        return write_vlong(count) + b"".join(write_vlong(len(part)) + part for part in packed)


def full_class(codec: HadoopCodec, name: str) -> str:
    """The class of a codec if `name` is one of its classes, otherwise its first class."""
    return name if name in codec.classes else codec.classes[0]
