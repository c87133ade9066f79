"""CSV rows whose quotes may contain line breaks, read from the start of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sharkpy.sources.csv_files.chunks import check_size, whole_lines, without_first_lines
from sharkpy.sources.csv_files.options import CsvOptions
from sharkpy.sources.csv_files.reader import CsvRowReader
from sharkpy.sources.csv_files.records import Record, RecordReader, Token


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
