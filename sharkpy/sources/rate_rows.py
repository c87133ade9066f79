"""Rows of a stream FROM RATE: row n has the number n, and the time at which it arrives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from sharkpy.catalog.stream_kinds import ROWS_PER_SECOND, START_MS
from sharkpy.sources.arrow import Array, pc
from sharkpy.sources.column_conversion import row_count_batch
from sharkpy.sources.source import Properties, ReadMetrics, Split, StreamFormat
from sharkpy.values.types import BIGINT, TIMESTAMP, Schema

NAME = "rate"
ZONE = "zone"
_BATCH_ROWS = 1 << 16
_ROW_BYTES = 16


class RateRows(StreamFormat):
    """Rows of a split, numbered by the split's range. A BIGINT column is the number, a TIMESTAMP the time in the
    stream's zone.
    """

    name = NAME

    def read(
        self, split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics | None = None
    ) -> Iterator[pa.RecordBatch]:
        end = split.start + split.length
        for start in range(split.start, end, _BATCH_ROWS):
            numbers = np.arange(start, min(start + _BATCH_ROWS, end), dtype=np.int64)
            if metrics is not None:
                metrics.rows += len(numbers)
            columns = [_column(schema, name, numbers, split.properties) for name in names]
            yield pa.RecordBatch.from_arrays(columns, list(names)) if names else row_count_batch(len(numbers))


def row_splits(start: int, end: int, properties: Properties, split_rows: int) -> list[Split]:
    """Splits of the rows from `start` up to, but not including, `end`."""
    places = range(start, end, split_rows)
    return [_split(place, min(split_rows, end - place), properties) for place in places]


def _split(start: int, num_rows: int, properties: Properties) -> Split:
    return Split(f"{NAME}:{start}", NAME, properties, start, num_rows, num_rows * _ROW_BYTES, 0, num_rows)


def _column(schema: Schema, name: str, numbers: np.ndarray, properties: Properties) -> Array:
    if schema[name].dtype == BIGINT:
        return pa.array(numbers)
    assert schema[name].dtype == TIMESTAMP  # streams FROM RATE have no other columns
    values = dict(properties)
    rate, start = int(values[ROWS_PER_SECOND]), int(values[START_MS]) * 1000
    # Quotient and remainder separately: the number times a million might overflow.
    moments = start + numbers // rate * 1_000_000 + numbers % rate * 1_000_000 // rate
    return pc.local_timestamp(pa.array(moments).cast(pa.timestamp("us", values[ZONE])))
