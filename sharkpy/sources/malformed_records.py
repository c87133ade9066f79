"""Malformed records of streams as rows: their position, bytes, and the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from sharkpy.base import uri
from sharkpy.base.errors import InternalError
from sharkpy.base.records import dataclass
from sharkpy.catalog.format_options import CSV
from sharkpy.catalog.json_rows import partition_format_from_text, partition_format_to_text
from sharkpy.catalog.kafka_options import TOPIC
from sharkpy.catalog.system_tables import is_virtual
from sharkpy.sources.csv_files.chunks import lines_of
from sharkpy.sources.csv_files.options import csv_options
from sharkpy.sources.csv_files.reader import CsvRowReader
from sharkpy.sources.csv_files.records import RecordReader
from sharkpy.sources.hadoop_codecs import codec_of_path
from sharkpy.sources.kafka.client import consumer
from sharkpy.sources.kafka.fetch import NAME as KAFKA
from sharkpy.sources.kafka.fetch import Fetch, ranges_of
from sharkpy.sources.kafka.records import AVRO, VALUE_FORMAT, value_reader
from sharkpy.sources.line_chunks import line_chunks, line_starts, placed_chunks, row_places, without_blank_lines
from sharkpy.sources.malformed_rows import plain_properties, take_malformed
from sharkpy.sources.rows.csv_and_regex import CsvRows, RegexRows
from sharkpy.sources.rows.delimited import DelimitedRows, MultiDelimitedRows
from sharkpy.sources.rows.json_rows import JsonRows
from sharkpy.sources.rows.row_format import RowFormat
from sharkpy.sources.source import ReadMetrics, Split, StreamFormat
from sharkpy.sources.text_files import line_encoding
from sharkpy.values.types import BIGINT, BINARY, STRING, Field, Schema, arrow_schema

NAME = "bad rows"
STREAM, SOURCE, OFFSET, RECORD, BYTES, REASON = "stream", "source", "offset", "record", "record_bytes", "reason"
COLUMNS = Schema(
    (
        Field(STREAM, STRING),
        Field(SOURCE, STRING),
        Field(OFFSET, BIGINT),
        Field(RECORD, STRING),
        Field(BYTES, BINARY),
        Field(REASON, STRING),
    )
)
"""`record` is the text of `record_bytes`, with invalid UTF-8 replaced."""
_STREAM, _PLACE = "shark.bad.stream", "shark.bad.place"
_FORMAT, _FORM = "shark.bad.format", "shark.bad.form"
_LINES: dict[str, tuple[RowFormat, str]] = {
    "text": (DelimitedRows(), "fewer fields than columns"),
    "json": (JsonRows(), "no JSON object"),
    "csv": (CsvRows(), "fewer fields than columns"),
    "regex": (RegexRows(), "no match of the regular expression"),
    "multidelimit": (MultiDelimitedRows(), "fewer fields than columns"),
}
_REASONS = {name: reason for name, (_, reason) in _LINES.items()} | {
    CSV: "another number of fields than columns",
    AVRO: "no record of the Avro schema",
}
"""Formats whose records can be malformed one by one, and the reason for records that do not parse at all."""
FORMATS = tuple(_REASONS)
Validator = Callable[[Sequence[bytes | None], Sequence[str], ReadMetrics], None]
"""Reads some columns of records, and marks the malformed records."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Malformed records of a piece of a split; an offset is None if the format has none."""

    sources: Sequence[str]
    offsets: Sequence[int | None]
    records: Sequence[bytes]


def malformed_record_splits(splits: Sequence[Split], stream: str, schema: Schema, place: str) -> list[Split]:
    """Splits of the malformed records of a stream's `splits`; `place`, if not empty, is shown instead of their file."""
    given = ((_STREAM, stream), (_PLACE, place), (_FORM, partition_format_to_text(None, schema)))
    return [
        replace(
            split,
            format=NAME,
            properties=(*plain_properties(split), (_FORMAT, split.format), *given),
            num_rows=None,
            plain=None,
        )
        for split in splits
    ]


class MalformedRecords(StreamFormat):
    """Format of `malformed_record_splits`. A record is malformed if it or a field of it does not parse."""

    name = NAME

    def read(
        self,
        split: Split,
        schema: Schema,
        names: Sequence[str],
        metrics: ReadMetrics | None = None,
    ) -> Iterator[pa.RecordBatch]:
        given = dict(split.properties)
        every = partition_format_from_text(given[_FORM])[1]
        if every is None:
            raise InternalError("malformed records of a stream without columns")
        declared = Schema(tuple(field for field in every if not is_virtual(field.name)))
        read, validate, form = _readers(split, given[_FORMAT], declared)
        for part in read():
            reasons = _reasons(part.records, declared, validate, _REASONS[form])
            columns: dict[str, list[Any]] = {
                STREAM: [given[_STREAM]] * len(reasons),
                SOURCE: [given[_PLACE] or source for source in part.sources],
                OFFSET: [None if given[_PLACE] else offset for offset in part.offsets],
                RECORD: [record.decode("utf-8", "replace") for record in part.records],
                BYTES: list(part.records),
                REASON: reasons,
            }
            if metrics is not None:
                metrics.rows += len(reasons)
            target = arrow_schema(schema.select(names))
            yield pa.RecordBatch.from_arrays([pa.array(columns[one.name], one.type) for one in target], schema=target)


def _reasons(records: Sequence[bytes], schema: Schema, validate: Validator, no_record: str) -> list[str]:
    found: list[list[str]] = [[] for _ in records]
    none = set[int]()
    for field in schema:
        counted = ReadMetrics(marks=[])
        validate(records, [field.name], counted)
        none.update(int(row) for rows in counted.whole for row in rows)
        for row in counted.marked():
            if row not in none:
                found[row].append(f'"{field.name}" is no {str(field.dtype).upper()}')
    return [no_record if row in none else ", ".join(texts) for row, texts in enumerate(found)]


def _readers(split: Split, form: str, schema: Schema) -> tuple[Callable[[], Iterator[_Part]], Validator, str]:
    """Reader of a split's malformed records, a validator of records, and their format."""
    if form == KAFKA:
        value_form = dict(split.properties)[VALUE_FORMAT]

        def validate_values(records: Sequence[bytes | None], names: Sequence[str], counted: ReadMetrics) -> None:
            value_reader(value_form, schema, names, split.properties, counted).read(pa.array(records, pa.binary()))

        return lambda: _records_of_topic(split, validate_values, schema), validate_values, value_form
    if form == CSV:
        return lambda: _records_of_csv(split, schema), _csv_validator(split, schema), form
    rows = _LINES[form][0]
    encoding = line_encoding(split.properties)

    def validate_lines(records: Sequence[bytes | None], names: Sequence[str], counted: ReadMetrics) -> None:
        texts = records if encoding is None else [(one or b"").decode(encoding, "replace").encode() for one in records]
        reader = rows.reader(schema, names, split.properties, counted)
        for _ in reader.read_rows(pa.array(texts, pa.binary())):
            pass

    return lambda: _records_of_lines(split, rows, schema, encoding), validate_lines, form


def _records_of_lines(split: Split, rows: RowFormat, schema: Schema, encoding: str | None) -> Iterator[_Part]:
    lines, is_plain = rows.lines(split.properties), codec_of_path(split.path) is None
    chunks = placed_chunks(split, lines) if is_plain else ((None, chunk) for chunk in line_chunks(split, lines))
    counted, done = ReadMetrics(marks=[]), 0
    reader = rows.reader(schema, schema.names, split.properties, counted)
    for place, chunk in chunks:
        data = chunk if encoding is None else chunk.decode(encoding, "replace").encode()
        num_rows = sum(batch.num_rows for batch in reader.read_lines(without_blank_lines(data, lines)))
        bad = take_malformed(counted, done + num_rows) - done
        done += num_rows
        if len(bad):
            yield _lines_part(split, chunk, place, row_places(chunk, lines), bad.tolist(), lines.newline)


def _lines_part(
    split: Split, chunk: bytes, place: int | None, rows: list[tuple[int, int]], bad: list[int], newline: bytes
) -> _Part:
    """The lines with the numbers `bad`, of lines at the positions `rows`."""
    ending = b"\r\n" if newline == b"\n" else newline
    records = [chunk[slice(*rows[row])].rstrip(ending) for row in bad]
    offsets = [None if place is None else place + rows[row][0] for row in bad]
    return _Part([uri.as_uri(split.path)] * len(bad), offsets, records)


def _csv_validator(split: Split, schema: Schema) -> Validator:
    options = csv_options(split.properties)
    parser = RecordReader(options)

    def validate(records: Sequence[bytes | None], names: Sequence[str], counted: ReadMetrics) -> None:
        reader = CsvRowReader(options, schema, names, counted, split.path)
        for _ in reader.read_records([parser.line((record or b"").decode("utf-8", "replace")) for record in records]):
            pass

    return validate


def _records_of_csv(split: Split, schema: Schema) -> Iterator[_Part]:
    options, counted, done = csv_options(split.properties), ReadMetrics(marks=[]), 0
    parser, newline = RecordReader(options), options.line_end.encode()
    reader = CsvRowReader(options, schema, schema.names, counted, split.path)
    for chunk in lines_of(split, options):
        num_rows = sum(batch.num_rows for batch in reader.read_lines(chunk))
        bad = take_malformed(counted, done + num_rows) - done
        done += num_rows
        if len(bad):
            starts = line_starts(chunk, newline, is_exact=bool(options.newline))
            ends = [*starts[1:], len(chunk)]
            ending = options.newline.encode() or b"\r\n"
            texts = [chunk[first:last].rstrip(ending) for first, last in zip(starts, ends, strict=True)]
            kept = [
                row for row, text in enumerate(texts) if not parser.is_skipped_line(text.decode("utf-8", "replace"))
            ]
            if len(kept) != num_rows:
                raise InternalError(f'{len(kept)} lines of "{split.path}" have become {num_rows} rows')
            records = [texts[kept[row]] for row in bad.tolist()]
            yield _Part([uri.as_uri(split.path)] * len(records), [None] * len(records), records)


def _records_of_topic(split: Split, validate: Validator, schema: Schema) -> Iterator[_Part]:
    options = dict(split.properties)
    with consumer(split.properties) as connection:
        for messages in Fetch(connection, options[TOPIC], split.properties).records(ranges_of(split)):
            counted = ReadMetrics(marks=[])
            validate([message.value() for message in messages], schema.names, counted)
            bad = [messages[row] for row in counted.marked()]
            if bad:
                sources = [f"{options[TOPIC]}-{message.partition()}" for message in bad]
                yield _Part(sources, [message.offset() for message in bad], [message.value() or b"" for message in bad])
