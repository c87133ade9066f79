"""Pieces of CSV files: start of the rows, and whole lines or records in UTF-8.

If quotes may contain line breaks, a file is read from its start (`read_records`).
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import BinaryIO, cast

import numpy as np
import pyarrow as pa

from sharkpy.base.errors import ResourceError
from sharkpy.sources.csv_files.options import CsvOptions
from sharkpy.sources.csv_files.reader import CsvRowReader
from sharkpy.sources.csv_files.records import BLANKS, Record, RecordReader, Token
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.layout import DataFile
from sharkpy.sources.line_chunks import HEAD_BYTES, LineLayout, line_chunks
from sharkpy.sources.open_files import opened
from sharkpy.sources.source import Split

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


def read_records(
    chunks: Iterable[bytes], options: CsvOptions, reader: CsvRowReader, path: str
) -> Iterator[pa.RecordBatch]:
    """Batches of a file's rows, without its header; `chunks` are the whole file.

    `reader` reads rows that end with `options.line_end`.
    """
    records, rest, wanted, has_header = RecordReader(options), b"", 0, options.header
    for chunk, is_last in _with_last(chunks):
        rest += chunk
        check_size(rest, path)
        if len(rest) < wanted and not is_last:
            continue
        cut = len(rest) if is_last else _safe_end(rest, options)
        if cut and not has_header and (batches := reader.quickly(rest[:cut])) is not None:
            yield from batches
            rest, wanted = rest[cut:], 0
            continue
        text, place, found = rest.decode("utf-8", "replace"), 0, list[Record]()
        for record, end in records.records(text, is_last=is_last):
            place = end
            if record is not None and has_header:
                has_header = False
            elif record is not None:
                found.append(record)
        yield from reader.read_records(found)
        # Tried again with twice as much data, so that a row of many chunks is not parsed once for each chunk.
        wanted = 0 if place else 2 * len(rest)
        rest = text[place:].encode()


def with_newlines(chunks: Iterable[bytes], options: CsvOptions) -> Iterator[bytes]:
    """Chunks whose lines end with newlines. If \\r\\n or \\r ends the first row, it becomes a newline everywhere, as in
    Spark.

    In a file that sharkpy has written values stay unchanged, since its lines end with newlines.
    """
    rest, line_end = b"", b""
    for chunk, is_last in _with_last(chunks):
        rest += chunk
        line_end = line_end or _first_line_end(rest, options, is_last=is_last)
        if not line_end and not is_last:
            continue
        # The other half of a line end may be in the next chunk.
        held = b"\r" if rest.endswith(b"\r") and line_end == b"\r\n" and not is_last else b""
        data = rest.removesuffix(held)
        yield data.replace(line_end, b"\n") if line_end not in (b"", b"\n") else data
        rest = held


def _first_line_end(data: bytes, options: CsvOptions, *, is_last: bool) -> bytes:
    """Line end of the first row or line of `data`; empty if its end is not there yet."""
    text = data.decode("utf-8", "replace")
    for _, place in RecordReader(options).records(text, is_last=is_last):
        ended = text[:place]
        return next((end.encode() for end in ("\r\n", "\n", "\r") if ended.endswith(end)), b"")
    return b""


def _with_last(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Chunks, each with True if it is the last one."""
    held: bytes | None = None
    for chunk in chunks:
        if held is not None:
            yield held, False
        held = chunk
    if held is not None:
        yield held, True


def _safe_end(data: bytes, options: CsvOptions) -> int:
    """Offset after the last line end outside of quotes, if every quote opens or closes a field."""
    array = np.frombuffer(data, np.uint8)
    newlines = np.flatnonzero(array == ord(options.line_end))
    if options.quote.isascii() and options.quote:
        quotes = np.flatnonzero(array == ord(options.quote))
        newlines = newlines[np.searchsorted(quotes, newlines) % 2 == 0]
    return int(newlines[-1]) + 1 if len(newlines) else 0


def first_tokens(chunks: Iterable[bytes], options: CsvOptions, path: str) -> list[Token] | None:
    """Fields of a file's first row or header; None if the file has none."""
    records, rest, chunks = RecordReader(options), b"", without_first_lines(chunks, options)
    if not options.multi_line:
        lines = whole_lines(chunks, replace(options, header=False), path)
        found = (line for part in lines for line in _lines(part, options) if not records.is_skipped_line(line))
        line = next(found, None)
        return None if line is None else records.line(line).tokens
    for chunk, is_last in _with_last(with_newlines(chunks, options) if not options.newline else chunks):
        rest += chunk
        check_size(rest, path)
        for record, _ in records.records(rest.decode("utf-8", "replace"), is_last=is_last):
            if record is not None:
                return record.tokens
    return None


def _lines(data: bytes, options: CsvOptions) -> Iterator[str]:
    text = data.decode("utf-8", "replace")
    if options.newline:
        yield from text.split(options.newline)
    else:
        yield from text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
