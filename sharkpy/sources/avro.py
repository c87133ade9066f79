"""Avro container files: blocks between sync markers, columns by name."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import ConfigurationError, SourceError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.avro_schema import columns_of, given_schema, json_of, record_of
from sharkpy.sources.avro_decoder import AvroRecords, Block
from sharkpy.sources.avro_encoder import written_records
from sharkpy.sources.binary_values import FileBytes, read_varint
from sharkpy.sources.column_conversion import row_count_batch
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.hadoop_codecs import OUTPUT_CODEC, codec_of_class
from sharkpy.sources.layout import DataFile
from sharkpy.sources.new_files import output_file
from sharkpy.sources.open_files import check_unchanged, mapped
from sharkpy.sources.sequence_file import byte_ranges, cut_off
from sharkpy.sources.source import BATCH_ROWS, Properties, ReadMetrics, Split
from sharkpy.values.types import Schema

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_CODEC_KEY = "avro.output.codec"
_MOST_HEADER_BYTES = 16 << 20
_MOST_ROWS = 1 << 31
"""Most records of a block."""
_FIRST_ROWS = 1_000
_CALL_BYTES = 4 << 20
"""Bytes of the blocks that are read in one call; more only if a single block is larger."""
_SEARCHED_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class AvroHeader:
    record: dict[str, Any]
    schema: str
    """The record's text."""
    codec: str
    sync: bytes
    end: int


class AvroSource:
    """Avro files. If a table has a schema of its own (avro.schema.literal, avro.schema.url), the files' schemas are
    resolved to it, with its defaults.
    """

    name = "avro"
    splits_bytes = True

    def splits_lines(self, properties: Properties) -> bool:  # noqa: ARG002 - the protocol's signature
        return False

    def check(self, schema: Schema, properties: Properties) -> None:
        _output_codec(properties)
        if given_schema(properties) is None:
            record_of(schema)

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
        try:
            with mapped(split) as data:
                header = _read_header(data, split.path)
                blocks = _blocks(data, split, header)
                if not names:
                    for count, content in blocks:
                        counted.rows, counted.bytes = counted.rows + count, counted.bytes + len(content)
                        yield row_count_batch(count)
                    return
                records = wanted_records(header.schema, split.properties, schema.select(names), f'"{split.path}"')
                yield from _batches(blocks, header.codec, records, counted)
        except OSError as error:
            raise io_error(error, split.path) from None

    def write(self, batches: Iterable[pa.RecordBatch], schema: Schema, properties: Properties, path: str) -> int:
        written = written_records(schema, properties)
        codec, sync = _output_codec(properties), os.urandom(_SYNC_BYTES)
        num_rows = 0
        with output_file(path) as file:
            file.write(written.header(codec, sync))
            for batch in batches:
                for blocks in written.blocks(batch, codec, sync):
                    file.write(blocks)
                num_rows += batch.num_rows
        return num_rows


def wanted_records(schema: str, properties: Properties, wanted: Schema, place: str) -> AvroRecords:
    """Wanted columns of records in a schema. If the properties have a schema, the records are resolved to it."""
    given = given_schema(properties)
    return AvroRecords(schema, None if given is None else json.dumps(given), wanted, place)


def _batches(
    blocks: Iterator[Block], codec: str, records: AvroRecords, counted: ReadMetrics
) -> Iterator[pa.RecordBatch]:
    """Columns of all blocks. The first batches are small, so that a reader of a few rows does not wait for many."""
    for pending in _gathered(blocks):
        batch, num_bytes = records.of_blocks(pending, codec)
        counted.rows, counted.bytes = counted.rows + batch.num_rows, counted.bytes + num_bytes
        yield batch


def _gathered(blocks: Iterator[Block]) -> Iterator[list[Block]]:
    pending: list[Block] = []
    num_rows = num_bytes = 0
    wanted_rows = _FIRST_ROWS
    for count, content in blocks:
        pending.append((count, content))
        num_rows, num_bytes = num_rows + count, num_bytes + len(content)
        if num_rows >= wanted_rows or num_bytes >= _CALL_BYTES:
            yield pending
            pending, num_rows, num_bytes = [], 0, 0
            wanted_rows = min(8 * wanted_rows, BATCH_ROWS)
    if pending:
        yield pending


def file_columns(file: DataFile) -> Schema:
    """Columns of a file, from its own schema."""
    try:
        with mapped(file) as data:
            return columns_of(_read_header(data, file.path).record)
    except OSError as error:
        raise io_error(error, file.path) from None


def _read_header(data: FileBytes, path: str) -> AvroHeader:
    if data[:4] != _MAGIC:
        raise SourceError(f'"{path}" is not an Avro file')
    try:
        metadata, place = _metadata(data, path)
        schema = metadata["avro.schema"].decode()
        record = json_of(schema)
        codec = metadata.get("avro.codec", b"null").decode()
    except (IndexError, KeyError, ValueError):
        raise cut_off(path) from None
    if not isinstance(record, dict) or record.get("type") != "record":
        raise UnsupportedError(f'the Avro file "{path}", which holds no records')
    return AvroHeader(record, schema, codec, data[place : place + _SYNC_BYTES], place + _SYNC_BYTES)


def _metadata(data: FileBytes, path: str) -> tuple[dict[str, bytes], int]:
    """Metadata in a file's header, by key, and the start of its sync marker."""
    metadata: dict[str, bytes] = {}
    place = len(_MAGIC)
    while True:
        count, place = _long(data, place)
        if count == 0:
            return metadata, place
        if count < 0:
            _, place = _long(data, place)
        for _ in range(abs(count)):
            check_cancelled()
            key, place = _bytes(data, place)
            metadata[key.decode()], place = _bytes(data, place)
            if place > _MOST_HEADER_BYTES:
                most = _MOST_HEADER_BYTES >> 20
                raise SourceError(f'the header of the Avro file "{path}" has more than {most} MB', sqlstate="54000")


def _blocks(data: FileBytes, split: Split, header: AvroHeader) -> Iterator[Block]:
    """The blocks that begin in the split.

    A block begins after a sync marker; the block after the header counts as the start of the file.
    """
    end, place = split.start + split.length, header.end
    if split.start > 0:
        # If a block begins in this split, the marker before it begins there, too.
        found = _find(data, header.sync, max(split.start, header.end), end)
        if found is None:
            return
        place = found + _SYNC_BYTES
    while place < len(data):
        check_cancelled()
        try:
            count, first = _long(data, place)
            size, first = _long(data, first)
        except IndexError:
            raise cut_off(split.path) from None
        marker = first + size
        if size < 0 or not 0 <= count < _MOST_ROWS or data[marker : marker + _SYNC_BYTES] != header.sync:
            raise cut_off(split.path)
        yield count, data[first:marker]
        if marker >= end:
            return
        place = marker + _SYNC_BYTES


def _find(data: FileBytes, marker: bytes, start: int, end: int) -> int | None:
    """Offset of the first marker that begins between two offsets."""
    for place in range(start, end, _SEARCHED_BYTES):
        check_cancelled()
        stop = min(place + _SEARCHED_BYTES, end)
        found = data[place : stop + len(marker) - 1].find(marker)
        if found >= 0:
            return place + found
    return None


def _long(data: FileBytes, place: int) -> tuple[int, int]:
    """A zigzag number of seven bits a byte, and its end."""
    number, end = read_varint(data, place)
    return number >> 1 ^ -(number & 1), end


def _bytes(data: FileBytes, place: int) -> tuple[bytes, int]:
    size, first = _long(data, place)
    if size < 0 or first + size > len(data):
        raise IndexError(place)
    return data[first : first + size], first + size


_OUTPUT_CODECS = {"deflate": "deflate", "gzip": "deflate", "bzip2": "bzip2"}
"""Codecs for writing, by their names in Hive: their names in Avro files. fastavro needs no other libraries for them."""


def _table_codec(name: str) -> str:
    """Codec named by the table's own property."""
    codec = {"uncompressed": "null", "null": "null"}.get(name.lower()) or _OUTPUT_CODECS.get(name.lower())
    if codec is None:
        hint = f"one of uncompressed, {', '.join(_OUTPUT_CODECS)}"
        raise ConfigurationError(
            f'"{name}" is not a codec that Avro files are written with', hint=hint, sqlstate="22023"
        )
    return codec


def _output_codec(properties: Properties) -> str:
    given = dict(properties)
    if _CODEC_KEY in given:
        return _table_codec(given[_CODEC_KEY])
    name = codec_of_class(given[OUTPUT_CODEC]).name if OUTPUT_CODEC in given else "null"
    return "null" if name == "null" else _OUTPUT_CODECS.get(name, "deflate")
