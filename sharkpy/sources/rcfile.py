"""RCFile: groups of rows, with the columns of a group one after the other. Only the wanted columns are read.

A group consists of its lengths, its key and its columns. The key has, for each column, its bytes and the lengths of its
cells. Columns and key are compressed separately.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from sharkpy.base.errors import SourceError
from sharkpy.base.records import dataclass
from sharkpy.sources.arrow import Array
from sharkpy.sources.binary_values import FileBytes, IntArray, read_text, read_vlong, write_text, write_vlong
from sharkpy.sources.column_conversion import row_count_batch
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.hadoop_codecs import OUTPUT_CODEC, HadoopCodec, codec_of_class
from sharkpy.sources.layout import DataFile
from sharkpy.sources.new_files import output_file
from sharkpy.sources.open_files import check_unchanged, mapped
from sharkpy.sources.rcfile_cells import CellFormat, Cells, cell_format
from sharkpy.sources.sequence_file import (
    MOST_BYTES,
    SYNC_BYTES,
    SYNC_ESCAPE,
    byte_ranges,
    cut_off,
    decompressed,
    full_class,
    read_sync,
    run_place,
    skip_metadata,
    synced_runs,
)
from sharkpy.sources.source import Properties, ReadMetrics, Split
from sharkpy.values.types import Schema, arrow_schema

_MAGIC, _OLD_MAGIC = b"RCF", b"SEQ"
_VERSION = 1
_COLUMNS_KEY = "hive.io.rcfile.column.number"
_MOST_EMPTY_ROWS = 4 << 20
"""Most rows of a group without any bytes, such as NULL in all columns."""
_GROUP_ROWS = 32 << 10
_GROUP_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class RcHeader:
    codec: HadoopCodec | None
    sync: bytes
    end: int


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a group: its offset, its stored and its uncompressed bytes, and the range of its cell lengths in the
    group's key.
    """

    first: int
    stored_bytes: int
    plain_bytes: int
    lengths_at: int
    lengths_end: int


@dataclass(frozen=True, slots=True)
class Group:
    """A group of rows. `place`: offset of the sync marker before it."""

    place: int
    num_rows: int
    key: bytes
    columns: tuple[Column, ...]


class RcFileSource:
    name = "rcfile"
    splits_bytes = True

    def splits_lines(self, properties: Properties) -> bool:  # noqa: ARG002 - the protocol's signature
        return False

    def check(self, schema: Schema, properties: Properties) -> None:
        cell_format(properties).check(schema)

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
        for batch, _ in self._read(split, schema, names, metrics or ReadMetrics()):
            yield batch

    def read_placed(
        self, split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics
    ) -> Iterator[tuple[pa.RecordBatch, Sequence[int]]]:
        for batch, place in self._read(split, schema, names, metrics):
            yield batch, [place] * batch.num_rows

    def _read(
        self, split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics
    ) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Rows of each group, with the offset of its run."""
        check_unchanged(split)
        cells = cell_format(split.properties)
        wanted = [(schema.names.index(name), schema[name].dtype) for name in names]
        try:
            with mapped(split) as data:
                header = _read_header(data, split.path)
                for group in _groups(data, split, header):
                    if not wanted:
                        metrics.rows += group.num_rows
                        yield row_count_batch(group.num_rows), group.place
                        continue
                    read = [self._cells(data, group, place, header, split.path) for place, _ in wanted]
                    metrics.bytes += sum(column.size_bytes for column in read if column is not None)
                    columns = [
                        _nulls(group.num_rows, schema, name) if column is None else cells.decode(column, dtype, metrics)
                        for name, column, (_, dtype) in zip(names, read, wanted, strict=True)
                    ]
                    metrics.rows += group.num_rows
                    yield pa.RecordBatch.from_arrays(columns, schema=arrow_schema(schema.select(names))), group.place
        except OSError as error:
            raise io_error(error, split.path) from None

    def _cells(self, data: FileBytes, group: Group, place: int, header: RcHeader, path: str) -> Cells | None:
        """Cells of a column; None if the file does not have it."""
        if place >= len(group.columns):
            return None
        column = group.columns[place]
        content = data[column.first : column.first + column.stored_bytes]
        if header.codec is not None and content:
            content = decompressed(content, header.codec, path, column.plain_bytes)
        if len(content) != column.plain_bytes:
            raise cut_off(path)
        try:
            lengths = _run_lengths(group.key, column, group.num_rows)
        except IndexError:
            raise cut_off(path) from None
        return Cells(content[: int(lengths.sum())], lengths, column.stored_bytes)

    def write(self, batches: Iterable[pa.RecordBatch], schema: Schema, properties: Properties, path: str) -> int:
        codec_class = dict(properties).get(OUTPUT_CODEC)
        codec = None if codec_class is None else codec_of_class(codec_class)
        cells, num_rows = cell_format(properties), 0
        with output_file(path) as file:
            sync = _write_header(file, codec, codec_class or "", len(schema))
            for batch in batches:
                for part in _parts(batch):
                    file.write(SYNC_ESCAPE + sync + _group_bytes(part, schema, cells, codec))
                    num_rows += part.num_rows
        return num_rows


def _nulls(num_rows: int, schema: Schema, name: str) -> Array:
    return pa.nulls(num_rows, arrow_schema(schema.select([name])).field(0).type)


def _read_header(data: FileBytes, path: str) -> RcHeader:
    """Header of version 1, or of the first RCFiles, which were sequence files with special classes."""
    magic, version = data[:3], data[3] if len(data) > 3 else 0
    is_old = magic == _OLD_MAGIC and version == 6
    if not is_old and (magic != _MAGIC or version != _VERSION):
        raise SourceError(f'"{path}" is not an RCFile')
    try:
        place = 4
        if is_old:
            key_class, place = read_text(data, place)
            _, place = read_text(data, place)
            if "RCFile" not in key_class:
                raise SourceError(f'"{path}" is a sequence file, not an RCFile')
        is_compressed, place = data[place] != 0, place + 1
        place += is_old
        codec = None
        if is_compressed:
            name, place = read_text(data, place)
            codec = codec_of_class(name)
        place = skip_metadata(data, place)
        return RcHeader(codec, read_sync(data, place), place + SYNC_BYTES)
    except IndexError:
        raise cut_off(path) from None


def _groups(data: FileBytes, split: Split, header: RcHeader) -> Iterator[Group]:
    for start, end in synced_runs(data, split, header.sync, header.end):
        place = start
        while place < end:
            if place + 12 > end:
                raise cut_off(split.path)
            record_bytes, key_bytes, stored_key_bytes = struct.unpack(">iii", data[place : place + 12])
            first = place + 12
            columns_at = first + stored_key_bytes
            place = columns_at + record_bytes - key_bytes
            if min(record_bytes, key_bytes, stored_key_bytes) < 0 or not columns_at <= place <= end:
                raise cut_off(split.path)
            key = data[first:columns_at]
            if header.codec is not None:
                key = decompressed(key, header.codec, split.path, key_bytes)
            try:
                group = _group(run_place(start, header.end), key, columns_at, place)
            except IndexError:
                raise cut_off(split.path) from None
            yield group


def _group(run: int, key: bytes, place: int, end: int) -> Group:
    """Group whose columns are between `place` and `end`. IndexError if its key claims more than that."""
    num_rows, at = read_vlong(key, 0)
    columns = list[Column]()
    while at < len(key):
        stored, at = read_vlong(key, at)
        plain, at = read_vlong(key, at)
        size, at = read_vlong(key, at)
        if min(stored, plain, size) < 0 or plain > MOST_BYTES or place + stored > end or at + size > len(key):
            raise IndexError(at)
        columns.append(Column(place, stored, plain, at, at + size))
        place, at = place + stored, at + size
    most = max(_MOST_EMPTY_ROWS, max((one.plain_bytes for one in columns), default=0))
    if not 0 <= num_rows <= most:
        raise IndexError(num_rows)
    return Group(run, num_rows, key, tuple(columns))


def _run_lengths(key: bytes, column: Column, num_rows: int) -> IntArray:
    """Lengths of the cells of a column; a negative number repeats the length before it.

    IndexError if there are more lengths than rows, or if they exceed the column's bytes.
    """
    lengths: list[int] = []
    counts: list[int] = []
    place, rows, size = column.lengths_at, 0, 0
    while place < column.lengths_end:
        number, place = read_vlong(key, place)
        if number >= 0:
            lengths.append(number)
            counts.append(0)
        times = 1 if number >= 0 else ~number
        counts[-1] += times
        rows, size = rows + times, size + times * lengths[-1]
        if rows > num_rows or size > column.plain_bytes:
            raise IndexError(place)
    found = np.repeat(np.array(lengths, np.int64), counts)
    return np.concatenate([found, np.zeros(num_rows - rows, np.int64)])


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    rows = max(1, min(_GROUP_ROWS, _GROUP_BYTES * batch.num_rows // max(batch.nbytes, 1)))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def _write_header(file: BinaryIO, codec: HadoopCodec | None, codec_class: str, num_columns: int) -> bytes:
    sync = os.urandom(SYNC_BYTES)
    header = [_MAGIC, bytes([_VERSION, codec is not None])]
    header += [] if codec is None else [write_text(full_class(codec, codec_class))]
    header += [struct.pack(">i", 1), write_text(_COLUMNS_KEY), write_text(str(num_columns)), sync]
    file.write(b"".join(header))
    return sync


def _group_bytes(batch: pa.RecordBatch, schema: Schema, cells: CellFormat, codec: HadoopCodec | None) -> bytes:
    key, columns = [write_vlong(batch.num_rows)], []
    for column, field in zip(batch.columns, schema, strict=True):
        written = cells.encode(column, field)
        stored = written.content if codec is None else codec.compress(written.content)
        lengths = _written_lengths(written.lengths)
        key += [write_vlong(len(stored)), write_vlong(len(written.content)), write_vlong(len(lengths)), lengths]
        columns.append(stored)
    plain_key, content = b"".join(key), b"".join(columns)
    stored_key = plain_key if codec is None else codec.compress(plain_key)
    sizes = struct.pack(">iii", len(plain_key) + len(content), len(plain_key), len(stored_key))
    return sizes + stored_key + content


def _written_lengths(lengths: IntArray) -> bytes:
    parts = []
    for length, run in groupby(lengths.tolist()):
        repeats = sum(1 for _ in run) - 1
        parts.append(write_vlong(length) + (write_vlong(~repeats) if repeats else b""))
    return b"".join(parts)
