"""LazyBinarySerDe: rows of a sequence file in Hive's binary encoding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from sharkpy.base.errors import UnsupportedError
from sharkpy.sources.arrow import Array, column_type
from sharkpy.sources.columns import row_count_batch
from sharkpy.sources.lazy_binary import decode_fields, encode_fields
from sharkpy.sources.line_chunks import LineLayout
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.rows.row_format import Properties
from sharkpy.values.types import Schema, arrow_schema


class LazyBinaryRows:
    def check(self, schema: Schema, properties: Properties) -> None:
        """Accept any columns; there are no properties."""

    def lines(self, properties: Properties) -> LineLayout:  # noqa: ARG002 - the protocol's signature
        raise UnsupportedError("the LazyBinarySerDe in text files, whose line ends may be part of its values")

    def reader(
        self,
        schema: Schema,
        names: Sequence[str],
        properties: Properties,  # noqa: ARG002 - the protocol's signature
        metrics: ReadMetrics,
    ) -> LazyBinaryReader:
        return LazyBinaryReader(schema, names, metrics)

    def encode(self, batch: pa.RecordBatch, schema: Schema, properties: Properties) -> Array:  # noqa: ARG002
        types = [field.dtype for field in schema]
        columns = [column.to_pylist() for column in batch.columns]
        return pa.array([encode_fields(row, types) for row in zip(*columns, strict=True)], pa.binary())


class LazyBinaryReader:
    def __init__(self, schema: Schema, names: Sequence[str], metrics: ReadMetrics) -> None:
        self._places = [schema.names.index(name) for name in names]
        self._wanted = schema.select(names)
        self._types = [field.dtype for field in schema.fields[: max(self._places, default=-1) + 1]]
        self._metrics = metrics

    def read_lines(self, data: bytes) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - the protocol's signature
        raise UnsupportedError("the LazyBinarySerDe in text files")

    def read_rows(self, rows: Array) -> Iterator[pa.RecordBatch]:
        if not self._places:
            self._metrics.rows += len(rows)
            yield row_count_batch(len(rows))
            return
        decoded = [self._fields(number, row) for number, row in enumerate(rows.to_pylist())]
        self._metrics.rows += len(rows)
        columns = [
            pa.array([row[place] for row in decoded], column_type(field.dtype))
            for place, field in zip(self._places, self._wanted, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=arrow_schema(self._wanted))

    def _fields(self, number: int, row: bytes) -> list[object]:
        try:
            return decode_fields(row, 0, len(row), self._types)
        except (IndexError, ValueError, OverflowError):
            self._metrics.malformed_lines += 1
            self._metrics.mark([number], is_whole=True)
            return [None] * len(self._types)
