"""Avro container files: blocks between sync markers, columns by name."""

from __future__ import annotations

import datetime
import io
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

import pyarrow as pa

from sharkpy.base.errors import ConfigurationError, SourceError, UnsupportedError
from sharkpy.base.json_nesting import check_json_nesting
from sharkpy.catalog.avro_schema import AvroSchema, columns_of, given_schema, record_of, type_of
from sharkpy.sources.arrow import column_type
from sharkpy.sources.columns import row_count_batch
from sharkpy.sources.convert import convert
from sharkpy.sources.failures import io_error
from sharkpy.sources.file_bytes import FileBytes
from sharkpy.sources.hadoop_codecs import CODECS, OUTPUT_CODEC, codec_of_class
from sharkpy.sources.layout import DataFile
from sharkpy.sources.local_copy import check_unchanged
from sharkpy.sources.mapped_file import mapped
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.output_file import output_file
from sharkpy.sources.sequence_file import byte_ranges, cut_off
from sharkpy.sources.source import BATCH_ROWS, Properties
from sharkpy.sources.split import Split
from sharkpy.sources.varint import read_varint
from sharkpy.values.types import ArrayType, DataType, MapType, Schema, StructType, arrow_schema

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_CODEC_KEY = "avro.output.codec"
_UNREADABLE = (EOFError, IndexError, ValueError, KeyError, OverflowError)


@dataclass(frozen=True, slots=True)
class AvroHeader:
    record: dict[str, Any]
    codec: str
    sync: bytes
    end: int


class AvroSource:
    """A table's own schema (avro.schema.literal, avro.schema.url) resolves that of its files, with its defaults."""

    name = "avro"
    splits_bytes = True

    def splits_lines(self, properties: Properties) -> bool:  # noqa: ARG002 - the protocol's
        return False

    def check(self, schema: Schema, properties: Properties) -> None:
        _output_codec(properties)
        if given_schema(properties) is None:
            record_of(schema)

    def splits(
        self,
        files: Sequence[DataFile],
        schema: Schema,  # noqa: ARG002 - the protocol's
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
                given, wanted = given_schema(split.properties), schema.select(names)
                rows = AvroColumns(header.record, given, wanted, f'"{split.path}"')
                for records in _batches(blocks, rows, counted):
                    counted.rows += len(records)
                    yield rows.batch(records)
        except OSError as error:
            raise io_error(error, split.path) from None

    def write(self, batches: Iterable[pa.RecordBatch], schema: Schema, properties: Properties, path: str) -> int:
        import fastavro

        written = _WrittenRecords.of(schema, properties)
        num_rows = 0
        with output_file(path) as file:
            writer = fastavro.write.Writer(file, written.schema, codec=_output_codec(properties))
            for batch in batches:
                for record in written.of_batch(batch):
                    writer.write(record)
                num_rows += batch.num_rows
            writer.flush()
        return num_rows


def avro_rows(batch: pa.RecordBatch, schema: Schema, properties: Properties) -> Iterator[bytes]:
    """Each row as an Avro record of its own, without a header."""
    import fastavro

    written = _WrittenRecords.of(schema, properties)
    for record in written.of_batch(batch):
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, written.schema, record)
        yield stream.getvalue()


@dataclass(frozen=True, slots=True)
class _WrittenRecords:
    """Records of rows, in the schema that properties give or that of their columns."""

    schema: Any
    order: Sequence[tuple[str, DataType]]
    places: Sequence[int]
    """Columns of the rows that the records have, in the `order` of their names."""

    @classmethod
    def of(cls, schema: Schema, properties: Properties) -> _WrittenRecords:
        import fastavro

        record = given_schema(properties) or record_of(schema)
        names = {str(field["name"]).lower(): str(field["name"]) for field in record["fields"]}
        order = [(names[field.name], field.dtype) for field in schema if field.name in names]
        places = [place for place, field in enumerate(schema) if field.name in names]
        return cls(fastavro.parse_schema(record), order, places)

    def of_batch(self, batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
        columns = [batch.column(place).to_pylist() for place in self.places]
        for values in zip(*columns, strict=True):
            pairs = zip(self.order, values, strict=True)
            yield {name: _written(value, dtype) for (name, dtype), value in pairs}


class AvroColumns:
    """The wanted columns of records in the schema `record`, which `given` resolves; `place` names them in errors."""

    def __init__(self, record: dict[str, Any], given: dict[str, Any] | None, wanted: Schema, place: str) -> None:
        import fastavro

        self._place = place
        self._wanted = wanted
        self._schema = fastavro.parse_schema(record)
        self._target = None if given is None else fastavro.parse_schema(given)
        fields = (given or record)["fields"]
        self._fields = {str(field["name"]).lower(): (str(field["name"]), field["type"]) for field in fields}
        self._named: dict[str, AvroSchema] = {}
        for field in fields:
            type_of(field["type"], self._named)

    def records(self, count: int, content: bytes) -> list[dict[str, Any]]:
        """All records of a block; SourceError where they cannot be read."""
        stream = io.BytesIO(content)
        try:
            return [self._read(stream) for _ in range(count)]
        except _UNREADABLE as error:
            raise SourceError(f"{self._place} cannot be read as Avro: {error}") from None

    def record(self, stream: io.BytesIO) -> dict[str, Any] | None:
        """The next record; None where it cannot be read."""
        try:
            return self._read(stream)
        except _UNREADABLE:
            return None

    def _read(self, stream: io.BytesIO) -> dict[str, Any]:
        import fastavro

        try:
            return cast(
                dict[str, Any],
                fastavro.schemaless_reader(stream, self._schema, self._target, handle_unicode_errors="replace"),
            )
        except fastavro.read.SchemaResolutionError as error:
            raise ValueError(str(error)) from None

    def batch(self, records: Sequence[dict[str, Any] | None]) -> pa.RecordBatch:
        """Columns of some records; None is one of NULLs."""
        columns = [self._column(records, field.name, field.dtype) for field in self._wanted]
        return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(self._wanted))

    def _column(self, records: Sequence[dict[str, Any] | None], name: str, dtype: DataType) -> Any:
        if name not in self._fields:
            return pa.nulls(len(records), column_type(dtype))
        stored, avro_type = self._fields[name]
        found = type_of(avro_type, self._named)
        values = [None if record is None else _read(record[stored], found) for record in records]
        try:
            return convert(pa.array(values, column_type(found)), found, dtype)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            raise SourceError(f'column "{name}" of {self._place} is {found} and cannot be read as {dtype}') from None


def _batches(
    blocks: Iterator[tuple[int, bytes]], rows: AvroColumns, counted: ReadMetrics
) -> Iterator[list[dict[str, Any]]]:
    pending: list[dict[str, Any]] = []
    for count, content in blocks:
        counted.bytes += len(content)
        pending += rows.records(count, content)
        if len(pending) >= BATCH_ROWS:
            yield pending
            pending = []
    if pending:
        yield pending


def _read(value: Any, dtype: DataType) -> Any:
    """A value as Avro gives it in the form that Arrow takes: times without a zone, names of fields in lower case."""
    match value, dtype:
        case datetime.datetime(), _:
            return value.astimezone(datetime.UTC).replace(tzinfo=None) if value.tzinfo else value
        case list(), ArrayType(element):
            return [_read(item, element) for item in value]
        case dict(), MapType(_, item_type):
            return [(key, _read(item, item_type)) for key, item in value.items()]
        case dict(), StructType(names, types):
            lowered = {key.lower(): item for key, item in value.items()}
            return {name: _read(lowered.get(name), t) for name, t in zip(names, types, strict=True)}
    return value


def _written(value: Any, dtype: DataType) -> Any:
    match value, dtype:
        case None, _:
            return None
        case datetime.datetime(), _:
            return value.replace(tzinfo=datetime.UTC)
        case list(), MapType(_, item_type):
            return {key: _written(item, item_type) for key, item in value}
        case list(), ArrayType(element):
            return [_written(item, element) for item in value]
        case Mapping(), StructType(names, types):
            return {name: _written(value[name], t) for name, t in zip(names, types, strict=True)}
        case Decimal(), _:
            return value
    return value


def file_columns(file: DataFile) -> Schema:
    """Columns of a file, by its own schema."""
    try:
        with mapped(file) as data:
            return columns_of(_read_header(data, file.path).record)
    except OSError as error:
        raise io_error(error, file.path) from None


def _read_header(data: FileBytes, path: str) -> AvroHeader:
    if data[:4] != _MAGIC:
        raise SourceError(f'"{path}" is no Avro file')
    try:
        metadata: dict[str, bytes] = {}
        place = 4
        while True:
            count, place = _long(data, place)
            if count == 0:
                break
            if count < 0:
                _, place = _long(data, place)
            for _ in range(abs(count)):
                key, place = _bytes(data, place)
                metadata[key.decode()], place = _bytes(data, place)
        schema = metadata["avro.schema"].decode()
        check_json_nesting(schema)
        record = json.loads(schema)
    except (IndexError, KeyError, ValueError):
        raise cut_off(path) from None
    if not isinstance(record, dict) or record.get("type") != "record":
        raise UnsupportedError(f'the Avro file "{path}", which holds no records')
    codec = metadata.get("avro.codec", b"null").decode()
    return AvroHeader(record, codec, data[place : place + _SYNC_BYTES], place + _SYNC_BYTES)


def _blocks(data: FileBytes, split: Split, header: AvroHeader) -> Iterator[tuple[int, bytes]]:
    """The number of records and the plain bytes of the blocks that begin in the split.

    A block begins behind a sync marker; the one that ends the header counts as the start of the file.
    """
    end, place = split.start + split.length, header.end
    if split.start > 0:
        # The marker of a block that begins in this split begins in it too.
        found = data.find(header.sync, max(split.start, header.end))
        if found < 0 or found >= end:
            return
        place = found + _SYNC_BYTES
    while place < len(data):
        try:
            count, first = _long(data, place)
            size, first = _long(data, first)
        except IndexError:
            raise cut_off(split.path) from None
        marker = first + size
        if size < 0 or data[marker : marker + _SYNC_BYTES] != header.sync:
            raise cut_off(split.path)
        yield count, _plain(data[first:marker], header.codec, split.path)
        if marker >= end:
            return
        place = marker + _SYNC_BYTES


def _long(data: FileBytes, place: int) -> tuple[int, int]:
    """A zigzag number, seven bits a byte, and where it ends."""
    number, end = read_varint(data, place)
    return number >> 1 ^ -(number & 1), end


def _bytes(data: FileBytes, place: int) -> tuple[bytes, int]:
    size, first = _long(data, place)
    if size < 0 or first + size > len(data):
        raise IndexError(place)
    return data[first : first + size], first + size


def _unsnappy(data: bytes) -> bytes:
    from sharkpy.sources.hadoop_codecs import snappy_size

    packed = data[:-4]
    plain = bytes(pa.Codec("snappy").decompress(packed, snappy_size(packed), asbytes=True))
    if zlib.crc32(plain) != int.from_bytes(data[-4:], "big"):
        raise ValueError("its checksum does not match")
    return plain


_DECOMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "null": lambda data: data,
    "deflate": lambda data: zlib.decompress(data, -15),
    "snappy": _unsnappy,
    "bzip2": next(codec.decompress for codec in CODECS if codec.name == "bzip2"),
    "zstandard": next(codec.decompress for codec in CODECS if codec.name == "zstd"),
}
_OUTPUT_CODECS = {"deflate": "deflate", "gzip": "deflate", "bzip2": "bzip2"}
"""Names of codecs -> those that Avro files say, of codecs that fastavro writes without further libraries."""


def _plain(data: bytes, codec: str, path: str) -> bytes:
    if codec not in _DECOMPRESS:
        raise UnsupportedError(f'the codec "{codec}" of the Avro file "{path}"')
    try:
        return _DECOMPRESS[codec](data)
    except (EOFError, OSError, ValueError, zlib.error, IndexError, pa.ArrowException) as error:
        raise SourceError(f'"{path}" is damaged: its {codec} data cannot be read ({error})') from None


def _table_codec(name: str) -> str:
    """Codec that a table names itself."""
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
