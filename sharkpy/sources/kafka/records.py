"""Records of a topic as rows: columns of their values, and columns about the record itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sharkpy.catalog.kafka_options import TOPIC, ZONE
from sharkpy.catalog.system_tables import HEADERS, KEY, OFFSET, PARTITION, RECORD_COLUMNS, TIME
from sharkpy.sources.arrow import Array, column_type, pc
from sharkpy.sources.kafka.client import consumer
from sharkpy.sources.kafka.fetch import Fetch
from sharkpy.sources.kafka.ranges import NAME, ranges_of
from sharkpy.sources.kafka.values import ValueReader, value_reader
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.split import Split
from sharkpy.sources.without_files import WithoutFiles
from sharkpy.values.types import BIGINT, Field, Schema, arrow_schema

if TYPE_CHECKING:
    from confluent_kafka import Message

VALUE_FORMAT = "kafka.value.format"


class KafkaRecords(WithoutFiles):
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
