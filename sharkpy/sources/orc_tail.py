"""Tail of an ORC file: its postscript, its footer and the footers of its stripes, read and written.

They are Protocol Buffers messages, with the field numbers of orc_proto.proto in the ORC specification (v1).
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import BinaryIO

import pyarrow as pa

from sharkpy.base.records import dataclass
from sharkpy.sources.binary_values import read_varint
from sharkpy.sources.hadoop_codecs import lz4_size, snappy_size

Field = tuple[int, int | bytes]
Fields = tuple[Field, ...]
"""Fields of a message in their order: a number, and the value of a varint or the bytes of another type."""

TIMESTAMP, LIST, MAP, STRUCT, DATE, INSTANT, LONG, STRING = 9, 10, 11, 12, 15, 18, 4, 7
"""Kinds of types."""
_JULIAN, PROLEPTIC = 1, 2
"""Values of the footer's calendar."""
_JAVA = 0
_ZLIB = 1
_FOOTER_LENGTH, _CODEC, _BLOCK_BYTES, _METADATA_LENGTH, _WRITER_VERSION = 1, 2, 3, 5, 6
STRIPES, _TYPES, _WRITER, _ENCRYPTION, _CALENDAR = 3, 4, 9, 10, 11
NUM_ROWS = 5
"""Field of a stripe in the footer."""
_PRECISION = 5
"""Field of a type."""


@dataclass(frozen=True, slots=True)
class OrcType:
    """Type in the tree of types. Ids are positions in the footer's list; the root is a struct of the columns."""

    kind: int
    children: tuple[int, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OrcTail:
    """Footer and postscript. `footer_start`: offset of the footer, which the postscript follows, in the file."""

    footer: Fields
    postscript: Fields
    footer_start: int

    @property
    def types(self) -> tuple[OrcType, ...]:
        return tuple(_type_of(fields_of(body)) for body in messages(self.footer, _TYPES))

    @property
    def most_digits(self) -> int:
        """Highest precision of a decimal type; 0 if there is none with a precision."""
        return max((number_of(fields_of(body), _PRECISION) for body in messages(self.footer, _TYPES)), default=0)

    @property
    def is_encrypted(self) -> bool:
        return any(number == _ENCRYPTION for number, _ in self.footer)

    @property
    def is_hybrid(self) -> bool:
        """True if days before 1582-10-15 are Julian. Java's writer marks all other files since ORC 1.6."""
        calendar = number_of(self.footer, _CALENDAR)
        return calendar == _JULIAN or (calendar == 0 and number_of(self.footer, _WRITER) == _JAVA)

    @property
    def codec(self) -> int:
        return number_of(self.postscript, _CODEC)

    @property
    def block_bytes(self) -> int:
        return number_of(self.postscript, _BLOCK_BYTES) or 256 << 10

    def with_calendar(self, calendar: int) -> OrcTail:
        kept = tuple(field for field in self.footer if field[0] != _CALENDAR)
        return replace(self, footer=(*kept, (_CALENDAR, calendar)))

    def with_footer(self, footer: Fields) -> OrcTail:
        return replace(self, footer=footer)

    def encoded(self) -> bytes:
        """The last bytes of a file: uncompressed footer, postscript, and the postscript's length."""
        footer = self.stored(message_of(self.footer))
        kept = [(n, len(footer) if n == _FOOTER_LENGTH else value) for n, value in self.postscript]
        postscript = message_of(kept)
        return footer + postscript + bytes([len(postscript)])

    def stored(self, data: bytes) -> bytes:
        """Bytes of a stream in the file's chunks of compression, but not compressed."""
        if self.codec == 0:
            return data
        size = self.block_bytes
        chunks = (data[start : start + size] for start in range(0, len(data), size))
        return b"".join((len(chunk) << 1 | 1).to_bytes(3, "little") + chunk for chunk in chunks)

    def packed(self, data: bytes) -> bytes:
        """Bytes of a stream in the file's chunks of compression, compressed if the file's codec is zlib."""
        if self.codec != _ZLIB:
            return self.stored(data)
        chunks = (data[start : start + self.block_bytes] for start in range(0, len(data), self.block_bytes))
        return b"".join(self._packed_chunk(chunk) for chunk in chunks)

    def _packed_chunk(self, chunk: bytes) -> bytes:
        packer = zlib.compressobj(wbits=-15)
        packed = packer.compress(chunk) + packer.flush()
        return (len(packed) << 1).to_bytes(3, "little") + packed if len(packed) < len(chunk) else self.stored(chunk)

    def plain(self, data: bytes) -> bytes:
        """Decompressed bytes of a stream; ValueError for an unsupported codec."""
        return data if self.codec == 0 else b"".join(_plain_chunks(data, self.codec))


def tail_start(file: BinaryIO) -> int:
    """Offset of an open file's tail, which begins with the statistics of stripes. Only the last 256 bytes are read.

    ValueError or IndexError if there is no tail.
    """
    postscript, end = _postscript(file)
    return end - number_of(postscript, _FOOTER_LENGTH) - number_of(postscript, _METADATA_LENGTH)


def read_tail(file: BinaryIO) -> OrcTail:
    """Read the tail of an open file; ValueError or IndexError if there is none."""
    postscript, end = _postscript(file)
    size = number_of(postscript, _FOOTER_LENGTH)
    start = end - size
    file.seek(start)
    tail = OrcTail((), postscript, start)
    return replace(tail, footer=fields_of(tail.plain(file.read(size))))


def read_statistics(file: BinaryIO, tail: OrcTail) -> list[list[bytes]]:
    """Statistics of the columns of each stripe of an open file, by column id.

    Empty if the file has none, or was made by one of the first writers, whose statistics are wrong.
    """
    size = number_of(tail.postscript, _METADATA_LENGTH)
    if not size or not number_of(tail.postscript, _WRITER_VERSION):
        return []
    file.seek(tail.footer_start - size)
    stripes = messages(fields_of(tail.plain(file.read(size))), 1)
    return [messages(fields_of(stripe), 1) for stripe in stripes]


def _postscript(file: BinaryIO) -> tuple[Fields, int]:
    """Postscript, and its offset."""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(end - 256, 0))
    last = file.read()
    length = last[-1]
    return fields_of(last[-1 - length : -1]), end - 1 - length


def fields_of(message: bytes) -> Fields:
    return tuple(_fields(message))


def _fields(message: bytes) -> Iterator[Field]:
    place = 0
    while place < len(message):
        key, place = read_varint(message, place)
        value, place = read_varint(message, place)
        if key & 7 == 0:
            yield key >> 3, value
        elif key & 7 == 2 and place + value <= len(message):
            yield key >> 3, message[place : place + value]
            place += value
        else:
            raise ValueError("a message of the file's tail is damaged")


def message_of(fields: Sequence[Field]) -> bytes:
    parts = []
    for number, value in fields:
        if isinstance(value, int):
            parts += [_encoded(number << 3), _encoded(value)]
        else:
            parts += [_encoded(number << 3 | 2), _encoded(len(value)), value]
    return b"".join(parts)


def number_of(fields: Fields, number: int) -> int:
    """Value of a field; 0 if the message lacks it."""
    return next((value for found, value in fields if found == number and isinstance(value, int)), 0)


def messages(fields: Fields, number: int) -> list[bytes]:
    return [value for found, value in fields if found == number and isinstance(value, bytes)]


def numbers(fields: Fields, number: int) -> tuple[int, ...]:
    """Values of a repeated field, packed or not."""
    found: list[int] = []
    for key, value in fields:
        if key != number:
            continue
        if isinstance(value, int):
            found.append(value)
            continue
        place = 0
        while place < len(value):
            one, place = read_varint(value, place)
            found.append(one)
    return tuple(found)


def _type_of(fields: Fields) -> OrcType:
    names = tuple(name.decode("utf-8", "replace") for name in messages(fields, 3))
    return OrcType(number_of(fields, 1), numbers(fields, 2), names)


def _encoded(number: int) -> bytes:
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def _plain_chunks(data: bytes, codec: int) -> Iterator[bytes]:
    place = 0
    while place < len(data):
        header = int.from_bytes(data[place : place + 3], "little")
        chunk = data[place + 3 : place + 3 + (header >> 1)]
        place += 3 + len(chunk)
        if header & 1:
            yield chunk
        elif codec in _DECOMPRESS:
            yield _DECOMPRESS[codec](chunk)
        else:
            raise ValueError(f"the compression {codec} is not known")


def _unzstd(data: bytes) -> bytes:
    with pa.input_stream(pa.py_buffer(data), compression="zstd") as stream:
        return bytes(stream.read())


_DECOMPRESS: dict[int, Callable[[bytes], bytes]] = {
    _ZLIB: lambda data: zlib.decompress(data, -15),
    2: lambda data: bytes(pa.Codec("snappy").decompress(data, snappy_size(data), asbytes=True)),
    4: lambda data: bytes(pa.Codec("lz4_raw").decompress(data, lz4_size(data), asbytes=True)),
    5: _unzstd,
}
