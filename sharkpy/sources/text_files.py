"""Text files: a row in each line, in one of the row formats; and text files that are read from their start."""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Iterable, Iterator, Sequence
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.sources.arrow import Array, pc
from sharkpy.sources.file_errors import format_error, io_error
from sharkpy.sources.hadoop_codecs import OUTPUT_CODEC, codec_of_class, codec_of_path
from sharkpy.sources.layout import DataFile
from sharkpy.sources.line_chunks import (
    CHUNK_BYTES,
    line_chunks,
    line_splits,
    placed_chunks,
    row_places,
    without_blank_lines,
)
from sharkpy.sources.new_files import output_file
from sharkpy.sources.open_files import check_unchanged, opened, opened_decompressed
from sharkpy.sources.rows.row_format import Properties, RowFormat
from sharkpy.sources.source import ReadMetrics, Split
from sharkpy.values.types import Schema


@dataclass(frozen=True, slots=True)
class LineSource:
    """Text files in the row format `name`. Encodings other than UTF-8 are converted line by line."""

    name: str
    rows: RowFormat
    splits_bytes: bool = True

    def splits_lines(self, properties: Properties) -> bool:  # noqa: ARG002 - the protocol's signature
        return True

    def check(self, schema: Schema, properties: Properties) -> None:
        line_encoding(properties)
        if codec := dict(properties).get(OUTPUT_CODEC):
            codec_of_class(codec)
        self.rows.check(schema, properties)

    def splits(
        self,
        files: Sequence[DataFile],
        schema: Schema,  # noqa: ARG002 - the protocol's signature
        properties: Properties,
        split_bytes: int,
    ) -> list[Split]:
        return line_splits(files, self.name, properties, split_bytes, self.rows.lines(properties))

    def read(
        self, split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics | None = None
    ) -> Iterator[pa.RecordBatch]:
        counted = metrics or ReadMetrics()
        encoding = line_encoding(split.properties)
        lines, reader = self.rows.lines(split.properties), self.rows.reader(schema, names, split.properties, counted)
        for chunk in line_chunks(split, lines):
            counted.bytes += len(chunk)
            data = chunk if encoding is None else chunk.decode(encoding, "replace").encode()
            if data := without_blank_lines(data, lines):
                yield from reader.read_lines(data)

    def read_placed(
        self, split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics
    ) -> Iterator[tuple[pa.RecordBatch, Sequence[int]]]:
        lines, encoding = self.rows.lines(split.properties), line_encoding(split.properties)
        reader = self.rows.reader(schema, names, split.properties, metrics)
        for place, chunk in placed_chunks(split, lines):
            metrics.bytes += len(chunk)
            starts, done = [place + start for start, _ in row_places(chunk, lines)], 0
            data = chunk if encoding is None else chunk.decode(encoding, "replace").encode()
            for batch in reader.read_lines(without_blank_lines(data, lines)):
                yield batch, starts[done : done + batch.num_rows]
                done += batch.num_rows

    def write(self, batches: Iterable[pa.RecordBatch], schema: Schema, properties: Properties, path: str) -> int:
        num_rows = 0
        encoding, newline = line_encoding(properties), self.rows.lines(properties).newline
        codec = dict(properties).get(OUTPUT_CODEC)
        with output_file(path) as file:
            for batch in batches:
                if not batch.num_rows:
                    continue
                data = flat_lines(self.rows.encode(batch, schema, properties), newline)
                if encoding is not None:
                    data = memoryview(bytes(data).decode().encode(encoding, "replace"))
                # Hadoop reads consecutive compressed pieces as one.
                file.write(data if codec is None else codec_of_class(codec).compress(bytes(data)))
                num_rows += batch.num_rows
        return num_rows


def flat_lines(rows: Array, newline: bytes) -> memoryview:
    """Bytes of all rows (binary), each with its line end."""
    ended = pc.binary_join_element_wise(rows, b"", newline)
    if isinstance(ended, pa.ChunkedArray):
        ended = ended.combine_chunks()
    offsets = np.frombuffer(ended.buffers()[1], np.int32)
    first, last = offsets[ended.offset], offsets[ended.offset + len(ended)]
    return memoryview(ended.buffers()[2])[first:last]


def line_encoding(properties: Properties) -> str | None:
    """Python name of `serialization.encoding`; None for UTF-8. UnsupportedError if its line ends are not one byte."""
    found = text_encoding(properties)
    if found is not None and found.startswith(("utf-16", "utf-32")):
        name = dict(properties)["serialization.encoding"]
        raise UnsupportedError(f"the encoding {name} of serialization.encoding, whose line ends are not one byte")
    return found


def text_encoding(properties: Properties) -> str | None:
    """Python name of `serialization.encoding`; None for UTF-8."""
    import codecs

    name = dict(properties).get("serialization.encoding", "UTF-8")
    try:
        found = codecs.lookup(name).name
    except LookupError:
        raise UnsupportedError(f'the encoding "{name}" of serialization.encoding is not known') from None
    return None if found in ("utf-8", "ascii") else found


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
        with opened(file) if codec is None else opened_decompressed(file, codec) as stream:
            while data := stream.read(size):
                check_cancelled()
                yield data
    except (EOFError, zlib.error, BadZipFile) as error:
        raise format_error(file.path, "compressed", error) from None
    except OSError as error:
        if codec is not None and error.errno is None:
            raise format_error(file.path, codec.name, error) from None
        raise io_error(error, file.path) from None
