"""Rows as records of Avro, encoded in a separate process: fastavro cannot be cancelled within a large value."""

from __future__ import annotations

import datetime
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from sharkpy.base import subprocess_call
from sharkpy.base.errors import ConfigurationError, SourceError
from sharkpy.base.records import dataclass
from sharkpy.base.subprocess_call import BrokenCallError
from sharkpy.catalog.avro_schema import AvroType, field_types, given_schema, json_of, record_of
from sharkpy.sources.avro_decoder import batch_of, message_of
from sharkpy.sources.source import Properties
from sharkpy.values.types import ArrayType, DataType, MapType, Schema, StructType

_CALL_BYTES = 16 << 20
"""Bytes of rows that are encoded in one call; more only if a single row is larger."""


@dataclass(frozen=True, slots=True)
class WrittenRecords:
    """Records of rows with the `columns`, in the schema `record`, a JSON text."""

    record: str
    columns: Schema

    def header(self, codec: str, sync: bytes) -> bytes:
        """Header of a container file."""
        (header,) = self._call("encode_header", codec, sync)
        return header

    def blocks(self, batch: pa.RecordBatch, codec: str, sync: bytes) -> Iterator[bytes]:
        """Blocks of a container file."""
        for part in _parts(batch):
            yield from self._call("encode_blocks", message_of(part), codec, sync)

    def values(self, batch: pa.RecordBatch) -> Iterator[bytes]:
        """Each row as a separate record without a header."""
        for part in _parts(batch):
            yield from self._call("encode_values", message_of(part))

    def _call(self, name: str, *arguments: object) -> list[bytes]:
        try:
            return subprocess_call.call(f"{__name__}:{name}", self, *arguments)
        except BrokenCallError as error:
            raise SourceError(f"rows cannot be written as Avro: {error}") from None


def written_records(schema: Schema, properties: Properties) -> WrittenRecords:
    """Records in the schema of the properties, or else in one made from the columns."""
    return WrittenRecords(json.dumps(given_schema(properties) or record_of(schema)), schema)


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    num_rows = max(1, batch.num_rows * _CALL_BYTES // max(_CALL_BYTES, batch.nbytes))
    return (batch.slice(start, num_rows) for start in range(0, batch.num_rows, num_rows))


def encode_header(written: WrittenRecords, codec: str, sync: bytes) -> list[bytes]:
    """`WrittenRecords.header`, in this process."""
    target, _ = _writer(written, codec, sync)
    return [target.getvalue()]


def encode_blocks(written: WrittenRecords, message: bytes, codec: str, sync: bytes) -> list[bytes]:
    """`WrittenRecords.blocks`, in this process."""
    target, writer = _writer(written, codec, sync)
    num_bytes = len(target.getvalue())
    for record in _records(written, message):
        writer.write(record)
    writer.flush()
    return [target.getvalue()[num_bytes:]]


def _writer(written: WrittenRecords, codec: str, sync: bytes) -> tuple[io.BytesIO, Any]:
    import fastavro

    target = io.BytesIO()
    return target, fastavro.write.Writer(target, json_of(written.record), codec=codec, sync_marker=sync)


def encode_values(written: WrittenRecords, message: bytes) -> list[bytes]:
    """`WrittenRecords.values`, in this process."""
    import fastavro

    schema, found = fastavro.parse_schema(json_of(written.record)), list[bytes]()
    for record in _records(written, message):
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, schema, record)
        found.append(stream.getvalue())
    return found


def _records(written: WrittenRecords, message: bytes) -> Iterator[dict[str, Any]]:
    batch, types = batch_of(message), tuple(field.dtype for field in written.columns)
    places = _places(field_types(json_of(written.record)))
    columns: Sequence[Sequence[Any]] = [column.to_pylist() for column in batch.columns]
    for values in zip(*columns, strict=True):
        yield _written_record(zip(written.columns.names, values, types, strict=True), places)


def _written(value: Any, dtype: DataType, avro: AvroType) -> Any:
    """A value in fastavro's form, with the schema's own names of fields: for other names it would write NULL."""
    match value, dtype:
        case None, _:
            return None
        case datetime.datetime(), _:
            return value.replace(tzinfo=datetime.UTC)
        case list(), MapType(_, item_type):
            return {key: _written(item, item_type, avro.parts[0]) for key, item in value}
        case list(), ArrayType(element):
            return [_written(item, element, avro.parts[0]) for item in value]
        case Mapping(), StructType(names, types):
            places = _places(dict(zip(avro.names, avro.parts, strict=True)))
            return _written_record(((name, value[name], one) for name, one in zip(names, types, strict=True)), places)
    return value


def _places(types: Mapping[str, AvroType]) -> dict[str, tuple[str, AvroType]]:
    """Names and types of fields, by their lower-case names."""
    return {name.lower(): (name, one) for name, one in types.items()}


def _written_record(
    fields: Iterable[tuple[str, Any, DataType]], places: Mapping[str, tuple[str, AvroType]]
) -> dict[str, Any]:
    """Record with the schema's names; ConfigurationError for a value in a field that the schema does not have."""
    record: dict[str, Any] = {}
    for name, value, dtype in fields:
        if name.lower() in places:
            written, avro = places[name.lower()]
            record[written] = _written(value, dtype, avro)
        elif value is not None:
            hint = "add the field to avro.schema.literal or avro.schema.url"
            raise ConfigurationError(f'the Avro schema of the table has no field "{name}"', hint=hint, sqlstate="22023")
    return record
