"""Chunks of whole lines of a split of a text file, with a limit on the bytes of one line.

A line is read into memory as a whole, hence the limit.
"""

from __future__ import annotations

import re
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NoReturn, cast
from zipfile import BadZipFile

import numpy as np

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import ResourceError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import LINE_BYTES
from sharkpy.catalog.system_tables import BLOCK_OFFSET
from sharkpy.sources.file_errors import format_error, io_error
from sharkpy.sources.hadoop_codecs import HadoopCodec, codec_of_path
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import check_unchanged, map_files, opened, opened_decompressed
from sharkpy.sources.source import Split

CHUNK_BYTES = 4 << 20
"""Small enough that a chunk is still in the processor's cache when it is cut."""
HEAD_BYTES = 1 << 16
"""Bytes that contain the header of most files."""
_BACKWARD_BYTES = 1 << 16
_SEARCHED_BYTES = 1 << 12
_BLANK_LINE = re.compile(rb"\n[ \t\r]*+\n")
_ROW = re.compile(rb"^[ \t\r]*+[^ \t\r\n].*\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LineLayout:
    """Layout of a file of lines: the byte that ends a line, and the number of header and footer lines.

    `skips_blanks`: blank lines are not rows, see `without_blank_lines`.
    """

    newline: bytes = b"\n"
    header_lines: int = 0
    footer_lines: int = 0
    skips_blanks: bool = False


def line_splits(
    files: Sequence[DataFile],
    format_name: str,
    properties: tuple[tuple[str, str], ...],
    split_bytes: int,
    lines: LineLayout,
) -> list[Split]:
    """Byte ranges of plain files between header and footer; a compressed file is one split."""
    has_others = bool(lines.header_lines or lines.footer_lines)

    def splits_of(file: DataFile) -> list[Split]:
        start, end, step = 0, file.size_bytes, max(split_bytes, 1)
        if codec_of_path(file.path) is not None:
            step = max(file.size_bytes, 1)
        elif has_others:
            start, end = _bounds(file, lines, LineLimit.of(file.path, properties, lines.newline))
        places = range(start, end, step)
        return [Split.of(file, format_name, properties, place, min(step, end - place)) for place in places]

    if has_others:
        return [split for splits in map_files(splits_of, files) for split in splits]
    return [split for file in files for split in splits_of(file)]


def line_chunks(split: Split, lines: LineLayout, chunk_bytes: int = CHUNK_BYTES) -> Iterator[bytes]:
    """Chunks that begin and end at line ends (the file's last may lack its newline).

    A line belongs to the split with its first byte. ResourceError 54000 for a line beyond the limit.
    """
    check_unchanged(split)
    codec = codec_of_path(split.path)
    limit = LineLimit.of(split.path, split.properties, lines.newline, is_compressed=codec is not None)
    try:
        if codec is None:
            yield from (data for _, data in _plain_chunks(split, limit, chunk_bytes))
        else:
            yield from _without_footer(_compressed_chunks(split, codec, lines, limit, chunk_bytes), lines)
    except (EOFError, zlib.error, BadZipFile) as error:
        raise format_error(split.path, "compressed", error) from None
    except OSError as error:
        if codec is not None and error.errno is None:
            raise format_error(split.path, codec.name, error) from None
        raise io_error(error, split.path) from None


def placed_chunks(split: Split, lines: LineLayout) -> Iterator[tuple[int, bytes]]:
    """Chunks of whole lines, each with its offset in the file; UnsupportedError for a compressed file."""
    check_unchanged(split)
    if codec_of_path(split.path) is not None:
        raise UnsupportedError(f'the virtual column {BLOCK_OFFSET.upper()} of the compressed file "{split.path}"')
    try:
        yield from _plain_chunks(split, LineLimit.of(split.path, split.properties, lines.newline), CHUNK_BYTES)
    except OSError as error:
        raise io_error(error, split.path) from None


def line_starts(data: bytes, newline: bytes, *, is_exact: bool = False) -> list[int]:
    """Offsets of the lines of `data`. Unless `is_exact`, a newline means all line ends of Hadoop."""
    ends = re.finditer(rb"\r\n|\r|\n" if newline == b"\n" and not is_exact else re.escape(newline), data)
    starts = [0, *(end.end() for end in ends)]
    return starts[:-1] if starts[-1] == len(data) else starts


def row_places(data: bytes, lines: LineLayout) -> list[tuple[int, int]]:
    """Offsets at which the rows among the lines of `data` begin and end, including line ends."""
    starts = line_starts(data, lines.newline)
    places = zip(starts, [*starts[1:], len(data)], strict=True)
    return [(start, end) for start, end in places if not lines.skips_blanks or not data[start:end].isspace()]


def with_newlines(data: bytes) -> bytes:
    """Lines with all line ends converted to newlines, if some lines end with a lone carriage return."""
    # Most texts have no carriage return, and a search is many times as fast as a count.
    if b"\r" not in data or data.count(b"\r") == data.count(b"\r\n"):
        return data
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def without_blank_lines(data: bytes, lines: LineLayout) -> bytes:
    """Whole lines without blank ones, if these are not rows."""
    if not lines.skips_blanks:
        return data
    data = with_newlines(data)
    last = data[data.rfind(b"\n", 0, -1) + 1 :]
    has_blanks = data[: data.find(b"\n") + 1].isspace() or last.isspace() or _BLANK_LINE.search(data)
    return b"".join(row[0] for row in _ROW.finditer(data)) if has_blanks else data


def _plain_chunks(split: Split, limit: LineLimit, chunk_bytes: int) -> Iterator[tuple[int, bytes]]:
    end = split.start + split.length
    with opened(split, max(split.start - 1, 0), end + _SEARCHED_BYTES) as file:
        place = split.start
        if place > 0:
            place = _next_line(file, place - 1, limit.newline, end)
        while place < end:
            # The end of the chunk is searched first, so that its bytes need not be copied again.
            last = min(place + chunk_bytes, end) - 1
            too_far = last + limit.most + 2 if limit.most else None
            chunk_end = _next_line(file, last, limit.newline, too_far)
            file.seek(place)
            if chunk_end == too_far:
                limit.refuse(place + _read_fully(file, last - place).rfind(limit.newline) + 1)
            data = _read_fully(file, chunk_end - place)
            if not data:
                return
            limit.check(data, place)
            row = data.removeprefix(BOM_UTF8) if place == 0 else data
            yield place + len(data) - len(row), row
            place += len(data)


def _compressed_chunks(
    split: Split, codec: HadoopCodec, lines: LineLayout, limit: LineLimit, chunk_bytes: int
) -> Iterator[bytes]:
    unfinished: list[bytes] = []
    """Pieces of the line whose end was not read yet; they are joined only once."""
    place = held = 0
    to_skip = lines.header_lines
    with opened_decompressed(split, codec) as stream:
        while data := stream.read(chunk_bytes):
            check_cancelled()
            cut = data.rfind(lines.newline) + 1
            if not cut:
                unfinished.append(data)
                held += len(data)
                limit.check_unfinished(held, place)
                continue
            chunk = b"".join((*unfinished, memoryview(data)[:cut]))
            limit.check(chunk, place)
            place, held = place + len(chunk), len(data) - cut
            unfinished = [data[cut:]]
            while to_skip and chunk:
                chunk = chunk[chunk.find(lines.newline) + 1 :]
                to_skip -= 1
            if chunk:
                yield chunk.removeprefix(BOM_UTF8) if place == len(chunk) else chunk
    limit.check_unfinished(held, place)
    if held and not to_skip:
        last = b"".join(unfinished)
        yield last if place else last.removeprefix(BOM_UTF8)


def _without_footer(chunks: Iterator[bytes], lines: LineLayout) -> Iterator[bytes]:
    """Chunks without the footer lines, which are held back until the end is reached."""
    if not lines.footer_lines:
        yield from chunks
        return
    held = b""
    for chunk in chunks:
        data = held + chunk
        cut = _footer_start(data, lines)
        if cut:
            yield data[:cut]
        held = data[cut:]


def _footer_start(data: bytes, lines: LineLayout) -> int:
    """Offset of the footer lines of `data`."""
    place = len(data) - len(lines.newline) if data.endswith(lines.newline) else len(data)
    for _ in range(lines.footer_lines):
        place = data.rfind(lines.newline, 0, max(place, 0))
        if place < 0:
            return 0
    return place + 1


def _bounds(file: DataFile, lines: LineLayout, limit: LineLimit) -> tuple[int, int]:
    """Offsets at which the rows of a plain file begin and end."""
    start, end = 0, file.size_bytes
    try:
        if lines.header_lines:
            start = _header_end(file, lines)
        if lines.footer_lines:
            end = _footer_offset(file, lines, limit)
    except OSError as error:
        raise io_error(error, file.path) from None
    return start, max(start, end)


def _footer_offset(file: DataFile, lines: LineLayout, limit: LineLimit) -> int:
    tail = b""
    most = (limit.most + 1) * (lines.footer_lines + 1) + _BACKWARD_BYTES if limit.most else file.size_bytes
    with opened(file, max(file.size_bytes - _BACKWARD_BYTES, 0)) as stream:
        while len(tail) < file.size_bytes:
            wanted = min(max(len(tail), _BACKWARD_BYTES), file.size_bytes - len(tail))
            stream.seek(file.size_bytes - len(tail) - wanted)
            tail = _read_fully(stream, wanted) + tail
            if cut := _footer_start(tail, lines):
                return file.size_bytes - len(tail) + cut
            if len(tail) > most:
                limit.refuse(file.size_bytes - len(tail))
    return 0


def _read_fully(file: BinaryIO | object, size: int) -> bytes:
    """`size` bytes, or fewer at the end of the file: an unbuffered read may return less."""
    reader = cast(BinaryIO, file)
    data = reader.read(size)
    while len(data) < size:
        more = reader.read(size - len(data))
        if not more:
            break
        data += more
    return data


def _next_line(file: BinaryIO | object, place: int, newline: bytes, end: int | None = None) -> int:
    """Offset after the first newline from `place` on; `end` (by default the end of the file) if there is none."""
    reader = cast(BinaryIO, file)
    reader.seek(place)
    size = _SEARCHED_BYTES
    while data := reader.read(size if end is None else min(size, end - place)):
        check_cancelled()
        found = data.find(newline)
        if found >= 0:
            return place + found + 1
        place += len(data)
        size = min(2 * size, CHUNK_BYTES)
    return place


def _header_end(file: DataFile, lines: LineLayout) -> int:
    place = 0
    with opened(file, end=HEAD_BYTES) as stream:
        for _ in range(lines.header_lines):
            place = _next_line(stream, place, lines.newline)
    return place


_Properties = tuple[tuple[str, str], ...]


def with_line_limit(properties: _Properties, most: int) -> _Properties:
    """Properties of splits with a limit, which replaces that of the table: tasks do not know the session's settings."""
    kept = tuple(item for item in properties if item[0] != LINE_BYTES.key)
    return (*kept, (LINE_BYTES.key, str(most)))


@dataclass(frozen=True, slots=True)
class LineLimit:
    """Limit on the lines of the file at `path`: `most` bytes without the line end; 0: none.

    Offsets are in the file, or in the content of a compressed file. ResourceError 54000 beyond the limit.
    """

    path: str
    most: int
    newline: bytes
    is_compressed: bool

    @classmethod
    def of(cls, path: str, properties: _Properties, newline: bytes, *, is_compressed: bool = False) -> LineLimit:
        given = dict(properties).get(LINE_BYTES.key)
        most = LINE_BYTES.default if given is None else LINE_BYTES.parse(given)
        return cls(path, max(most, 0), newline, is_compressed)

    def check(self, chunk: bytes, place: int) -> None:
        """Check the lines of a chunk that begins at `place`; its last line may lack its end."""
        if not 0 < self.most < len(chunk):
            return
        ends = np.flatnonzero(np.frombuffer(chunk, np.uint8) == self.newline[0])
        starts = np.concatenate(([0], ends + 1))
        too_long = np.flatnonzero(np.append(ends, len(chunk)) - starts > self.most)
        if len(too_long):
            self.refuse(place + int(starts[too_long[0]]))

    def check_unfinished(self, size: int, place: int) -> None:
        """Check the first `size` bytes of a line whose end is not found yet."""
        if 0 < self.most < size:
            self.refuse(place)

    def refuse(self, place: int) -> NoReturn:
        where = "of what it holds" if self.is_compressed else "of the file"
        raise ResourceError(
            f'the line at byte {place:,} {where} is longer than {LINE_BYTES.key} allows, {self.most:,}: "{self.path}"',
            hint="is it text with a line a row? then raise the setting",
            sqlstate="54000",
        )
