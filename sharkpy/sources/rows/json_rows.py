"""JsonSerDe: each row is one JSON object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json

from sharkpy.base.errors import ConfigurationError
from sharkpy.base.time_zone import UTC, time_zone
from sharkpy.sources.arrow import Array, reader_of
from sharkpy.sources.column_conversion import batches_of, row_count_batch
from sharkpy.sources.json_values import JsonReader, json_rows
from sharkpy.sources.line_chunks import LineLayout, with_newlines
from sharkpy.sources.rows.row_format import Properties
from sharkpy.sources.source import ReadMetrics
from sharkpy.sources.text_format import TextFormat, header_and_footer, timestamp_formats
from sharkpy.values.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    ArrayType,
    DataType,
    Schema,
    arrow_schema,
)
from sharkpy.values.utf8 import valid_utf8

_QUICK_TYPES: tuple[DataType, ...] = (BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING)


Places = np.ndarray[Any, np.dtype[np.int32]]
_SMALL_BYTES = 1 << 15
"""Fewer bytes than this are not worth loading the compiled loops."""


class JsonRows:
    """Keys match in any case. A row that is not an object becomes a row of NULLs, and is counted.

    Compiled loops read plain objects. Arrow reads small chunks and arrays, if it reads them in the same way. All other
    rows are read one by one.
    """

    def check(self, schema: Schema, properties: Properties) -> None:  # noqa: ARG002 - any columns
        header_and_footer(properties)
        _times(properties).check_times()

    def lines(self, properties: Properties) -> LineLayout:
        return LineLayout(b"\n", *header_and_footer(properties), skips_blanks=True)

    def reader(
        self, schema: Schema, names: Sequence[str], properties: Properties, metrics: ReadMetrics
    ) -> JsonRowReader:
        return JsonRowReader(schema.select(names), metrics, _times(properties))

    def encode(self, batch: pa.RecordBatch, schema: Schema, properties: Properties) -> Array:  # noqa: ARG002
        return json_rows(batch, schema)


def _times(properties: Properties) -> TextFormat:
    """Form of times, and the zone to which times with a zone are converted."""
    zone = dict(properties).get("timeZone", UTC)
    if time_zone(zone) is None:
        raise ConfigurationError(f'"{zone}" is not a value of timeZone: no such zone is known', sqlstate="22023")
    return TextFormat(timestamp_formats=timestamp_formats(properties), time_zone=zone)


class JsonRowReader:
    def __init__(self, schema: Schema, metrics: ReadMetrics, layout: TextFormat) -> None:
        self.schema = schema
        self.metrics = metrics
        self._layout = layout

    def read_lines(self, data: bytes) -> Iterator[pa.RecordBatch]:
        yield from self._batches(self._table(with_newlines(data)))

    def read_rows(self, rows: Array) -> Iterator[pa.RecordBatch]:
        if rows.null_count == 0 and rows.nbytes >= _SMALL_BYTES and self._is_cut():
            from sharkpy.sources.cut_json import cut_rows_of

            yield from self._batches(cut_rows_of(rows, self.schema, self.metrics, self._layout))
            return
        texts = [(row or b"").decode("utf-8", "replace") for row in rows.to_pylist()]
        yield from self._batches(JsonReader(self.schema, self.metrics, self._layout).read(texts))

    def read_parts(self, data: bytes, starts: Places, ends: Places) -> Iterator[pa.RecordBatch]:
        """Read the rows at these offsets of `data`."""
        if self._is_cut():
            from sharkpy.sources.cut_json import cut_parts_of

            yield from self._batches(cut_parts_of(data, starts, ends, self.schema, self.metrics, self._layout))
            return
        texts = [data[start:end].decode("utf-8", "replace") for start, end in zip(starts, ends, strict=True)]
        yield from self._batches(JsonReader(self.schema, self.metrics, self._layout).read(texts))

    def _table(self, data: bytes) -> pa.Table:
        if len(data) >= _SMALL_BYTES and self._is_cut():
            from sharkpy.sources.cut_json import cut_lines_of

            return cut_lines_of(data, self.schema, self.metrics, self._layout)
        data = valid_utf8(data)
        table = _by_arrow(data, self.schema) if len(self.schema) else None
        if table is not None:
            return table
        lines = data.decode().removesuffix("\n").split("\n")
        return JsonReader(self.schema, self.metrics, self._layout).read(lines)

    def _is_cut(self) -> bool:
        from sharkpy.sources.cut_json import can_cut

        return can_cut(self.schema)

    def _batches(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        self.metrics.rows += table.num_rows
        if len(self.schema):
            yield from batches_of(table)
        else:
            yield row_count_batch(table.num_rows)


def _by_arrow(chunk: bytes, schema: Schema) -> pa.Table | None:
    """Rows read by Arrow; None if its reader could differ from Hive's rules."""
    if not all(_is_quick(field.dtype) for field in schema) or b"\r" in chunk:
        return None
    try:
        parsed = pa.json.read_json(
            reader_of(chunk),
            read_options=pa.json.ReadOptions(block_size=max(len(chunk), 1), use_threads=False),
            parse_options=pa.json.ParseOptions(explicit_schema=arrow_schema(schema), unexpected_field_behavior="infer"),
        )
    except pa.ArrowException:
        return None
    others = {name.lower() for name in parsed.column_names if name not in schema.names}
    lines = chunk.count(b"\n") + (not chunk.endswith(b"\n"))
    if others & set(schema.names) or parsed.num_rows != lines:
        return None
    return parsed.select(list(schema.names)).cast(arrow_schema(schema))


def _is_quick(dtype: DataType) -> bool:
    return dtype in _QUICK_TYPES or (isinstance(dtype, ArrayType) and _is_quick(dtype.element))
