"""Rows of a split, with the columns that are not in files: constants of its Hive partition, and virtual columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from sharkpy.base import uri
from sharkpy.catalog.hive_partition import partition_values
from sharkpy.catalog.json_rows import partition_format_from_text
from sharkpy.catalog.system_tables import BLOCK_OFFSET, FILE_NAME
from sharkpy.sources.arrow import Array
from sharkpy.sources.bad_rows.judged import BAD_ROWS, COUNTED, SKIPPED, read_counted, read_good
from sharkpy.sources.convert import convert_columns
from sharkpy.sources.failures import no_places
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.parquet import ParquetSource
from sharkpy.sources.partition_values import single_value
from sharkpy.sources.registry import source
from sharkpy.sources.source import PlacedSource
from sharkpy.sources.split import Split
from sharkpy.values.types import STRING, DataType, Schema, arrow_schema

_VIRTUAL = (FILE_NAME, BLOCK_OFFSET)
_JUDGED = {COUNTED: read_counted, SKIPPED: read_good}


def read_split(
    split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics | None = None
) -> Iterator[pa.RecordBatch]:
    """Read a split in its format. A value that does not fit its column's type is NULL, as in Hive."""
    judged = _JUDGED.get(dict(split.properties).get(BAD_ROWS, ""))
    if judged is None:
        yield from _read(split, schema, names, metrics)
    else:
        yield from judged(split, schema, names, metrics or ReadMetrics(), _read)


def _read(
    split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics | None = None
) -> Iterator[pa.RecordBatch]:
    virtual = frozenset(schema.names[-2:]).intersection(_VIRTUAL)
    if not split.partition and not split.form and not virtual:
        yield from source(split.format).read(split, schema, names, metrics)
        return
    values = partition_values(split.partition)
    in_files = Schema(tuple(field for field in schema if field.name not in values and field.name not in virtual))
    constants = {name: single_value(values[name], schema[name].dtype) for name in names if name in values}
    if FILE_NAME in virtual:
        constants[FILE_NAME] = pa.array([uri.as_uri(split.path)])
    stored = [name for name in names if name not in values and name not in virtual]
    target = arrow_schema(schema.select(names))
    read = _read_placed if BLOCK_OFFSET in virtual and BLOCK_OFFSET in names else _read_unplaced
    for batch, places in read(split, in_files, stored, metrics or ReadMetrics()):
        columns: dict[str, Array] = dict(zip(stored, batch.columns, strict=False))
        columns |= {name: repeated(constant, batch.num_rows) for name, constant in constants.items()}
        if places is not None:
            columns[BLOCK_OFFSET] = places
        filled = [columns[name] for name in names]
        yield pa.RecordBatch.from_arrays(filled, schema=target) if names else batch


def _read_unplaced(
    split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics
) -> Iterator[tuple[pa.RecordBatch, Array | None]]:
    """Columns `names` of `schema`. In files that were written with other columns they are matched by position."""
    reader = source(split.format)
    written = partition_format_from_text(split.form)[1]
    if written is None:
        yield from ((batch, None) for batch in reader.read(split, schema, names, metrics))
        return
    there = _written_columns(written, schema, names)
    for batch in _converted(reader.read(split, written, there.names, metrics), there, schema, names):
        yield batch, None


def _read_placed(
    split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics
) -> Iterator[tuple[pa.RecordBatch, Array | None]]:
    """Read with BLOCK__OFFSET__INSIDE__FILE; UnsupportedError if the format has no offsets of rows."""
    reader = source(split.format)
    if not isinstance(reader, PlacedSource):
        raise no_places(split.path, split.format)
    written = partition_format_from_text(split.form)[1]
    there = schema.select(names) if written is None else _written_columns(written, schema, names)
    for batch, places in reader.read_placed(split, written or schema, there.names, metrics):
        (whole,) = [batch] if written is None else _converted([batch], there, schema, names)
        yield whole, pa.array(places, pa.int64())


def _written_columns(written: Schema, schema: Schema, names: Sequence[str]) -> Schema:
    """The files' columns for `names`, as far as they have them, in the table's order."""
    place_of = {name: place for place, name in enumerate(schema.names)}
    places = sorted(place_of[name] for name in names)
    return Schema(tuple(written.fields[place] for place in places if place < len(written)))


def _converted(
    batches: Iterable[pa.RecordBatch], there: Schema, schema: Schema, names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    if not names:
        yield from batches
        return
    place_of = {name: place for place, name in enumerate(schema.names)}
    order = sorted(names, key=place_of.__getitem__)
    for batch in convert_columns(batches, there, schema.select(order)):
        yield batch.select(list(names))


def read_split_coded(split: Split, schema: Schema, metrics: ReadMetrics) -> Iterator[pa.Table]:
    """All columns for encoding, in pieces. Strings with few distinct values may be Arrow dictionaries."""
    reader = source(split.format)
    if not isinstance(reader, ParquetSource) or split.form:
        for batch in read_split(split, schema, schema.names, metrics):
            yield pa.Table.from_batches([batch])
        return
    values = partition_values(split.partition)
    in_files = Schema(tuple(field for field in schema if field.name not in values))
    table = reader.read_coded(split, in_files, metrics)
    for name in schema.names:
        if name in values:
            dtype = schema[name].dtype
            constant = single_value(values[name], dtype)
            table = table.append_column(name, coded(constant, dtype, table.num_rows))
    yield table


def repeated(value: Array, num_rows: int) -> Array:
    return pa.repeat(value[0], num_rows)


def coded(value: Array, dtype: DataType, num_rows: int) -> Array:
    """Array with one value for all rows; a string is a dictionary with one entry."""
    if dtype != STRING or value.null_count or not num_rows:
        return repeated(value, num_rows)
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), num_rows), value)
