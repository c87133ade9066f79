"""CSV files of USING csv, in the form of Spark's reader and writer.

Fields are quoted if Spark's reader needs it.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, time

import pyarrow as pa

from sharkpy.base.errors import ConfigurationError, ExecutionError, UnsupportedError
from sharkpy.catalog.format_options import CSV, format_property
from sharkpy.sources.arrow import Array, pc
from sharkpy.sources.csv_files.chunks import (
    header_end,
    lines_of,
    read_records,
    whole_lines,
    with_newlines,
    without_first_lines,
)
from sharkpy.sources.csv_files.options import CsvOptions, csv_options, format_in_pattern, is_option
from sharkpy.sources.csv_files.reader import CsvRowReader
from sharkpy.sources.csv_files.records import BLANKS
from sharkpy.sources.csv_files.values import is_stored
from sharkpy.sources.hadoop_codecs import codec_of_path
from sharkpy.sources.layout import DataFile
from sharkpy.sources.new_files import output_file
from sharkpy.sources.open_files import map_files
from sharkpy.sources.source import Properties, ReadMetrics, Split
from sharkpy.sources.text_files import flat_lines, utf8_chunks
from sharkpy.sources.text_write import hive_text
from sharkpy.values.types import BINARY, DATE, TIMESTAMP, DataType, Schema, is_string


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
        found = map_files(lambda file: self._splits(file, options, properties, split_bytes), files)
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


_INVALID_TEXT = "22000"
_EMPTY = '""'
_SIMPLE_SEPARATORS = (",", ";", "|", "\t")
"""Separators that do not occur in numbers and times."""


def header_row(schema: Schema, options: CsvOptions) -> bytes:
    names: list[Array] = [_field(pa.array([name], pa.string()), name, options) for name in schema.names]
    return _joined(names, options)


def rows_of(batch: pa.RecordBatch, schema: Schema, options: CsvOptions) -> bytes:
    """Lines of the rows; ExecutionError 22000 if a value could not be read back."""
    columns = []
    is_simple = options.separator in _SIMPLE_SEPARATORS and not (options.date_format or options.timestamp_format)
    for place, (column, field) in enumerate(zip(batch.columns, schema, strict=True)):
        text = _text(column, field.dtype, field.name, options)
        if is_string(field.dtype) or field.dtype == BINARY or not is_simple:
            text = _field(text, field.name, options, is_first=place == 0)
        elif options.quote_all:
            text = pc.binary_join_element_wise(options.quote, text, options.quote, "")
        columns.append(pc.fill_null(text, options.null))
    return _joined(columns, options)


def _joined(columns: Sequence[Array], options: CsvOptions) -> bytes:
    rows = pc.binary_join_element_wise(*columns, options.separator) if len(columns) > 1 else columns[0]
    # Readers skip a blank line. A row with only empty fields would make one.
    is_blank = pc.match_substring_regex(rows, r"^[\x00-\x20]*$")
    if pc.any(is_blank, min_count=0).as_py():
        if not options.quote:
            raise ExecutionError(
                "a row has only empty fields, which a CSV table without quotes would not give back",
                hint="give the table the option nullValue",
                sqlstate=_INVALID_TEXT,
            )
        rows = pc.if_else(is_blank, pc.binary_join_element_wise(options.quote * 2, rows, ""), rows)
    return bytes(flat_lines(pc.cast(rows, pa.binary()), options.line_end.encode()))


def _text(array: Array, dtype: DataType, name: str, options: CsvOptions) -> Array:
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if dtype == DATE and options.date_format is not None:
        return _in_pattern(array, options.date_format)
    if dtype == TIMESTAMP and options.timestamp_format is not None:
        return _in_pattern(array, options.timestamp_format)
    if dtype == TIMESTAMP:
        text = pc.replace_substring(pc.cast(array, pa.string()), " ", "T")
        return pc.replace_substring_regex(text, r"(\.[0-9]{3})000$", r"\1")
    if dtype == BINARY:
        try:
            return pc.cast(array, pa.string())
        except pa.ArrowInvalid:
            raise _refusal(name, "bytes that are no text", "store the table in another format") from None
    return pc.cast(hive_text(array, dtype), pa.string())


def _in_pattern(array: Array, pattern: str) -> Array:
    distinct = array.dictionary_encode()
    values = distinct.dictionary.to_pylist()
    times = [value if isinstance(value, datetime) else datetime.combine(value, time()) for value in values]
    return pa.array([format_in_pattern(value, pattern) for value in times], pa.string()).take(distinct.indices)


def _field(text: Array, name: str, options: CsvOptions, *, is_first: bool = True) -> Array:
    """Fields, quoted if they would otherwise be read as another value."""
    if options.trim_left:
        text = pc.ascii_ltrim(text, characters=BLANKS)
    if options.trim_right:
        text = pc.ascii_rtrim(text, characters=BLANKS)
    if not options.multi_line:
        _check_lines(text, name, options)
    is_quoted = pc.match_substring_regex(text, _needs_quotes(options, is_first=is_first))
    empty = options.quote * 2 if options.empty is None else options.empty
    plain = pc.if_else(pc.equal(text, ""), empty, text)
    if not options.quote:
        if pc.any(is_quoted, min_count=0).as_py():
            raise _refusal(name, "a separator, a line break or blanks alone", "give the table the option quote")
        return plain
    if not options.escape and pc.any(pc.and_(is_quoted, pc.match_substring(text, options.quote)), min_count=0).as_py():
        raise _refusal(name, "a quote", "give the table the option escape")
    return pc.if_else(pc.is_valid(text) if options.quote_all else is_quoted, _quoted(text, options), plain)


def _needs_quotes(options: CsvOptions, *, is_first: bool) -> str:
    """Pattern of texts that would be read as another value without quotes."""
    quote = re.escape(options.quote)
    parts = [re.escape(options.separator), f"[{re.escape(options.newline)}\\n\\r]", r"^[\x00-\x20]+$"]
    if quote:
        parts.append(quote if options.escape else f"^{quote}")
    if options.comment and is_first:
        parts.append(f"^{re.escape(options.comment)}")
    return "|".join(parts)


def _quoted(text: Array, options: CsvOptions) -> Array:
    quote, escape = options.quote, options.escape
    if escape and escape != quote:
        text = pc.replace_substring(text, escape, escape * 2)
    text = pc.replace_substring(text, quote, escape + quote)
    return pc.binary_join_element_wise(quote, text, quote, "")


def _check_lines(text: Array, name: str, options: CsvOptions) -> None:
    ends = (options.newline,) if options.newline else ("\n", "\r")
    for end in ends:
        if pc.any(pc.match_substring(text, end), min_count=0).as_py():
            raise _refusal(name, "a line break", "give the table the option multiLine 'true'")


def _refusal(name: str, what: str, hint: str) -> ExecutionError:
    message = f'a value of column "{name}" holds {what}, which a CSV table would not give back'
    return ExecutionError(message, hint=hint, sqlstate=_INVALID_TEXT)
