"""JSON files: an object in each line, or documents with objects anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from sharkpy.base.errors import ConfigurationError, UnsupportedError
from sharkpy.catalog.system_tables import BLOCK_OFFSET
from sharkpy.sources.json_documents import Parts, document_parts, is_document
from sharkpy.sources.layout import DataFile
from sharkpy.sources.line_chunks import line_chunks, line_splits
from sharkpy.sources.line_limit import LineLimit
from sharkpy.sources.line_source import LineSource, any_encoding, encoding_of
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.rows.json_rows import JsonRowReader, JsonRows
from sharkpy.sources.source import Properties
from sharkpy.sources.split import Split
from sharkpy.sources.whole_files import encoding_of_mark, head_of, utf8_chunks
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
            any_encoding(properties)
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
    encoding = any_encoding(given)
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
    encoding, lines = encoding_of(properties), JsonRows().lines(properties)
    for split in line_splits(files, "json", properties, _SPLIT_BYTES, lines):
        for chunk in line_chunks(split, lines):
            data = chunk if encoding is None else chunk.decode(encoding, "replace").encode()
            yield split.path, data.split(b"\n")


def _parts(split: Split, metrics: ReadMetrics) -> Iterator[Parts]:
    chunks = utf8_chunks(split, any_encoding(split.properties))
    return document_parts(_counted(chunks, metrics), LineLimit.of(split.path, split.properties, b"\n"))


def _counted(chunks: Iterator[bytes], metrics: ReadMetrics) -> Iterator[bytes]:
    for chunk in chunks:
        metrics.bytes += len(chunk)
        yield chunk
