"""Pieces of CSV files: start of the rows, and whole lines or records in UTF-8."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO, cast

from sharkpy.base.errors import ResourceError
from sharkpy.sources.csv_files.options import CsvOptions
from sharkpy.sources.csv_files.records import BLANKS
from sharkpy.sources.failures import io_error
from sharkpy.sources.layout import DataFile
from sharkpy.sources.line_chunks import HEAD_BYTES, LineLayout, line_chunks
from sharkpy.sources.local_copy import opened
from sharkpy.sources.split import Split

_BOM = codecs.BOM_UTF8
MOST_RECORD_BYTES = 256 << 20
_BLANK_BYTES = BLANKS.encode()


def header_end(file: DataFile, options: CsvOptions) -> int:
    """Offset after the skipped lines and the header of a plain file.

    0 if a lone carriage return ends one of them. Other lines are searched by newlines only, so such a file is read from
    its start.
    """
    newline, place = options.line_end.encode(), 0
    try:
        with io.BufferedReader(cast(io.RawIOBase, opened(file, end=HEAD_BYTES))) as stream:
            left = options.skip
            while (left or options.header) and (line := _line(stream, newline)):
                if not options.newline and _line_end(line, options) < len(line):
                    return 0
                place += len(line)
                if not left and not _is_skipped(line, options):
                    return place
                left = max(left - 1, 0)
    except OSError as error:
        raise io_error(error, file.path) from None
    return place


def _line(stream: BinaryIO, newline: bytes) -> bytes:
    """Next line with its end."""
    if newline == b"\n":
        return stream.readline(MOST_RECORD_BYTES)
    line = bytearray()
    while (byte := stream.read(1)) and len(line) < MOST_RECORD_BYTES:
        line += byte
        if byte == newline:
            break
    return bytes(line)


def _line_end(data: bytes, options: CsvOptions) -> int:
    """Offset after the first line of `data`."""
    found = re.search(re.escape(options.newline.encode()) or rb"\r\n|\n|\r", data)
    return len(data) if found is None else found.end()


def _is_skipped(line: bytes, options: CsvOptions) -> bool:
    """True for a blank or comment line before a header."""
    text = line.removeprefix(_BOM).removesuffix(options.newline.encode())
    return not text.strip(_BLANK_BYTES) or bool(options.comment and text.startswith(options.comment.encode()))


def lines_of(split: Split, options: CsvOptions) -> Iterator[bytes]:
    """Chunks of whole lines of a split, in UTF-8, without the file's header."""
    has_header = options.header and split.start == 0
    chunks = line_chunks(split, LineLayout(options.line_end.encode()))
    for data in without_first_lines(chunks, options) if split.start == 0 else chunks:
        while has_header and data:
            end = _line_end(data, options)
            has_header, data = _is_skipped(data[:end], options), data[end:]
        if data:
            yield data if options.encoding is None else data.decode(options.encoding, "replace").encode()


def without_first_lines(chunks: Iterable[bytes], options: CsvOptions) -> Iterator[bytes]:
    """A file without the lines at its start that `options` skip."""
    left, rest = options.skip, b""
    for chunk in chunks:
        data, rest = rest + chunk, b""
        while left and data:
            end = _line_end(data, options)
            if end == len(data):
                # The rest of the line, or of its end, may be in the next chunk.
                rest, data = data, b""
            else:
                left, data = left - 1, data[end:]
        if data:
            yield data


def whole_lines(chunks: Iterable[bytes], options: CsvOptions, path: str) -> Iterator[bytes]:
    """Chunks of whole lines, without the header."""
    newline, rest, has_header = options.line_end.encode(), b"", options.header
    for chunk in chunks:
        rest += chunk
        check_size(rest, path)
        cut = rest.rfind(newline) + 1
        data, rest = rest[:cut], rest[cut:]
        while has_header and data:
            end = _line_end(data, options)
            has_header, data = _is_skipped(data[:end], options), data[end:]
        if data:
            yield data
    while has_header and rest:
        end = _line_end(rest, options)
        has_header, rest = _is_skipped(rest[:end], options), rest[end:]
    if rest:
        yield rest


def check_size(rest: bytes, path: str) -> None:
    if len(rest) > MOST_RECORD_BYTES:
        raise ResourceError(
            f'"{path}" has a row of more than {MOST_RECORD_BYTES >> 20} MB',
            hint="a quote that is not closed makes one row of all that follows it",
            sqlstate="54000",
        )
