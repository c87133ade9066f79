"""Records of a topic as rows: columns of their values, and columns about the record itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

import pyarrow as pa

from sharkpy.base.errors import ConfigurationError, InternalError, UnsupportedError
from sharkpy.catalog.avro_schema import LITERAL, given_schema
from sharkpy.catalog.kafka_options import HAS_SCHEMA_ID, RAW, TOPIC, ZONE
from sharkpy.catalog.system_tables import HEADERS, KEY, OFFSET, PARTITION, RECORD_COLUMNS, TIME
from sharkpy.sources.arrow import Array, column_type, pc
from sharkpy.sources.avro_decoder import AvroRecords
from sharkpy.sources.column_conversion import row_count_batch
from sharkpy.sources.kafka.client import consumer
from sharkpy.sources.kafka.fetch import NAME, Fetch, ranges_of
from sharkpy.sources.rows.csv_and_regex import CsvRows, RegexRows
from sharkpy.sources.rows.delimited import DelimitedRows, MultiDelimitedRows
from sharkpy.sources.rows.json_rows import JsonRows
from sharkpy.sources.rows.row_format import RowFormat
from sharkpy.sources.source import Properties, ReadMetrics, Split, StreamFormat
from sharkpy.sources.text_format import header_and_footer
from sharkpy.values.types import BIGINT, BINARY, STRING, Field, Schema, arrow_schema
from sharkpy.values.utf8 import valid_texts

if TYPE_CHECKING:
    from confluent_kafka import Message

VALUE_FORMAT = "kafka.value.format"


class KafkaRecords(StreamFormat):
    """Format of the splits of `range_splits`, whose properties have the options of the stream and of its values."""

    name = NAME

    def read(
        self, split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics | None = None
    ) -> Iterator[pa.RecordBatch]:
        options = dict(split.properties)
        declared = Schema(tuple(field for field in schema if field.name not in RECORD_COLUMNS.names))
        of_values = [name for name in names if name in declared.names]
        counted = metrics or ReadMetrics()
        reader = value_reader(options[VALUE_FORMAT], declared, of_values, split.properties, counted)
        with consumer(split.properties) as connection:
            fetch = Fetch(connection, options[TOPIC], split.properties)
            for records in fetch.records(ranges_of(split)):
                yield _batch(records, reader, schema.select(names), options[ZONE], counted)


def _batch(
    records: list[Message], reader: ValueReader, wanted: Schema, zone: str, metrics: ReadMetrics
) -> pa.RecordBatch:
    from confluent_kafka import Message

    values: Array = pa.array(list(map(Message.value, records)), pa.binary())
    metrics.bytes += values.nbytes
    batch = reader.read(values)
    if not any(name in _OF_RECORDS for name in wanted.names):
        return batch
    columns = [
        _column(field, records, zone) if field.name in _OF_RECORDS else batch.column(field.name) for field in wanted
    ]
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(wanted))


def _column(field: Field, records: list[Message], zone: str) -> Array:
    if field.name == TIME and field.dtype == BIGINT:
        return pa.array(list(map(_time, records)), pa.int64())
    return _OF_RECORDS[field.name](records, zone)


def _time(message: Message) -> int | None:
    """Time of a record in milliseconds since 1970; None if it has none."""
    from confluent_kafka import TIMESTAMP_NOT_AVAILABLE

    kind, milliseconds = message.timestamp()
    return None if kind == TIMESTAMP_NOT_AVAILABLE else milliseconds


def _times(records: list[Message], zone: str) -> Array:
    """Times of records in the stream's time zone."""
    found: Array = pa.array(list(map(_time, records)), pa.int64())
    return pc.local_timestamp(pc.multiply(found, 1000).cast(pa.timestamp("us", zone)))


def _headers(message: Message) -> list[tuple[str, bytes | None]] | None:
    """Headers of a record, only the last one of each name; None if it has no headers."""
    headers: Any = message.headers()
    return None if headers is None else list(dict(headers).items())


_OF_RECORDS: dict[str, Callable[[list[Message], str], Array]] = {
    PARTITION: lambda records, _: pa.array([one.partition() for one in records], pa.int32()),
    OFFSET: lambda records, _: pa.array([one.offset() for one in records], pa.int64()),
    TIME: _times,
    KEY: lambda records, _: pa.array([one.key() for one in records], pa.binary()),
    HEADERS: lambda records, _: pa.array(list(map(_headers, records)), column_type(RECORD_COLUMNS[HEADERS].dtype)),
}


AVRO = "avro"
_ROW_FORMATS: dict[str, RowFormat] = {
    "text": DelimitedRows(),
    "json": JsonRows(),
    "csv": CsvRows(),
    "regex": RegexRows(),
    "multidelimit": MultiDelimitedRows(),
}
_SCHEMA_ID_BYTES = 5
_LONGEST_VALUE = (1 << 31) - 1
"""Largest size of a value in bytes, in Arrow's columns of bytes."""


class ValueReader(Protocol):
    """Reader of values (binary or NULL), each of which is a row of the wanted columns; a NULL is a row of NULLs."""

    def read(self, values: Array) -> pa.RecordBatch: ...


def value_reader(
    format_name: str, schema: Schema, names: Sequence[str], properties: Properties, metrics: ReadMetrics
) -> ValueReader:
    """Reader of values in a format; malformed values become NULL and are counted."""
    wanted = schema.select(names)
    if not names:
        return _NoColumns(metrics)
    if format_name == AVRO:
        return _AvroValues(wanted, properties, metrics)
    rows = _ROW_FORMATS.get(format_name)
    reader = _RawValues(wanted, metrics) if rows is None else _Rows(rows, schema, names, properties, metrics)
    return _AfterSchemaIds(reader) if _has_schema_id(properties) else reader


def check_values(format_name: str, schema: Schema, properties: Properties) -> None:
    """Raise UnsupportedError or ConfigurationError if values cannot have a format."""
    if format_name == RAW:
        return
    if format_name == AVRO:
        if given_schema(properties) is None:
            message = f"Avro values of a stream FROM KAFKA need their schema: TBLPROPERTIES ('{LITERAL}' = '…')"
            raise ConfigurationError(message, sqlstate="22023")
        return
    if format_name not in _ROW_FORMATS:
        raise UnsupportedError(f'values of a stream FROM KAFKA in the format "{format_name}"')
    if any(header_and_footer(properties)):
        raise UnsupportedError("header and footer lines of a stream FROM KAFKA")
    _ROW_FORMATS[format_name].check(schema, properties)


def _has_schema_id(properties: Properties) -> bool:
    return dict(properties).get(HAS_SCHEMA_ID, "").lower() == "true"


class _AfterSchemaIds:
    """Values after the five bytes that Confluent's serializers put first; the first of these is 0."""

    def __init__(self, reader: ValueReader) -> None:
        self._reader = reader

    def read(self, values: Array) -> pa.RecordBatch:
        # Without an end, Arrow's estimate of the memory overflows for an even number of values.
        rest = pc.binary_slice(values, _SCHEMA_ID_BYTES, _LONGEST_VALUE)
        return self._reader.read(pc.if_else(pc.starts_with(values, b"\0"), rest, values))


class _NoColumns:
    def __init__(self, metrics: ReadMetrics) -> None:
        self._metrics = metrics

    def read(self, values: Array) -> pa.RecordBatch:
        self._metrics.rows += len(values)
        return row_count_batch(len(values))


class _RawValues:
    """Unparsed value, in a column of bytes or text."""

    def __init__(self, wanted: Schema, metrics: ReadMetrics) -> None:
        self._wanted = wanted
        self._metrics = metrics

    def read(self, values: Array) -> pa.RecordBatch:
        self._metrics.rows += len(values)
        columns = [values if one.dtype == BINARY else valid_texts(values).cast(pa.string()) for one in self._wanted]
        return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(self._wanted))


class _Rows:
    """Rows in a text format."""

    def __init__(
        self, rows: RowFormat, schema: Schema, names: Sequence[str], properties: Properties, metrics: ReadMetrics
    ) -> None:
        self._schema = arrow_schema(schema.select(names))
        self._marked = metrics if metrics.marks is None else ReadMetrics(marks=[])
        self._reader = rows.reader(schema, names, properties, self._marked)
        self._metrics = metrics

    def read(self, values: Array) -> pa.RecordBatch:
        there = values.drop_null() if values.null_count else values
        if not len(there):
            self._metrics.rows += values.null_count
            columns: list[Array] = [pa.nulls(len(values), one.type) for one in self._schema]
            return pa.RecordBatch.from_arrays(columns, schema=self._schema)
        found = pa.Table.from_batches(list(self._reader.read_rows(there)), self._schema).combine_chunks()
        self._end_part(values)
        if found.num_rows != len(there):
            raise InternalError(f"{len(there)} values have become {found.num_rows} rows")
        (batch,) = found.to_batches()
        return batch if len(there) == len(values) else cast(Any, batch).take(_places(values))

    def _end_part(self, values: Array) -> None:
        """Count the rows without a value, and mark malformed rows by their position among all rows."""
        if self._marked is not self._metrics:
            there = pc.indices_nonzero(pc.is_valid(values)).to_numpy()
            for rows in self._marked.marks or ():
                self._metrics.mark(there[rows])
            for rows in self._marked.whole:
                self._metrics.mark(there[rows], is_whole=True)
            self._metrics.merge(self._marked)
            self._marked.clear()
        self._metrics.rows += values.null_count


def _places(values: Array) -> Array:
    """Index of each value among the values that are not NULL; NULL for a NULL."""
    is_there = pc.is_valid(values)
    numbers = pc.subtract(pc.cumulative_sum(is_there.cast(pa.int64())), 1)
    return pc.if_else(is_there, numbers, pa.scalar(None, pa.int64()))


class _AvroValues:
    """Avro records without a header, with the schema in the properties."""

    def __init__(self, wanted: Schema, properties: Properties, metrics: ReadMetrics) -> None:
        record = given_schema(properties)
        if record is None:
            raise InternalError("a stream of Avro values without a schema")
        self._records = AvroRecords(json.dumps(record), None, wanted, "the records of the stream")
        self._skipped = _SCHEMA_ID_BYTES if _has_schema_id(properties) else 0
        self._metrics = metrics

    def read(self, values: Array) -> pa.RecordBatch:
        batch, unreadable = self._records.of_values(values, self._skipped)
        self._metrics.malformed_lines += len(unreadable)
        self._metrics.mark(unreadable, is_whole=True)
        self._metrics.rows += len(values)
        return batch


def text_or_bytes(schema: Schema) -> bool:
    """True for a single column of text or bytes."""
    return len(schema) == 1 and schema.fields[0].dtype in (STRING, BINARY)
