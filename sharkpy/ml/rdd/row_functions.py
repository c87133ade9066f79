"""Functions of a TableRDD's tasks: from the frames of a query's last stage to rows, pairs, batches.

Workers import this file for the functions. It imports only modules that tasks have already: no planner, no SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sharkpy.ml.rdd.rows import Row, rows_of
from sharkpy.values.nested_arrow import cast_column
from sharkpy.values.python_values import typed_values
from sharkpy.values.types import Schema

Batches = Callable[[int, Iterable[bytes]], Iterator[pa.RecordBatch]]
"""Function from a partition's number and its frames to the batches of the query's rows."""


@dataclass(frozen=True, slots=True)
class RowFunction:
    """Function from a task's frames to its rows."""

    batches: Batches
    schema: Schema

    def __call__(self, partition: int, frames: Iterable[bytes]) -> Iterator[Row]:
        return rows_of(self.batches(partition, frames), self.schema)


@dataclass(frozen=True, slots=True)
class KeyedRowFunction:
    """Function from a task's frames to its rows, each after its values of the columns `keys`."""

    batches: Batches
    schema: Schema
    keys: tuple[int, ...]

    def __call__(self, partition: int, frames: Iterable[bytes]) -> Iterator[tuple[Any, Row]]:
        types = [field.dtype for field in self.schema]
        for batch in self.batches(partition, frames):
            parts = [typed_values(batch.column(key), types[key]) for key in self.keys]
            keys = parts[0] if len(parts) == 1 else zip(*parts, strict=True)
            yield from zip(keys, rows_of([batch], self.schema), strict=True)


@dataclass(frozen=True, slots=True)
class BatchFunction:
    """Function from a task's frames to its batches, under the query's names."""

    batches: Batches
    schema: pa.Schema

    def __call__(self, partition: int, frames: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
        for batch in self.batches(partition, frames):
            if batch.num_rows:
                yield named(batch, self.schema)


@dataclass(frozen=True, slots=True)
class EachBatch:
    """Function that applies f to each batch."""

    f: Callable[[pa.RecordBatch], Any]

    def __call__(self, _: int, batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
        return map(self.f, batches)


def named(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    if not schema.names:
        return batch
    columns = [cast_column(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def num_rows(batch: pa.RecordBatch) -> int:
    return int(batch.num_rows)
