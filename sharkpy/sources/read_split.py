"""The rows of a split with its Hive partition's values: constant columns that no file has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from sharkpy.catalog.hive_partition import partition_values
from sharkpy.sources.arrow import Array
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.parquet import ParquetSource
from sharkpy.sources.partition_values import value_array
from sharkpy.sources.registry import source
from sharkpy.sources.split import Split
from sharkpy.types import STRING, DataType, Schema, arrow_schema


def read_split(
    split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics | None = None
) -> Iterator[pa.RecordBatch]:
    """As `Source.read`; a value that its column's type does not have is NULL, as in Hive."""
    reader = source(split.format)
    if not split.partition:
        yield from reader.read(split, schema, names, metrics)
        return
    values = partition_values(split.partition)
    in_files = Schema(tuple(field for field in schema if field.name not in values))
    constants = {name: value_array([values[name]], schema[name].dtype) for name in names if name in values}
    stored = [name for name in names if name not in values]
    target = arrow_schema(schema.select(names))
    for batch in reader.read(split, in_files, stored, metrics):
        columns = iter(batch.columns)
        filled = [repeated(constants[n], batch.num_rows) if n in constants else next(columns) for n in names]
        yield pa.RecordBatch.from_arrays(filled, schema=target) if names else batch


def read_split_coded(split: Split, schema: Schema, metrics: ReadMetrics) -> Iterator[pa.Table]:
    """All columns for encoding: in pieces; strings of few values may be Arrow dictionaries."""
    reader = source(split.format)
    if not isinstance(reader, ParquetSource):
        for batch in read_split(split, schema, schema.names, metrics):
            yield pa.Table.from_batches([batch])
        return
    values = partition_values(split.partition)
    in_files = Schema(tuple(field for field in schema if field.name not in values))
    table = reader.read_coded(split, in_files, metrics)
    for name in schema.names:
        if name in values:
            dtype = schema[name].dtype
            constant = value_array([values[name]], dtype)
            table = table.append_column(name, coded(constant, dtype, table.num_rows))
    yield table


def repeated(value: Array, num_rows: int) -> Array:
    return pa.repeat(value[0], num_rows)


def coded(value: Array, dtype: DataType, num_rows: int) -> Array:
    """As `repeated`, a string as a dictionary of itself alone."""
    if dtype != STRING or value.null_count or not num_rows:
        return repeated(value, num_rows)
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), num_rows), value)
