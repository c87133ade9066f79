"""CSV files of USING csv, in the form of Spark's reader and writer."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from sharkpy.base.errors import ConfigurationError, UnsupportedError
from sharkpy.catalog.format_options import CSV, format_property
from sharkpy.sources.csv_files.chunks import header_end, lines_of, whole_lines, without_first_lines
from sharkpy.sources.csv_files.multi_line import read_records, with_newlines
from sharkpy.sources.csv_files.options import CsvOptions, csv_options, is_option
from sharkpy.sources.csv_files.reader import CsvRowReader
from sharkpy.sources.csv_files.values import is_stored
from sharkpy.sources.csv_files.write import header_row, rows_of
from sharkpy.sources.hadoop_codecs import codec_of_path
from sharkpy.sources.layout import DataFile
from sharkpy.sources.local_copy import of_each
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.output_file import output_file
from sharkpy.sources.source import Properties
from sharkpy.sources.split import Split
from sharkpy.sources.whole_files import utf8_chunks
from sharkpy.values.types import Schema


class CsvSource:
    """CSV files with a row in each line. With `multiLine` quotes may contain line breaks. Such files, and compressed
    ones, are one split.
    """

    name = CSV
    splits_bytes = True

    def splits_lines(self, properties: Properties) -> bool:
        return not csv_options(properties).is_one_piece

    def check(self, schema: Schema, properties: Properties) -> None:
        for name, value in properties:
            key = format_property(CSV, name, value) if is_option(name) else None
            if key not in (None, name):
                raise ConfigurationError(f'the option "{name}" is called {key} here', sqlstate="22023")
        csv_options(properties).check(schema)
        for field in schema:
            if not is_stored(field.dtype):
                raise UnsupportedError(f'the column "{field.name}" of type {field.dtype} in a CSV table')

    def splits(
        self,
        files: Sequence[DataFile],
        schema: Schema,  # noqa: ARG002 - the protocol's signature
        properties: Properties,
        split_bytes: int,
    ) -> list[Split]:
        options = csv_options(properties)
        found = of_each(lambda file: self._splits(file, options, properties, split_bytes), files)
        return [split for splits in found for split in splits]

    def _splits(self, file: DataFile, options: CsvOptions, properties: Properties, split_bytes: int) -> list[Split]:
        start, step = 0, max(split_bytes, 1)
        if options.is_one_piece or codec_of_path(file.path) is not None:
            step = max(file.size_bytes, 1)
        elif options.header or options.skip:
            start = header_end(file, options)
        places = range(start, file.size_bytes, step)
        return [Split.of(file, self.name, properties, at, min(step, file.size_bytes - at)) for at in places]

    def read(
        self, split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics | None = None
    ) -> Iterator[pa.RecordBatch]:
        options, counted = csv_options(split.properties), metrics or ReadMetrics()
        if options.multi_line:
            yield from self._read_multi_line(split, options, schema, names, counted)
            return
        reader = CsvRowReader(options, schema, names, counted, split.path)
        if not options.is_one_piece:
            for lines in lines_of(split, options):
                counted.bytes += len(lines)
                yield from reader.read_lines(lines)
            return
        chunks = without_first_lines(_counted(utf8_chunks(split, options.encoding), counted), options)
        for lines in whole_lines(chunks, options, split.path):
            yield from reader.read_lines(lines)

    def _read_multi_line(
        self, split: Split, options: CsvOptions, schema: Schema, names: Sequence[str], metrics: ReadMetrics
    ) -> Iterator[pa.RecordBatch]:
        chunks = without_first_lines(_counted(utf8_chunks(split, options.encoding), metrics), options)
        if not options.newline:
            chunks, options = with_newlines(chunks, options), replace(options, newline="\n")
        reader = CsvRowReader(options, schema, names, metrics, split.path)
        yield from read_records(chunks, options, reader, split.path)

    def write(self, batches: Iterable[pa.RecordBatch], schema: Schema, properties: Properties, path: str) -> int:
        options, num_rows = csv_options(properties), 0
        if any(map(options.is_corrupt_record, schema.names)):
            column = options.corrupt_record
            raise UnsupportedError(f'writing a CSV table with the column "{column}" for malformed rows')
        encoder = _Encoder(options)
        with output_file(path) as file:
            if options.header:
                file.write(encoder.bytes_of(header_row(schema, options)))
            for batch in batches:
                if batch.num_rows:
                    file.write(encoder.bytes_of(rows_of(batch, schema, options)))
                    num_rows += batch.num_rows
        return num_rows


def _counted(chunks: Iterator[bytes], metrics: ReadMetrics) -> Iterator[bytes]:
    for chunk in chunks:
        metrics.bytes += len(chunk)
        yield chunk


class _Encoder:
    """Text encoded as in the options, and compressed. A byte-order mark is only written first."""

    def __init__(self, options: CsvOptions) -> None:
        self._encoder = codecs.getincrementalencoder(options.encoding)("replace") if options.encoding else None
        self._codec = options.codec

    def bytes_of(self, lines: bytes) -> bytes:
        if self._encoder is not None:
            lines = self._encoder.encode(lines.decode())
        # Hadoop reads consecutive compressed pieces as one.
        return lines if self._codec is None else self._codec.compress(lines)
