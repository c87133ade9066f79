"""Rows as records of a topic: columns for parts of the record, and all other columns in its value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sharkpy.base.errors import BindError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.avro_schema import given_schema, record_of
from sharkpy.catalog.kafka_options import RAW
from sharkpy.catalog.system_tables import HEADERS, KEY, OFFSET, PARTITION, TIME
from sharkpy.sources.arrow import Array, pc
from sharkpy.sources.avro_encoder import written_records
from sharkpy.sources.kafka.records import AVRO
from sharkpy.sources.rows.csv_and_regex import CsvRows
from sharkpy.sources.rows.delimited import DelimitedRows, MultiDelimitedRows
from sharkpy.sources.rows.json_rows import JsonRows
from sharkpy.sources.text_format import header_and_footer
from sharkpy.values.types import BINARY, INTEGER_TYPES, STRING, TIMESTAMP, DataType, MapType, Schema, is_string

if TYPE_CHECKING:
    from sharkpy.catalog.model import StorageFormat
    from sharkpy.sources.rows.row_format import RowFormat

VALUE = "__value"
_ROW_FORMATS: dict[str, RowFormat] = {
    "text": DelimitedRows(is_lined=False),
    "json": JsonRows(),
    "csv": CsvRows(),
    "multidelimit": MultiDelimitedRows(),
}
_FITS: dict[str, tuple[Callable[[DataType], bool], str]] = {
    VALUE: (lambda dtype: is_string(dtype) or dtype == BINARY, "STRING or BINARY"),
    KEY: (lambda dtype: is_string(dtype) or dtype == BINARY, "STRING or BINARY"),
    PARTITION: (lambda dtype: dtype in INTEGER_TYPES, "INT"),
    TIME: (lambda dtype: dtype == TIMESTAMP, "TIMESTAMP"),
    HEADERS: (
        lambda dtype: dtype in (MapType(STRING, STRING), MapType(STRING, BINARY)),
        "MAP<STRING,BINARY> or MAP<STRING,STRING>",
    ),
}
"""Columns for parts of a record, with the types that they may have."""
_ANY_PARTITION, _NOW = -1, 0


@dataclass(frozen=True, slots=True)
class Records:
    """Records in the form that the client takes. None: without that part."""

    values: list[bytes | None]
    keys: list[bytes | None] | None = None
    partitions: list[int] | None = None
    milliseconds: list[int] | None = None
    headers: list[list[tuple[str, bytes | None]] | None] | None = None

    def arguments(self) -> Iterator[tuple[Any, ...]]:
        """Arguments of the client's `produce` for each record, after the topic. Only the needed ones, since each costs
        time.
        """
        if self.milliseconds is None and self.headers is None and self.partitions is None:
            return zip(self.values) if self.keys is None else zip(self.values, self.keys, strict=True)
        keys, partitions = self.keys or repeat(None), self.partitions or repeat(_ANY_PARTITION)
        milliseconds, headers = self.milliseconds or repeat(_NOW), self.headers or repeat(None)
        # The two arguments in between are callbacks, which are not used.
        return zip(self.values, keys, partitions, repeat(None), repeat(None), milliseconds, headers, strict=False)


def value_columns(schema: Schema) -> Schema:
    """Columns of a sink that are in the values of its records; BindError for columns that records cannot have."""
    for field in schema:
        if field.name == OFFSET:
            message = f'"{OFFSET}" cannot be written: the broker gives offsets'
            raise BindError(message, hint="SELECT it under another name", sqlstate="42601")
        if field.name in _FITS and not _FITS[field.name][0](field.dtype):
            message = f'the column "{field.name}" of a sink TO KAFKA cannot be {field.dtype}'
            raise BindError(message, hint=f"CAST it to {_FITS[field.name][1]}", sqlstate="42804")
    found = Schema(tuple(field for field in schema if field.name not in _FITS))
    if VALUE in schema.names:
        if len(found):
            message = (
                f'the column "{found.fields[0].name}" of a sink TO KAFKA beside "{VALUE}", which is the whole value'
            )
            raise BindError(message, sqlstate="42601")
        return schema.select([VALUE])
    if not len(found):
        raise BindError("the records of a sink TO KAFKA need a column for their value", sqlstate="42601")
    return found


def check_value_format(storage: StorageFormat, values: Schema) -> None:
    """Raise UnsupportedError or ConfigurationError if values cannot be written in a format."""
    if storage.name == RAW:
        return
    if values.names == (VALUE,):
        raise UnsupportedError(f'a format together with "{VALUE}", which is the whole value')
    if storage.name == AVRO:
        if given_schema(storage.properties) is None:
            record_of(values)
        return
    if storage.name not in _ROW_FORMATS:
        raise UnsupportedError(f'values of a sink TO KAFKA in the format "{storage.name}"')
    if any(header_and_footer(storage.properties)):
        raise UnsupportedError("header and footer lines of a sink TO KAFKA")
    _ROW_FORMATS[storage.name].check(values, storage.properties)


class RecordEncoder:
    """Encoder of the rows of a sink with the columns of `schema`, with times in the time zone `zone`."""

    def __init__(self, schema: Schema, storage: StorageFormat, zone: str) -> None:
        self._schema = schema
        self._values = value_columns(schema)
        self._storage = storage
        self._zone = zone

    def records(self, batch: pa.RecordBatch) -> Records:
        columns = dict(zip(self._schema.names, batch.columns, strict=True))
        return Records(
            self._encoded(batch.select(list(self._values.names))),
            _bytes(columns[KEY]) if KEY in columns else None,
            _numbers(columns[PARTITION], _ANY_PARTITION) if PARTITION in columns else None,
            self._times(columns[TIME]) if TIME in columns else None,
            _headers(columns[HEADERS]) if HEADERS in columns else None,
        )

    def _encoded(self, batch: pa.RecordBatch) -> list[bytes | None]:
        storage = self._storage
        if storage.name == RAW:
            return _bytes(batch.column(0))
        if storage.name == AVRO:
            return list(written_records(self._values, storage.properties).values(batch))
        return _bytes(_ROW_FORMATS[storage.name].encode(batch, self._values, storage.properties))

    def _times(self, column: Array) -> list[int]:
        """Milliseconds since 1970. If a local time occurs twice, the earlier one is taken."""
        moments = pc.assume_timezone(column, self._zone, ambiguous="earliest", nonexistent="latest")
        return _numbers(pc.floor_temporal(moments, unit="millisecond").cast(pa.timestamp("ms", self._zone)), _NOW)


def _bytes(column: Array) -> list[bytes | None]:
    found: list[bytes | None] = (column if pa.types.is_binary(column.type) else column.cast(pa.binary())).to_pylist()
    return found


def _numbers(column: Array, missing: int) -> list[int]:
    found: list[int] = pc.fill_null(column.cast(pa.int64()), missing).to_pylist()
    return found


def _headers(column: Array) -> list[list[tuple[str, bytes | None]] | None]:
    maps: Sequence[list[tuple[str, str | bytes | None]] | None] = column.to_pylist()
    return [None if one is None else [(name, _header(value)) for name, value in one] for one in maps]


def _header(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
