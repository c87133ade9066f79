"""Layout of CSV files that nobody has described, found by DuckDB's sniffer in the first of them."""

from __future__ import annotations

import glob
import json
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

import duckdb

from sharkpy.base import apart, uri
from sharkpy.base.apart import BrokenCallError
from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.sources.failures import format_error, io_error
from sharkpy.sources.hadoop_codecs import codec_of_path
from sharkpy.sources.layout import DataFile
from sharkpy.sources.local_copy import opened, opened_codec
from sharkpy.sources.source import Properties

_SNIFF = "SELECT Delimiter, Quote, Escape, Comment, HasHeader, SkipRows FROM sniff_csv(?)"
_NONE = ("", "\0", "(empty)")
"""How DuckDB says that there is no such character."""
_CODECS = ("gzip", "zstd")
"""Codecs of whole files that DuckDB reads."""
_CHUNK_BYTES = 4 << 20
_HEAD_BYTES = 4 << 20
"""Bytes of a file that are looked at: DuckDB looks at some twenty thousand lines."""
_SNIFF_SECONDS, _SNIFF_MEMORY = 20.0, "1GB"


def sniffed_properties(files: Sequence[DataFile]) -> Properties:
    """Options of USING csv that suit some files, whose types are to be told by all values. SourceError where their
    content tells no layout.
    """
    first = next((file for file in files if file.size_bytes), None)
    if first is None:
        raise SourceError("the columns of CSV files are not known: they have no row", sqlstate="42000")
    separator, quote, escape, comment, has_header = _sniffed(first)
    quote = '"' if quote in _NONE else quote
    # A quote within quotes is written twice, unless the file has another way.
    escape = quote if escape in _NONE else escape
    options = {
        "sep": separator,
        "quote": quote,
        "escape": escape,
        "header": "true" if has_header else "false",
        "inferSchema": "true",
        # A line break may be inside of quotes; without any, places in the files begin rows.
        "multiLine": "true" if _have(quote.encode(), files) else "false",
    }
    if comment not in _NONE:
        options["comment"] = comment
    return tuple(options.items())


def _sniffed(file: DataFile) -> tuple[str, str, str, str, bool]:
    path, codec = file.path, codec_of_path(file.path)
    if codec is not None and codec.name not in _CODECS:
        hint = "make a table of it: CREATE TABLE t USING csv OPTIONS (header …) LOCATION '…'"
        message = f'the compression {codec.name} of the CSV file "{path}", whose layout nobody says'
        raise UnsupportedError(message, hint=hint)
    try:
        with _readable(file) as sniffed:
            (found,) = apart.call(f"{__name__}:sniff_apart", sniffed, cpu_seconds=_SNIFF_SECONDS)
            row = json.loads(found)
    except BrokenCallError as error:
        reason = str(error).partition("\n")[0]
        hint = "make a table of it: CREATE EXTERNAL TABLE t (…) USING csv OPTIONS (…)"
        raise SourceError(f'the layout of the CSV file "{path}" is not clear: {reason}', hint=hint) from None
    separator, quote, escape, comment, has_header, num_skipped = row or (",", "", "", "", True, 0)
    if num_skipped:
        raise UnsupportedError(f'lines above the header of the CSV file "{path}": {num_skipped} of them')
    return separator, quote, escape, comment, bool(has_header)


def sniff_apart(path: str) -> list[bytes]:
    """Layout of a file as JSON, for a process of its own: DuckDB hears no end meanwhile, and a line of a million fields
    takes all memory that it may have.
    """
    with duckdb.connect(config={"threads": 1, "memory_limit": _SNIFF_MEMORY}) as connection:
        return [json.dumps(connection.execute(_SNIFF, [glob.escape(path)]).fetchone()).encode()]


@contextmanager
def _readable(file: DataFile) -> Iterator[str]:
    """Path of a file, or of the first lines of a large or remote one."""
    codec = codec_of_path(file.path)
    if not uri.is_remote(file.path) and (codec is not None or file.size_bytes <= _HEAD_BYTES):
        yield file.path
        return
    try:
        with opened(file) if codec is None else opened_codec(file, codec) as stream:
            lines = _first_lines(stream)
        with tempfile.NamedTemporaryFile(suffix=".csv") as head:
            head.write(lines)
            head.flush()
            yield head.name
    except (OSError, EOFError, zlib.error) as error:
        raise format_error(file.path, "CSV", error) from None


def _first_lines(stream: BinaryIO) -> bytes:
    """Some bytes of a file, which end with a line where there are more."""
    content = bytearray()
    while len(content) < _HEAD_BYTES:
        check_cancelled()
        more = stream.read(_HEAD_BYTES - len(content))
        if not more:
            return bytes(content)
        content += more
    return bytes(content[: content.rfind(b"\n") + 1] or content)


def _have(character: bytes, files: Iterable[DataFile]) -> bool:
    """Whether one of the files has the character; those that are compressed may."""
    return any(codec_of_path(file.path) is not None or _has(character, file) for file in files)


def _has(character: bytes, file: DataFile) -> bool:
    try:
        with opened(file) as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                check_cancelled()
                if character in chunk:
                    return True
    except OSError as error:
        raise io_error(error, file.path) from None
    return False
