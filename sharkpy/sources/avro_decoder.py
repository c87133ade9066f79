"""Records of Avro as columns. They are decoded in a separate process, since fastavro trusts the counts in them."""

from __future__ import annotations

import bz2
import io
import json
import lzma
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any, cast

import pyarrow as pa

from sharkpy.base import subprocess_call
from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.base.subprocess_call import BrokenCallError
from sharkpy.catalog.avro_schema import AvroType, field_types, json_of, without_logical_types
from sharkpy.sources.arrow import Array, column_type
from sharkpy.sources.column_conversion import convert
from sharkpy.sources.hadoop_codecs import snappy_size
from sharkpy.values.types import (
    DataType,
    DecimalType,
    Schema,
    arrow_schema,
)

_UNREADABLE = (EOFError, IndexError, ValueError, KeyError, OverflowError, TypeError, pa.ArrowException)
_PLAIN_BYTES = struct.Struct("<Q")
_MOST_PLAIN_BYTES = 256 << 20
"""Most decompressed bytes of a block."""
_DECIMAL_BYTES = 17
"""Most bytes of a decimal of 38 digits, with one for the sign."""
_FIRST_MICROS, _LAST_MICROS = -62_135_596_800_000_000, 253_402_300_799_999_999
"""Years 1 to 9999."""
_EXACT = Context(prec=60)
Block = tuple[int, bytes]
"""Number of records, and their stored bytes."""


@dataclass(frozen=True, slots=True)
class AvroRecords:
    """Reader of the wanted columns of records. Both schemas are JSON texts.

    `record` is the schema of the records. They are resolved to the schema `given`, if there is one. `place` names them
    in errors.
    """

    record: str
    given: str | None
    wanted: Schema
    place: str

    def of_blocks(self, blocks: Sequence[Block], codec: str) -> tuple[pa.RecordBatch, int]:
        """Columns of all records of some blocks of a file, and the bytes of the records.

        SourceError for damaged records, and for records that take too long or too much memory to read.
        """
        batch, size = self._call("decode_blocks", blocks, codec)
        return batch_of(batch), int(_PLAIN_BYTES.unpack(size)[0])

    def of_values(self, values: Array, skipped: int) -> tuple[pa.RecordBatch, Sequence[int]]:
        """Columns of values, and the numbers of unreadable values.

        Each value is a record after `skipped` bytes, the first of which is zero. Unreadable values and NULLs become
        rows of NULLs.
        """
        batch, places = self._call("decode_values", values, skipped)
        return batch_of(batch), json.loads(places)

    def _call(self, name: str, *arguments: object) -> list[bytes]:
        try:
            return subprocess_call.call(f"{__name__}:{name}", self, *arguments)
        except BrokenCallError as error:
            raise SourceError(f"{self.place} cannot be read as Avro: {error}") from None


def decode_blocks(records: AvroRecords, blocks: Sequence[Block], codec: str) -> list[bytes]:
    """`AvroRecords.of_blocks`, in this process."""
    decoder = _decoder(records)
    read, num_bytes = [], 0
    for count, content in blocks:
        plain = _plain(content, codec, records.place)
        num_bytes += len(plain)
        read += decoder.records(count, io.BytesIO(plain))
    return [message_of(decoder.batch(read)), _PLAIN_BYTES.pack(num_bytes)]


def decode_values(records: AvroRecords, values: Array, skipped: int) -> list[bytes]:
    """`AvroRecords.of_values`, in this process."""
    decoder = _decoder(records)
    found = [decoder.of_value(value, skipped) for value in values.to_pylist()]
    unreadable = [place for place, one in enumerate(found) if one is None and values[place].is_valid]
    return [message_of(decoder.batch(found)), json.dumps(unreadable).encode()]


def message_of(batch: pa.RecordBatch) -> bytes:
    """Encode a batch as bytes for another process."""
    target = pa.BufferOutputStream()
    with pa.ipc.new_stream(target, batch.schema) as writer:
        writer.write_batch(batch)
    return target.getvalue().to_pybytes()


def batch_of(message: bytes) -> pa.RecordBatch:
    """Decode a batch from another process."""
    with pa.ipc.open_stream(pa.py_buffer(message)) as reader:
        return reader.read_next_batch()


@lru_cache(maxsize=16)
def _decoder(records: AvroRecords) -> _Decoder:
    return _Decoder(records)


class _Decoder:
    def __init__(self, records: AvroRecords) -> None:
        import fastavro

        record = json_of(records.record)
        given = None if records.given is None else json_of(records.given)
        self._place = records.place
        self._wanted = records.wanted
        # Logical types are converted by `_value_reader`, in whole columns.
        self._schema = fastavro.parse_schema(without_logical_types(record))
        self._target = None if given is None else fastavro.parse_schema(without_logical_types(given))
        types = field_types(given or record)
        self._columns = {name.lower(): (name, one.dtype, _value_reader(one)) for name, one in types.items()}

    def records(self, count: int, stream: io.BytesIO) -> list[dict[str, Any]]:
        """All records of a block; SourceError if they cannot be read."""
        try:
            return [self._read(stream) for _ in range(count)]
        except _UNREADABLE as error:
            raise SourceError(f"{self._place} cannot be read as Avro: {error}") from None

    def of_value(self, value: bytes | None, skipped: int) -> dict[str, Any] | None:
        """The record of a value; None if it is NULL or cannot be read."""
        if value is None or (skipped and value[:1] != b"\0"):
            return None
        stream = io.BytesIO(value[skipped:])
        try:
            record = self._read(stream)
        except _UNREADABLE:
            return None
        return record if stream.tell() == len(value) - skipped else None

    def _read(self, stream: io.BytesIO) -> dict[str, Any]:
        import fastavro

        try:
            found = fastavro.schemaless_reader(stream, self._schema, self._target, handle_unicode_errors="replace")
            return cast(dict[str, Any], found)
        except fastavro.read.SchemaResolutionError as error:
            raise ValueError(str(error)) from None

    def batch(self, records: Sequence[dict[str, Any] | None]) -> pa.RecordBatch:
        """Columns of some records; a None becomes a row of NULLs."""
        columns = [self._column(records, field.name, field.dtype) for field in self._wanted]
        return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(self._wanted))

    def _column(self, records: Sequence[dict[str, Any] | None], name: str, dtype: DataType) -> Any:
        if name not in self._columns:
            return pa.nulls(len(records), column_type(dtype))
        stored, found, read = self._columns[name]
        values: Iterable[Any] = (None if record is None else record[stored] for record in records)
        try:
            if read is not None:
                values = (None if value is None else read(value) for value in values)
            column: Any = pa.array(list(values), column_type(found))
            return convert(column, found, dtype)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            raise SourceError(f'column "{name}" of {self._place} is {found} and cannot be read as {dtype}') from None
        except _UNREADABLE as error:
            raise SourceError(f"{self._place} cannot be read as Avro: {error}") from None


ValueReader = Callable[[Any], Any]
"""Converts a value from fastavro, which is not NULL, to Arrow's form."""


def _value_reader(found: AvroType) -> ValueReader | None:
    """Reader of values of a type; None if they need no conversion."""
    match found:
        case AvroType(kind="array", parts=(item,)):
            return _items_reader(_value_reader(item))
        case AvroType(kind="map", parts=(value,)):
            return _entries_reader(_value_reader(value))
        case AvroType(kind="record"):
            return _struct_reader(found)
        case AvroType(dtype=DecimalType(scale=scale)):
            return _decimal_reader(scale)
        case AvroType(kind="bytes" | "fixed"):
            return _bytes
    return _TIMES.get((found.kind, found.logical))


def _bytes(value: bytes | str) -> bytes:
    """Bytes of a value; defaults of the schema are texts."""
    return value.encode("latin-1") if isinstance(value, str) else value


def _items_reader(read: ValueReader | None) -> ValueReader | None:
    if read is None:
        return None
    return lambda value: [None if item is None else read(item) for item in value]


def _entries_reader(read: ValueReader | None) -> ValueReader:
    if read is None:
        return lambda value: list(value.items())
    return lambda value: [(key, None if item is None else read(item)) for key, item in value.items()]


def _struct_reader(found: AvroType) -> ValueReader:
    """Reader of records as structs, with their field names in lower case."""
    pairs = [(stored, stored.lower(), _value_reader(one)) for stored, one in zip(found.names, found.parts, strict=True)]

    def read_struct(value: dict[str, Any]) -> dict[str, Any]:
        return {
            name: value[stored] if read is None or value[stored] is None else read(value[stored])
            for stored, name, read in pairs
        }

    return read_struct


def _decimal_reader(scale: int) -> ValueReader:
    def read_decimal(value: bytes | str) -> Decimal:
        value = _bytes(value)
        if len(value.lstrip(b"\0\xff")) > _DECIMAL_BYTES:
            raise ValueError(f"a decimal of {len(value)} bytes")
        return Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-scale, _EXACT)

    return read_decimal


def _micros(value: int) -> int:
    if not _FIRST_MICROS <= value <= _LAST_MICROS:
        raise OverflowError("a time beyond the years 1 to 9999")
    return value


def _days(value: int) -> int:
    _micros(value * 86_400_000_000)
    return value


_TIMES: dict[tuple[str, str], ValueReader] = {
    ("int", "date"): _days,
    ("long", "timestamp-millis"): lambda value: _micros(value * 1_000),
    ("long", "timestamp-micros"): _micros,
    ("long", "local-timestamp-millis"): lambda value: _micros(value * 1_000),
    ("long", "local-timestamp-micros"): _micros,
}


def _plain(data: bytes, codec: str, place: str) -> bytes:
    if codec not in _DECOMPRESS:
        raise UnsupportedError(f'the codec "{codec}" of the Avro file {place}')
    try:
        found = _DECOMPRESS[codec](data)
    except (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError, IndexError, pa.ArrowException) as error:
        raise SourceError(f"{place} is damaged: its {codec} data cannot be read ({error})") from None
    if len(found) > _MOST_PLAIN_BYTES:
        raise SourceError(f"{place} has a block of more than {_MOST_PLAIN_BYTES >> 20:,} MB", sqlstate="54000")
    return found


def _inflated(data: bytes) -> bytes:
    unpacker = zlib.decompressobj(-15)
    found = unpacker.decompress(data, _MOST_PLAIN_BYTES + 1)
    if not unpacker.eof and len(found) <= _MOST_PLAIN_BYTES:
        raise EOFError("it ends too early")
    return found


def _unzipped(unpacker: bz2.BZ2Decompressor | lzma.LZMADecompressor, data: bytes) -> bytes:
    found = unpacker.decompress(data, _MOST_PLAIN_BYTES + 1)
    if not unpacker.eof and len(found) <= _MOST_PLAIN_BYTES:
        raise EOFError("it ends too early")
    return found


def _unsnappy(data: bytes) -> bytes:
    packed = data[:-4]
    size = snappy_size(packed)
    if size > _MOST_PLAIN_BYTES:
        raise ValueError(f"it claims {size:,} bytes")
    plain = bytes(pa.Codec("snappy").decompress(packed, size, asbytes=True))
    if zlib.crc32(plain) != int.from_bytes(data[-4:], "big"):
        raise ValueError("its checksum does not match")
    return plain


def _unzstd(data: bytes) -> bytes:
    with pa.input_stream(pa.py_buffer(data), compression="zstd") as stream:
        return bytes(stream.read(_MOST_PLAIN_BYTES + 1))


_DECOMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "null": lambda data: data,
    "deflate": _inflated,
    "snappy": _unsnappy,
    "bzip2": lambda data: _unzipped(bz2.BZ2Decompressor(), data),
    "zstandard": _unzstd,
    "xz": lambda data: _unzipped(lzma.LZMADecompressor(), data),
}
