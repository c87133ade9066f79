"""Text files that are read from their start: converted to UTF-8, and their first bytes."""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Iterator
from zipfile import BadZipFile

from sharkpy.base.cancellation import check_cancelled
from sharkpy.sources.failures import format_error, io_error
from sharkpy.sources.hadoop_codecs import codec_of_path
from sharkpy.sources.layout import DataFile
from sharkpy.sources.line_chunks import CHUNK_BYTES
from sharkpy.sources.local_copy import check_unchanged, opened, opened_codec
from sharkpy.sources.split import Split

HEAD_BYTES = 1 << 16
_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32LE"),
    (codecs.BOM_UTF32_BE, "UTF-32BE"),
    (codecs.BOM_UTF16_LE, "UTF-16LE"),
    (codecs.BOM_UTF16_BE, "UTF-16BE"),
)


def utf8_chunks(split: Split, encoding: str | None) -> Iterator[bytes]:
    """A whole file in UTF-8, in pieces, without its byte-order mark. `encoding`: Python's name, None for UTF-8."""
    check_unchanged(split)
    decoder = codecs.getincrementaldecoder(encoding or "utf-8")("replace")
    is_first = True
    for data in _pieces(split, CHUNK_BYTES):
        text = decoder.decode(data)
        yield (text.removeprefix("\ufeff") if is_first else text).encode()
        is_first = is_first and not text
    yield decoder.decode(b"", final=True).encode()


def head_of(file: DataFile, size: int = HEAD_BYTES) -> tuple[bytes, bool]:
    """First bytes of a file, decompressed, and whether these are the whole content."""
    content = bytearray()
    for data in _pieces(file, size):
        content += data
        if len(content) > size:
            return bytes(content[:size]), False
    return bytes(content), True


def encoding_of_mark(head: bytes) -> str | None:
    """Encoding of the byte-order mark at the start of a file, if it is not UTF-8."""
    return next((name for mark, name in _MARKS if head.startswith(mark)), None)


def _pieces(file: DataFile | Split, size: int) -> Iterator[bytes]:
    codec = codec_of_path(file.path)
    try:
        with opened(file) if codec is None else opened_codec(file, codec) as stream:
            while data := stream.read(size):
                check_cancelled()
                yield data
    except (EOFError, zlib.error, BadZipFile) as error:
        raise format_error(file.path, "compressed", error) from None
    except OSError as error:
        if codec is not None and error.errno is None:
            raise format_error(file.path, codec.name, error) from None
        raise io_error(error, file.path) from None
