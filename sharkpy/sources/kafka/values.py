"""Values of records as columns, in the format of the stream."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol, cast

import pyarrow as pa

from sharkpy.base.errors import ConfigurationError, InternalError, UnsupportedError
from sharkpy.catalog.avro_schema import LITERAL, given_schema
from sharkpy.catalog.kafka_options import HAS_SCHEMA_ID, RAW
from sharkpy.sources.arrow import Array, pc
from sharkpy.sources.avro_records import AvroRecords
from sharkpy.sources.columns import row_count_batch
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.rows.csv_rows import CsvRows
from sharkpy.sources.rows.delimited import DelimitedRows
from sharkpy.sources.rows.json_rows import JsonRows
from sharkpy.sources.rows.multi_delimited import MultiDelimitedRows
from sharkpy.sources.rows.regex_rows import RegexRows
from sharkpy.sources.rows.row_format import RowFormat
from sharkpy.sources.source import Properties
from sharkpy.sources.text_format import header_and_footer
from sharkpy.values.types import BINARY, STRING, Schema, arrow_schema
from sharkpy.values.utf8 import valid_texts

AVRO = "avro"
_ROW_FORMATS: dict[str, RowFormat] = {
    "text": DelimitedRows(),
    "json": JsonRows(),
    "csv": CsvRows(),
    "regex": RegexRows(),
    "multidelimit": MultiDelimitedRows(),
}
_SCHEMA_ID_BYTES = 5


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
    return _BehindSchemaIds(reader) if _has_schema_id(properties) else reader


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


class _BehindSchemaIds:
    """Values after the five bytes that Confluent's serializers put first; the first of these is 0."""

    def __init__(self, reader: ValueReader) -> None:
        self._reader = reader

    def read(self, values: Array) -> pa.RecordBatch:
        behind = pc.if_else(pc.starts_with(values, b"\0"), pc.binary_slice(values, _SCHEMA_ID_BYTES), values)
        return self._reader.read(behind)


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
