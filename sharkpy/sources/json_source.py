"""JSON files: an object in each line, or documents with objects anywhere.

A document has objects over several lines, one after the other, or as the items of an array.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import ConfigurationError, UnsupportedError
from sharkpy.base.parse_limits import check_json_nesting
from sharkpy.base.records import dataclass
from sharkpy.catalog.system_tables import BLOCK_OFFSET
from sharkpy.sources.layout import DataFile
from sharkpy.sources.line_chunks import LineLimit, line_chunks, line_splits
from sharkpy.sources.rows.json_rows import JsonRowReader, JsonRows
from sharkpy.sources.source import Properties, ReadMetrics, Split
from sharkpy.sources.text_files import LineSource, encoding_of_mark, head_of, line_encoding, text_encoding, utf8_chunks
from sharkpy.values.types import Schema

MULTI_LINE = "multiLine"
_SPLIT_BYTES = 1 << 26
_MOST_HEADS = 64
"""Most files whose beginnings are read."""


@dataclass(frozen=True, slots=True)
class JsonSource(LineSource):
    """JSON files. With `multiLine` a file is one split, with an array of rows or consecutive objects."""

    name: str = "json"
    rows: JsonRows = field(default_factory=JsonRows)

    def splits_lines(self, properties: Properties) -> bool:
        return not is_multi_line(properties)

    def check(self, schema: Schema, properties: Properties) -> None:
        if is_multi_line(properties):
            text_encoding(properties)
            properties = tuple(item for item in properties if item[0] != "serialization.encoding")
        LineSource.check(self, schema, properties)

    def splits(
        self, files: Sequence[DataFile], schema: Schema, properties: Properties, split_bytes: int
    ) -> list[Split]:
        if not is_multi_line(properties):
            return LineSource.splits(self, files, schema, properties, split_bytes)
        return [Split.of(file, self.name, properties, 0, file.size_bytes) for file in files if file.size_bytes]

    def read(
        self, split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics | None = None
    ) -> Iterator[pa.RecordBatch]:
        if not is_multi_line(split.properties):
            yield from LineSource.read(self, split, schema, names, metrics)
            return
        counted = metrics or ReadMetrics()
        reader: JsonRowReader = self.rows.reader(schema, names, split.properties, counted)
        for data, starts, ends in _parts(split, counted):
            yield from reader.read_parts(data, starts, ends)

    def read_placed(
        self, split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics
    ) -> Iterator[tuple[pa.RecordBatch, Sequence[int]]]:
        if is_multi_line(split.properties):
            raise UnsupportedError(f'the virtual column {BLOCK_OFFSET.upper()} of the JSON documents in "{split.path}"')
        yield from LineSource.read_placed(self, split, schema, names, metrics)


def is_multi_line(properties: Properties) -> bool:
    value = dict(properties).get(MULTI_LINE, "false")
    if value.lower() not in ("true", "false"):
        raise ConfigurationError(f'"{value}" is not a value of {MULTI_LINE}: true or false expected', sqlstate="22023")
    return value.lower() == "true"


def found_properties(files: Sequence[DataFile], given: Properties = ()) -> Properties:
    """Inferred properties of files, in addition to `given` ones: whether the files are documents, and their encoding.
    Both come from the beginnings of some files.
    """
    encoding = text_encoding(given)
    for file in [file for file in files if file.size_bytes][:_MOST_HEADS]:
        head, is_whole = head_of(file)
        if encoding is None and (marked := encoding_of_mark(head)):
            return (MULTI_LINE, "true"), ("serialization.encoding", marked)
        is_wide = encoding is not None and encoding.startswith(("utf-16", "utf-32"))
        if is_wide or is_document(head, is_whole=is_whole):
            return ((MULTI_LINE, "true"),)
    return ()


def objects_of(files: Sequence[DataFile], properties: Properties) -> Iterator[tuple[str, list[bytes]]]:
    """Paths of files, each with some of its rows, which need not be objects."""
    if is_multi_line(properties):
        for file in files:
            for data, starts, ends in _parts(Split.of(file, "json", properties, 0, file.size_bytes), ReadMetrics()):
                yield file.path, [data[start:end] for start, end in zip(starts, ends, strict=True)]
        return
    encoding, lines = line_encoding(properties), JsonRows().lines(properties)
    for split in line_splits(files, "json", properties, _SPLIT_BYTES, lines):
        for chunk in line_chunks(split, lines):
            data = chunk if encoding is None else chunk.decode(encoding, "replace").encode()
            yield split.path, data.split(b"\n")


def _parts(split: Split, metrics: ReadMetrics) -> Iterator[Parts]:
    chunks = utf8_chunks(split, text_encoding(split.properties))
    return document_parts(_counted(chunks, metrics), LineLimit.of(split.path, split.properties, b"\n"))


def _counted(chunks: Iterator[bytes], metrics: ReadMetrics) -> Iterator[bytes]:
    for chunk in chunks:
        metrics.bytes += len(chunk)
        yield chunk


Places = np.ndarray[Any, np.dtype[np.int32]]
Parts = tuple[bytes, Places, Places]
"""Some bytes, and the offsets at which values begin and end in them."""
_MOST_PARTS = 1 << 16
_LONGEST_WORD = len("-Infinity")
_DECODER = json.JSONDecoder(parse_int=float)


def document_parts(chunks: Iterable[bytes], limit: LineLimit) -> Iterator[Parts]:
    """Values in the pieces of a file; the last one may be cut off."""
    from sharkpy.sources.kernels.cut_documents import NOWHERE, PLACE, START, cut_documents

    state = np.array([0, 0, 0, NOWHERE, 0], np.int64)
    starts, ends = np.empty(_MOST_PARTS, np.int32), np.empty(_MOST_PARTS, np.int32)
    pieces: list[bytes] = []
    """Pieces of the value whose end was not read yet; they are joined only once."""
    done = held = 0
    for chunk in chunks:
        state[PLACE] = 0
        if held:
            state[START] = -held
        while state[PLACE] < len(chunk):
            check_cancelled()
            if found := cut_documents(np.frombuffer(chunk, np.uint8), state, starts, ends):
                data, before = (b"".join((*pieces, chunk)), held) if starts[0] < 0 else (chunk, 0)
                yield data, starts[:found] + np.int32(before), ends[:found] + np.int32(before)
        done += len(chunk)
        pieces = [] if state[START] >= 0 else [*pieces, chunk]
        if 0 <= state[START] < NOWHERE:
            pieces = [chunk[state[START] :]]
        held = sum(map(len, pieces))
        limit.check_unfinished(held, done - held)
    if held:
        yield b"".join(pieces), np.array([0], np.int32), np.array([held], np.int32)


def is_document(head: bytes, *, is_whole: bool) -> bool:
    """True if a file that begins with `head` is read as a document: its first line is not a whole object. `is_whole`:
    `head` is the whole file.
    """
    text = head.decode("utf-8", "replace").removeprefix("\ufeff").lstrip()
    line, end, _ = text.partition("\n")
    if not text.startswith(("{", "[")) or (text.startswith("{") and not end and not is_whole):
        return text.startswith("[")
    try:
        check_json_nesting(text)
        value, place = _DECODER.raw_decode(text)
    except json.JSONDecodeError as error:
        is_cut = error.pos >= len(text) - _LONGEST_WORD or error.msg.startswith("Unterminated string")
        return is_cut and not is_whole
    except ValueError:
        return False
    # More text after an object on its line is another object.
    return isinstance(value, list) or place > len(line) or line[place:].lstrip().startswith(("{", ","))
