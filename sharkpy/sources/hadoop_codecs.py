"""Hadoop's compression codecs: of whole files by their suffix, and of blocks inside files by the codec's class."""

from __future__ import annotations

import bz2
import gzip
import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, cast

import pyarrow as pa

from sharkpy.base.errors import UnsupportedError
from sharkpy.base.records import dataclass

_PACKAGE = "org.apache.hadoop.io.compress"
OUTPUT_CODEC = "mapreduce.output.fileoutputformat.compress.codec"
OUTPUT_TYPE = "mapreduce.output.fileoutputformat.compress.type"
"""Properties of written files: the class of their codec, and RECORD or BLOCK for sequence files."""
_PIECE_BYTES = 4 << 20
_MOST_SIZE_BYTES = 5
"""Most bytes of a 32-bit size in snappy's encoding."""
_MOST_RATIO = 256
"""Most bytes that one byte of snappy or LZ4 can expand to: a block that claims more is damaged."""
_BLOCK_BYTES = 256 << 10
"""Uncompressed bytes of a block, for codecs that compress in blocks: Hadoop's own buffer size."""


@dataclass(frozen=True, slots=True)
class HadoopCodec:
    """`decompress` takes the output of `compress`. `stream` reads a file of any size, from a path or an open file,
    which it closes.
    """

    name: str
    classes: tuple[str, ...]
    suffix: str
    compress: Callable[[bytes], bytes]
    decompress: Callable[[bytes], bytes]
    stream: Callable[[str | BinaryIO], BinaryIO]


def codec_of_path(path: str) -> HadoopCodec | None:
    """Codec of a file by its suffix; None if it is not compressed."""
    head, _, suffix = path.rpartition("/")[2].rpartition(".")
    return _BY_SUFFIX.get(f".{suffix.lower()}") if head else None


def codec_of_class(name: str) -> HadoopCodec:
    """Codec with this class, or this name."""
    found = _BY_CLASS.get(name) or _BY_CLASS.get(f"{_PACKAGE}.{name}") or _BY_NAME.get(name.lower())
    if found is None:
        raise UnsupportedError(f'the compression codec "{name}" is not supported', hint=f"known: {', '.join(_BY_NAME)}")
    return found


def _zstd(data: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(data, asbytes=True))


def _unzstd(data: bytes) -> bytes:
    with pa.input_stream(pa.py_buffer(data), compression="zstd") as stream:
        return bytes(stream.read())


def _arrow_stream(name: Any) -> Callable[[str | BinaryIO], BinaryIO]:
    def opened(file: str | BinaryIO) -> BinaryIO:
        stream: Any = pa.input_stream(cast(Any, file), compression=name)
        return stream  # type: ignore[no-any-return]

    return opened


class _Chunked:
    """Readable file over chunks of bytes, which are made one by one from another file."""

    def __init__(self, file: str | BinaryIO, chunks: Callable[[BinaryIO], Iterator[bytes]]) -> None:
        # Closed by close.
        self._file: BinaryIO = open(file, "rb") if isinstance(file, str) else io.BufferedReader(cast(Any, file))  # noqa: SIM115
        self._chunks = chunks(self._file)
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        parts, have = [self._rest], len(self._rest)
        while size < 0 or have < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            parts.append(chunk)
            have += len(chunk)
        data = b"".join(parts)
        end = len(data) if size < 0 else size
        self._rest = data[end:]
        return data[:end]

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> _Chunked:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _zlib_chunks(file: BinaryIO) -> Iterator[bytes]:
    """Chunks of bounded size, even if a part of the file expands to much more."""
    inflater = zlib.decompressobj()
    while data := file.read(1 << 20):
        while data:
            if inflater.eof:
                inflater = zlib.decompressobj()
            yield inflater.decompress(data, _PIECE_BYTES)
            data = inflater.unused_data or inflater.unconsumed_tail
    if not inflater.eof:
        raise EOFError("the compressed file ended before its end was marked")


def _zlib_stream(file: str | BinaryIO) -> BinaryIO:
    stream: Any = _Chunked(file, _zlib_chunks)
    return stream  # type: ignore[no-any-return]


def _framed_compress(name: Any) -> Callable[[bytes], bytes]:
    """Hadoop's blocks: uncompressed length, then chunks, each after its compressed length (big endian)."""

    def compress(data: bytes) -> bytes:
        codec, parts = pa.Codec(name), []
        for start in range(0, len(data), _BLOCK_BYTES):
            block = data[start : start + _BLOCK_BYTES]
            packed = codec.compress(block, asbytes=True)
            parts += [struct.pack(">II", len(block), len(packed)), packed]
        return b"".join(map(bytes, parts))

    return compress


def _framed_chunks(read: Callable[[int], bytes], name: Any) -> Iterator[bytes]:
    codec: Any = pa.Codec(name)
    size_of = _CHUNK_SIZES[name]
    while header := read(4):
        remaining = _length(header)
        while remaining > 0:
            packed_bytes = _length(read(4))
            packed = _read_all(read, packed_bytes)
            size = size_of(packed)
            if size > _MOST_RATIO * packed_bytes:
                raise EOFError("a compressed block claims more than it can hold")
            yield bytes(codec.decompress(packed, size, asbytes=True))
            remaining -= size


def _read_all(read: Callable[[int], bytes], size: int) -> bytes:
    """Read exactly `size` bytes, piece by piece, so that a wrong size takes no memory."""
    parts, left = [], size
    while left and (part := read(min(left, _PIECE_BYTES))):
        parts.append(part)
        left -= len(part)
    if left:
        raise EOFError("a compressed block is cut off")
    return b"".join(parts)


def _length(data: bytes) -> int:
    if len(data) < 4:
        raise EOFError("a compressed block is cut off")
    return int.from_bytes(data, "big")


def snappy_size(packed: bytes) -> int:
    """Uncompressed length at the start of snappy data, seven bits a byte."""
    size = shift = 0
    for byte in packed[:_MOST_SIZE_BYTES]:
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            return size
        shift += 7
    raise EOFError("a compressed block is cut off")


def lz4_size(packed: bytes) -> int:
    """Uncompressed length of an LZ4 block, which does not record it: the sum of its literals and matches."""
    try:
        return _lz4_size(packed)
    except IndexError:
        raise EOFError("a compressed block is cut off") from None


def _lz4_size(packed: bytes) -> int:
    place = size = 0
    while place < len(packed):
        token = packed[place]
        literals, place = _lz4_count(packed, place + 1, token >> 4)
        place += literals
        size += literals
        if place >= len(packed):
            break
        matched, place = _lz4_count(packed, place + 2, token & 15)
        size += matched + 4
    return size


def _lz4_count(packed: bytes, place: int, count: int) -> tuple[int, int]:
    if count < 15:
        return count, place
    while packed[place] == 255:
        count, place = count + 255, place + 1
    return count + packed[place], place + 1


_CHUNK_SIZES: dict[str, Callable[[bytes], int]] = {"snappy": snappy_size, "lz4_raw": lz4_size}


def _framed_decompress(name: str) -> Callable[[bytes], bytes]:
    return lambda data: b"".join(_framed_chunks(pa.BufferReader(data).read, name))


def _framed_stream(name: str) -> Callable[[str | BinaryIO], BinaryIO]:
    def opened(file: str | BinaryIO) -> BinaryIO:
        stream: Any = _Chunked(file, lambda opened_file: _framed_chunks(opened_file.read, name))
        return stream  # type: ignore[no-any-return]

    return opened


def _no_zip(_: bytes) -> bytes:
    raise UnsupportedError("an archive as a codec: it can only be read", hint="gzip is a codec of whole files")


def _member(source: str | BinaryIO) -> BinaryIO:
    """The single file in an archive; OSError if it has several files, or is not readable."""
    try:
        archive = zipfile.ZipFile(source)
        members = [one for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")]
        if len(members) != 1:
            raise OSError(f"the archive has {len(members):,} files, one is read")
        return cast(BinaryIO, archive.open(members[0]))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError) as error:
        raise OSError(f"no archive that is read: {error}") from None


_ZIP = HadoopCodec("zip", (), ".zip", _no_zip, _no_zip, _member)
"""Archives of one file, made by other programs."""
CODECS = (
    HadoopCodec(
        "deflate",
        (f"{_PACKAGE}.DefaultCodec", f"{_PACKAGE}.DeflateCodec"),
        ".deflate",
        zlib.compress,
        zlib.decompress,
        _zlib_stream,
    ),
    HadoopCodec("gzip", (f"{_PACKAGE}.GzipCodec",), ".gz", gzip.compress, gzip.decompress, _arrow_stream("gzip")),
    HadoopCodec("bzip2", (f"{_PACKAGE}.BZip2Codec",), ".bz2", bz2.compress, bz2.decompress, _arrow_stream("bz2")),
    HadoopCodec("zstd", (f"{_PACKAGE}.ZStandardCodec",), ".zst", _zstd, _unzstd, _arrow_stream("zstd")),
    HadoopCodec(
        "snappy",
        (f"{_PACKAGE}.SnappyCodec",),
        ".snappy",
        _framed_compress("snappy"),
        _framed_decompress("snappy"),
        _framed_stream("snappy"),
    ),
    HadoopCodec(
        "lz4",
        (f"{_PACKAGE}.Lz4Codec",),
        ".lz4",
        _framed_compress("lz4_raw"),
        _framed_decompress("lz4_raw"),
        _framed_stream("lz4_raw"),
    ),
)
_BY_SUFFIX = {codec.suffix: codec for codec in CODECS} | {".zip": _ZIP}
_BY_CLASS = {name: codec for codec in CODECS for name in codec.classes}
_BY_NAME = {codec.name: codec for codec in CODECS}
