"""Content of Iceberg's metadata files, decompressed, with limits on its size.

pyiceberg reads such files whole and decompresses them. Anyone who can write into a table's folder controls both sizes.
So pyiceberg only gets decompressed files, and no file that is too large.
"""

from __future__ import annotations

import bz2
import json
import zlib
from collections.abc import Callable

import pyarrow as pa

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import ResourceError, SourceError, UnsupportedError
from sharkpy.base.parse_limits import check_json_nesting
from sharkpy.sources.binary_values import read_varint

MOST_BYTES = 64 << 20
"""Most bytes of a stored metadata file."""
MOST_PLAIN_BYTES = 256 << 20
"""Most bytes of its decompressed content."""
_AVRO, _SYNC_BYTES, _CHECK_BYTES = b"Obj\x01", 16, 4
_PACKED_JSON = ".gz.metadata.json"
_PLAIN = "null"
_GZIP_WINDOW, _RAW_WINDOW = 31, -15
_CODEC, _SCHEMA = b"avro.codec", b"avro.schema"
_UNREADABLE = (EOFError, IndexError, OSError, OverflowError, ValueError, zlib.error, pa.ArrowException)


def check_size(size: int, place: str) -> None:
    """Raise ResourceError 54000 for a file that is too large to read."""
    _check(size, MOST_BYTES, MOST_BYTES, place)


def _check(size: int, left: int, most: int, place: str) -> None:
    if size > left:
        raise ResourceError(f'"{place}", metadata of Iceberg, has more than {most >> 20} MB', sqlstate="54000")


def plain_name(location: str) -> str:
    """Name of a metadata file without the suffix for compression."""
    return location.removesuffix(_PACKED_JSON) + _PACKED_JSON[3:] if location.endswith(_PACKED_JSON) else location


def plain_metadata(content: bytes, place: str) -> bytes:
    """Decompressed content of a metadata file.

    ResourceError 54000 if it is too large, SourceError if it is damaged.
    """
    check_size(len(content), place)
    try:
        if place.endswith(_PACKED_JSON):
            return _inflated(content, _GZIP_WINDOW, MOST_PLAIN_BYTES, place)
        return _plain_avro(content, place) if content.startswith(_AVRO) else content
    except _UNREADABLE as error:
        raise SourceError(f'"{place}", metadata of Iceberg, is damaged: {error}') from None


def _plain_avro(content: bytes, place: str) -> bytes:
    """The same Avro file with uncompressed blocks."""
    facts, start = _header(content)
    schema = facts.get(_SCHEMA, b"").decode()
    check_json_nesting(schema)
    json.loads(schema)
    codec = facts.get(_CODEC, b"").decode()
    if codec == _PLAIN:
        return content
    # pyiceberg takes a file without a codec for a compressed one.
    facts[_CODEC] = _PLAIN.encode()
    unpack = _UNPACKED.get(codec)
    if unpack is None:
        raise UnsupportedError(f'the codec "{codec}" of "{place}", metadata of Iceberg')
    sync, at = content[start : start + _SYNC_BYTES], start + _SYNC_BYTES
    made = bytearray(_AVRO + _number(len(facts)))
    for name, value in facts.items():
        made += _number(len(name)) + name + _number(len(value)) + value
    made += _number(0) + sync
    while at < len(content):
        check_cancelled()
        count, at = _long(content, at)
        block, at = _bytes(content, at)
        if content[at : at + _SYNC_BYTES] != sync:
            raise ValueError("a block does not end with a sync marker")
        plain = unpack(block, MOST_PLAIN_BYTES - len(made), place)
        made += _number(count) + _number(len(plain)) + plain + sync
        at += _SYNC_BYTES
    return bytes(made)


def _header(content: bytes) -> tuple[dict[bytes, bytes], int]:
    """Metadata in the header of an Avro file, and the start of its sync marker."""
    facts: dict[bytes, bytes] = {}
    at = len(_AVRO)
    while True:
        count, at = _long(content, at)
        if count == 0:
            return facts, at
        if count < 0:
            _, at = _long(content, at)
        for _ in range(abs(count)):
            name, at = _bytes(content, at)
            facts[name], at = _bytes(content, at)


def _long(data: bytes, at: int) -> tuple[int, int]:
    number, end = read_varint(data, at)
    return number >> 1 ^ -(number & 1), end


def _bytes(data: bytes, at: int) -> tuple[bytes, int]:
    size, first = _long(data, at)
    if size < 0 or first + size > len(data):
        raise EOFError("it ends too early")
    return data[first : first + size], first + size


def _number(value: int) -> bytes:
    """A non-negative number in Avro's encoding."""
    rest, made = value << 1, bytearray()
    while rest > 0x7F:
        made.append(rest & 0x7F | 0x80)
        rest >>= 7
    made.append(rest)
    return bytes(made)


def _inflated(data: bytes, window: int, most: int, place: str) -> bytes:
    unpacker = zlib.decompressobj(window)
    made = unpacker.decompress(data, most + 1)
    _check(len(made), most, MOST_PLAIN_BYTES, place)
    if not unpacker.eof:
        raise EOFError("it ends too early")
    return made


def _deflate(data: bytes, most: int, place: str) -> bytes:
    return _inflated(data, _RAW_WINDOW, most, place)


def _bzip2(data: bytes, most: int, place: str) -> bytes:
    made = bz2.BZ2Decompressor().decompress(data, most + 1)
    _check(len(made), most, MOST_PLAIN_BYTES, place)
    return made


def _zstandard(data: bytes, most: int, place: str) -> bytes:
    with pa.input_stream(pa.py_buffer(data), compression="zstd") as stream:
        made = bytes(stream.read(most + 1))
    _check(len(made), most, MOST_PLAIN_BYTES, place)
    return made


def _snappy(data: bytes, most: int, place: str) -> bytes:
    packed = data[:-_CHECK_BYTES]
    size, _ = read_varint(packed, 0)
    _check(size, most, MOST_PLAIN_BYTES, place)
    made = bytes(pa.Codec("snappy").decompress(packed, size, asbytes=True))
    if zlib.crc32(made) != int.from_bytes(data[-_CHECK_BYTES:], "big"):
        raise ValueError("its checksum does not match")
    return made


_UNPACKED: dict[str, Callable[[bytes, int, str], bytes]] = {
    "": lambda data, _most, _place: data,
    "deflate": _deflate,
    "bzip2": _bzip2,
    "zstandard": _zstandard,
    "snappy": _snappy,
}
