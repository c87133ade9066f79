"""Columns of files that were written with other types than the table now declares, converted as in Hive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from sharkpy.sources.arrow import Array, column_type
from sharkpy.sources.columns import conform_column
from sharkpy.sources.text_write import hive_text
from sharkpy.values.nested_arrow import children_of, with_children
from sharkpy.values.types import ArrayType, DataType, MapType, Schema, StructType, arrow_schema, is_nested, is_string


def convert_columns(batches: Iterable[pa.RecordBatch], old: Schema, new: Schema) -> Iterator[pa.RecordBatch]:
    """Convert columns by position: missing ones are NULL, surplus ones are dropped."""
    target = arrow_schema(new)
    pairs = list(zip(old, new, strict=False))
    for batch in batches:
        columns = [convert(batch.column(i), was.dtype, now.dtype) for i, (was, now) in enumerate(pairs)]
        columns += [pa.nulls(batch.num_rows, field.type) for field in list(target)[len(pairs) :]]
        yield pa.RecordBatch.from_arrays(columns, schema=target)


def convert(array: Array, old: DataType, new: DataType) -> Array:
    """Convert values to another type; values that the new type cannot hold become NULL."""
    if old == new:
        return array
    match old, new:
        case ArrayType(was), ArrayType(now):
            return _nested(array, (was,), (now,), new)
        case MapType(), MapType():
            return _nested(array, (old.key, old.value), (new.key, new.value), new)
        case StructType(), StructType():
            return _nested(array, old.types, new.types, new)
    if is_nested(old) or is_nested(new):
        return pa.nulls(len(array), column_type(new))
    source = hive_text(array, old).cast(pa.string()) if is_string(new) and not is_string(old) else array
    column = conform_column(pa.chunked_array([source]), new)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _nested(array: Array, old: Sequence[DataType], new: Sequence[DataType], target: DataType) -> Array:
    """Convert the parts of nested values by position."""
    parts = children_of(array)
    children = [
        convert(parts[i], old[i], now) if i < len(parts) else pa.nulls(len(array), column_type(now))
        for i, now in enumerate(new)
    ]
    return with_children(array, children, column_type(target))
