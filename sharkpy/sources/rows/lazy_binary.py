"""LazyBinarySerDe: rows of a sequence file in Hive's binary encoding.

Rows and structs are groups of eight fields, each group after a byte of null bits.
"""

from __future__ import annotations

import datetime
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from sharkpy.base.errors import UnsupportedError
from sharkpy.sources.arrow import Array, column_type
from sharkpy.sources.binary_values import BytesLike, read_vlong, write_vlong
from sharkpy.sources.column_conversion import row_count_batch
from sharkpy.sources.line_chunks import LineLayout
from sharkpy.sources.rows.row_format import Properties
from sharkpy.sources.source import ReadMetrics
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    TIMESTAMP,
    TINYINT,
    ArrayType,
    CharType,
    DataType,
    DecimalType,
    MapType,
    Schema,
    StructType,
    VarcharType,
    arrow_schema,
    is_string,
)


class LazyBinaryRows:
    def check(self, schema: Schema, properties: Properties) -> None:
        """Accept any columns; there are no properties."""

    def lines(self, properties: Properties) -> LineLayout:  # noqa: ARG002 - the protocol's signature
        raise UnsupportedError("the LazyBinarySerDe in text files, whose line ends may be part of its values")

    def reader(
        self,
        schema: Schema,
        names: Sequence[str],
        properties: Properties,  # noqa: ARG002 - the protocol's signature
        metrics: ReadMetrics,
    ) -> LazyBinaryReader:
        return LazyBinaryReader(schema, names, metrics)

    def encode(self, batch: pa.RecordBatch, schema: Schema, properties: Properties) -> Array:  # noqa: ARG002
        types = [field.dtype for field in schema]
        columns = [column.to_pylist() for column in batch.columns]
        return pa.array([encode_fields(row, types) for row in zip(*columns, strict=True)], pa.binary())


class LazyBinaryReader:
    def __init__(self, schema: Schema, names: Sequence[str], metrics: ReadMetrics) -> None:
        self._places = [schema.names.index(name) for name in names]
        self._wanted = schema.select(names)
        self._types = [field.dtype for field in schema.fields[: max(self._places, default=-1) + 1]]
        self._metrics = metrics

    def read_lines(self, data: bytes) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - the protocol's signature
        raise UnsupportedError("the LazyBinarySerDe in text files")

    def read_rows(self, rows: Array) -> Iterator[pa.RecordBatch]:
        if not self._places:
            self._metrics.rows += len(rows)
            yield row_count_batch(len(rows))
            return
        decoded = [self._fields(number, row) for number, row in enumerate(rows.to_pylist())]
        self._metrics.rows += len(rows)
        columns = [
            pa.array([row[place] for row in decoded], column_type(field.dtype))
            for place, field in zip(self._places, self._wanted, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=arrow_schema(self._wanted))

    def _fields(self, number: int, row: bytes) -> list[object]:
        try:
            return decode_fields(row, 0, len(row), self._types)
        except (IndexError, ValueError, OverflowError):
            self._metrics.malformed_lines += 1
            self._metrics.mark([number], is_whole=True)
            return [None] * len(self._types)


_EPOCH_DAY = datetime.date(1970, 1, 1)
_EPOCH = datetime.datetime(1970, 1, 1)
_LAST_SECOND = (1 << 31) - 1
_HALF, _INT_BITS = 1 << 31, (1 << 32) - 1

Decoder = Callable[[BytesLike, int], tuple[Any, int]]
Encoder = Callable[[Any], bytes]


def decode_fields(data: BytesLike, start: int, end: int, types: Sequence[DataType]) -> list[Any]:
    """Fields of a row or struct; fields after its end are NULL."""
    values: list[Any] = []
    place, bits = start, 0
    for index, dtype in enumerate(types):
        if index % 8 == 0:
            bits = data[place] if place < end else 0
            place += 1
        if bits >> (index % 8) & 1 and place < end:
            value, place = decode(data, place, dtype)
            values.append(value)
        else:
            values.append(None)
    return values


def encode_fields(values: Sequence[Any], types: Sequence[DataType]) -> bytes:
    parts = []
    for first in range(0, len(values), 8):
        group = values[first : first + 8]
        parts.append(bytes([sum((value is not None) << bit for bit, value in enumerate(group))]))
        parts += [encode(value, types[first + i]) for i, value in enumerate(group) if value is not None]
    return b"".join(parts)


def decode(data: BytesLike, place: int, dtype: DataType) -> tuple[Any, int]:
    """Decode a value that is not NULL; return it and its end."""
    if dtype in _DECODERS:
        return _DECODERS[dtype](data, place)
    if is_string(dtype) or dtype == BINARY:
        size, first = read_vlong(data, place)
        end = first + size
    elif isinstance(dtype, DecimalType):
        return _read_decimal(data, place, dtype)
    else:
        first = place + 4
        end = first + int.from_bytes(data[place:first], "big")
    if not first <= end <= len(data):
        raise IndexError(place)
    return decode_content(data, first, end, dtype), end


def decode_content(data: BytesLike, first: int, end: int, dtype: DataType) -> Any:
    """Decode a value whose length is not written before it."""
    match dtype:
        case ArrayType(element):
            return _read_items(data, first, end, (element,))
        case MapType(key, value):
            entries = _read_items(data, first, end, (key, value))
            pairs = zip(entries[::2], entries[1::2], strict=True)
            return list({name: (name, item) for name, item in reversed(list(pairs)) if name is not None}.values())[::-1]
        case StructType(names, types):
            return dict(zip(names, decode_fields(data, first, end, types), strict=True))
    if is_string(dtype):
        return _fitted(bytes(data[first:end]).decode("utf-8", "replace"), dtype)
    if dtype == BINARY:
        return bytes(data[first:end])
    return decode(data, first, dtype)[0]


def _fitted(text: str, dtype: DataType) -> str:
    """`fitted_texts` for one text."""
    if isinstance(dtype, CharType):
        return text[: dtype.length].rstrip(" ")
    return text[: dtype.length] if isinstance(dtype, VarcharType) else text


def encode(value: Any, dtype: DataType) -> bytes:
    """Encode a value that is not NULL."""
    content = encode_content(value, dtype)
    if is_string(dtype) or dtype == BINARY:
        return write_vlong(len(content)) + content
    if isinstance(dtype, (ArrayType, MapType, StructType)):
        return struct.pack(">i", len(content)) + content
    return content


def encode_content(value: Any, dtype: DataType) -> bytes:
    """Encode a value without its length."""
    match dtype:
        case ArrayType(element):
            return _written_items(value, len(value), (element,))
        case MapType(key, item_type):
            pairs = list(value.items()) if isinstance(value, Mapping) else value
            return _written_items([part for pair in pairs for part in pair], len(pairs), (key, item_type))
        case StructType(names, types):
            return encode_fields([value[name] for name in names], types)
        case DecimalType():
            return _written_decimal(value)
    if is_string(dtype):
        return str(value).encode()
    return bytes(value) if dtype == BINARY else _ENCODERS[dtype](value)


def _read_items(data: BytesLike, place: int, end: int, types: tuple[DataType, ...]) -> list[Any]:
    """Elements of an array, or alternating keys and values of a map: their number, null bits for all, then the values.

    IndexError if they do not fit before `end`.
    """
    count, place = read_vlong(data, place)
    count *= len(types)
    nulls, place = place, place + (count + 7) // 8
    if count < 0 or place > end:
        raise IndexError(place)
    items: list[Any] = []
    for index in range(count):
        if data[nulls + index // 8] >> (index % 8) & 1:
            item, place = decode(data, place, types[index % len(types)])
            if place > end:
                raise IndexError(place)
            items.append(item)
        else:
            items.append(None)
    return items


def _written_items(items: Sequence[Any], count: int, types: tuple[DataType, ...]) -> bytes:
    nulls = bytearray((len(items) + 7) // 8)
    for index, item in enumerate(items):
        nulls[index // 8] |= (item is not None) << (index % 8)
    parts = [encode(item, types[index % len(types)]) for index, item in enumerate(items) if item is not None]
    return b"".join([write_vlong(count), bytes(nulls), *parts])


def _fixed(form: str) -> Decoder:
    reader = struct.Struct(form)

    def read(data: BytesLike, place: int) -> tuple[Any, int]:
        if place + reader.size > len(data):
            raise IndexError(place)
        return reader.unpack_from(data, place)[0], place + reader.size

    return read


def _read_int(data: BytesLike, place: int) -> tuple[int, int]:
    number, end = read_vlong(data, place)
    return ((number + _HALF) & _INT_BITS) - _HALF, end


def _read_date(data: BytesLike, place: int) -> tuple[datetime.date, int]:
    days, end = read_vlong(data, place)
    return _EPOCH_DAY + datetime.timedelta(days=days), end


def _read_timestamp(data: BytesLike, place: int) -> tuple[datetime.datetime, int]:
    """Seconds in 31 bits. If the first bit is set, nanoseconds with their digits reversed, or more bits of seconds,
    follow.
    """
    word, end = int.from_bytes(data[place : place + 4], "big"), place + 4
    seconds, nanos = word & _LAST_SECOND, 0
    if word > _LAST_SECOND:
        number, end = read_vlong(data, end)
        if number < 0:
            number = -number - 1
            high, end = read_vlong(data, end)
            seconds |= high << 31
        nanos = int(str(number)[::-1].ljust(9, "0"))
    return _EPOCH + datetime.timedelta(seconds=seconds, microseconds=nanos // 1000), end


def _written_timestamp(value: datetime.datetime) -> bytes:
    elapsed = value - _EPOCH
    seconds, nanos = elapsed.days * 86400 + elapsed.seconds, elapsed.microseconds * 1000
    is_wide = not 0 <= seconds <= _LAST_SECOND
    number = int(f"{nanos:09d}"[::-1])
    word = seconds & _LAST_SECOND
    if not is_wide and not number:
        return struct.pack(">I", word)
    packed = struct.pack(">I", word | 1 << 31) + write_vlong(-number - 1 if is_wide else number)
    return packed + write_vlong(seconds >> 31) if is_wide else packed


def _read_decimal(data: BytesLike, place: int, dtype: DecimalType) -> tuple[Decimal | None, int]:
    from sharkpy.sources.lenient_conversion import decimal_of

    scale, place = read_vlong(data, place)
    size, first = read_vlong(data, place)
    if not 0 <= size <= len(data) - first:
        raise IndexError(place)
    number = int.from_bytes(data[first : first + size], "big", signed=True)
    return decimal_of(f"{number}E{-scale}", dtype), first + size


def _written_decimal(value: Decimal) -> bytes:
    """Scale and unscaled number, without trailing zeros, like Hive's decimals."""
    sign, digits, exponent = value.as_tuple()
    number, scale = int("".join(map(str, digits))), -int(exponent)
    while scale > 0 and number % 10 == 0:
        number, scale = number // 10, scale - 1
    number = -number if sign else number
    content = number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)
    return write_vlong(scale) + write_vlong(len(content)) + content


_DECODERS: dict[DataType, Decoder] = {
    BOOLEAN: lambda data, place: (data[place] != 0, place + 1),
    TINYINT: _fixed(">b"),
    SMALLINT: _fixed(">h"),
    INT: _read_int,
    BIGINT: read_vlong,
    FLOAT: _fixed(">f"),
    DOUBLE: _fixed(">d"),
    DATE: _read_date,
    TIMESTAMP: _read_timestamp,
}
_ENCODERS: dict[DataType, Encoder] = {
    BOOLEAN: lambda value: bytes([value]),
    TINYINT: struct.Struct(">b").pack,
    SMALLINT: struct.Struct(">h").pack,
    INT: write_vlong,
    BIGINT: write_vlong,
    FLOAT: struct.Struct(">f").pack,
    DOUBLE: struct.Struct(">d").pack,
    DATE: lambda value: write_vlong((value - _EPOCH_DAY).days),
    TIMESTAMP: _written_timestamp,
}
