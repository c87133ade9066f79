"""Conversion of columns that were read from files to the columns that the table declares, as in Hive.

`conform` is for files that name their columns. `convert_columns` is for files of a Hive partition that was made before
the table's columns were changed; these are matched by position.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

import pyarrow as pa

from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.sources.arrow import Array, ChunkedArray, column_type, pc
from sharkpy.sources.file_types import plain_column
from sharkpy.sources.lenient_conversion import fitted_texts, lenient
from sharkpy.sources.source import BATCH_ROWS
from sharkpy.sources.text_write import hive_text
from sharkpy.values.nested_arrow import children_of, is_list, with_children
from sharkpy.values.types import (
    INTEGER_TYPES,
    NULL,
    ArrayType,
    CharType,
    DataType,
    DecimalType,
    MapType,
    Schema,
    StructType,
    VarcharType,
    arrow_schema,
    from_arrow,
    is_nested,
    is_string,
)
from sharkpy.values.utf8 import is_text, valid_column, valid_texts


def batches_of(table: pa.Table, max_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
    if table.num_rows:
        yield from table.combine_chunks().to_batches(max_chunksize=max_rows)


def row_count_batch(num_rows: int) -> pa.RecordBatch:
    """A batch without columns that still has a number of rows."""
    row: Array = pa.array([{}], pa.struct([]))
    return pa.RecordBatch.from_struct_array(row.take(pa.repeat(0, num_rows)))


def file_columns(file_names: Sequence[str], schema: Schema, names: Sequence[str], path: str = "") -> dict[str, str]:
    """The file's column for each of `names` that it has, ignoring case. SourceError if it has two.

    Files by old Hive versions name their columns _col0, _col1, …: those are matched by position.
    """
    if file_names and all(name == f"_col{index}" for index, name in enumerate(file_names)):
        return {name: f"_col{i}" for i, name in enumerate(schema.names) if name in names and i < len(file_names)}
    lowered = {name.lower(): name for name in file_names}
    if len(lowered) < len(file_names):
        counts = Counter(name.lower() for name in file_names)
        if (twice := next((name for name in names if counts[name] > 1), None)) is not None:
            raise SourceError(f'"{path}" has two columns "{twice}", whose names differ only by case, if at all')
    return {name: lowered[name] for name in names if name in lowered}


def conform(
    table: pa.Table,
    found: dict[str, str],
    schema: Schema,
    names: Sequence[str],
    path: str,
    coded: Collection[str] = (),
) -> pa.Table:
    """Columns `names` of `schema` from a file's `table`; NULL if the file lacks one.

    Columns in `coded` may stay dictionaries of strings.
    """
    columns = []
    for name in names:
        dtype = schema[name].dtype
        if name not in found:
            columns.append(pa.nulls(table.num_rows, column_type(dtype)))
            continue
        if found[name] not in table.column_names:
            raise SourceError(f'column "{name}" of "{path}" is a struct without fields, which has no values')
        column = table.column(found[name])
        if name in coded and pa.types.is_dictionary(column.type):
            columns.append(valid_column(column))
            continue
        try:
            columns.append(conform_column(column, dtype))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            raise SourceError(f'column "{name}" of "{path}" is {column.type} and cannot be read as {dtype}') from None
    if not coded:
        return pa.table(columns, schema=arrow_schema(schema.select(names)))
    return pa.table(columns, names=list(names))


def conform_column(column: ChunkedArray, dtype: DataType) -> ChunkedArray:
    """Convert `column` to the Arrow type of `dtype`. Values that do not fit become NULL if they do in Hive. Invalid
    UTF-8 in texts is replaced.
    """
    target = column_type(dtype)
    column = plain_column(column, is_string_wanted=is_string(dtype))
    if not pa.types.is_binary(target):
        column = valid_column(column)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if is_string(dtype) and _is_bytes(column.type):
        column = pa.chunked_array([valid_texts(chunk.cast(pa.binary())) for chunk in column.chunks], pa.binary())
    elif is_string(dtype) and not is_text(column.type):
        column = _as_text(column)
    if isinstance(dtype, (VarcharType, CharType)):
        return fitted_texts(column.cast(target), dtype)
    if column.type == target and not _has_length(dtype):
        return column
    if pa.types.is_timestamp(column.type) and pa.types.is_timestamp(target):
        return _timestamps(column)
    if isinstance(dtype, (ArrayType, MapType, StructType)):
        return pa.chunked_array([_nested(chunk, dtype) for chunk in column.chunks], target)
    if is_text(column.type) and not is_string(dtype) and not pa.types.is_binary(target):
        text = column.cast(pa.string())
        return pa.chunked_array([lenient(chunk, dtype) for chunk in text.chunks], target)
    try:
        return column.cast(target)
    except pa.ArrowInvalid:
        if dtype in INTEGER_TYPES or isinstance(dtype, DecimalType):
            text = column.cast(pa.string())
            return pa.chunked_array([lenient(chunk, dtype) for chunk in text.chunks], target)
        return column.cast(target, safe=False)


def _has_length(dtype: DataType) -> bool:
    """True for a nested type with a CHAR or VARCHAR in it."""
    match dtype:
        case ArrayType(element):
            return _has_length(element)
        case MapType(key, value):
            return _has_length(key) or _has_length(value)
        case StructType(_, types):
            return any(map(_has_length, types))
    return isinstance(dtype, (VarcharType, CharType))


def _as_text(column: ChunkedArray) -> ChunkedArray:
    """Texts of values of another type, the same as CAST."""
    if pa.types.is_timestamp(column.type):
        column = _timestamps(column)
    try:
        source = from_arrow(column.type)
    except UnsupportedError:
        return column.cast(pa.string())
    if is_nested(source) or source == NULL:
        return column.cast(pa.string())
    texts = [hive_text(chunk.cast(column_type(source)), source).cast(pa.string()) for chunk in column.chunks]
    return pa.chunked_array(texts, pa.string())


def _is_bytes(arrow_type: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_binary(arrow_type)
        or types.is_large_binary(arrow_type)
        or types.is_fixed_size_binary(arrow_type)
        or types.is_binary_view(arrow_type)
    )


def _timestamps(column: ChunkedArray) -> ChunkedArray:
    """Microseconds without a zone: finer digits are cut off, times with a zone are converted to UTC."""
    target = pa.timestamp("us")
    if column.type.tz is not None:
        column = column.cast(pa.timestamp(column.type.unit))
    if column.type.unit == "ns":
        column = pc.floor_temporal(column, unit="microsecond")
    return column.cast(target, safe=column.type.unit != "ns")


def _nested(array: Array, dtype: DataType) -> Array:
    """Nested values, each part with its own conversion. Struct fields are matched by name, ignoring case."""
    parts = children_of(array)
    match dtype:
        case ArrayType(element) if is_list(array.type):
            children = [_part(parts[0], element)]
        case MapType(key, value) if pa.types.is_map(array.type):
            children = [_part(parts[0], key), _part(parts[1], value)]
        case StructType(names, types) if pa.types.is_struct(array.type):
            places = {array.type.field(i).name.lower(): i for i in reversed(range(array.type.num_fields))}
            children = [
                _part(parts[places[name.lower()]], t)
                if name.lower() in places
                else pa.nulls(len(array), column_type(t))
                for name, t in zip(names, types, strict=True)
            ]
        case _:
            raise pa.ArrowTypeError(str(dtype))
    return with_children(array, children, column_type(dtype))


def _part(array: Array, dtype: DataType) -> Array:
    column = conform_column(pa.chunked_array([array]), dtype)
    # Some Arrow functions return no chunk for a column without rows.
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


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
            return _convert_nested(array, (was,), (now,), new)
        case MapType(), MapType():
            return _convert_nested(array, (old.key, old.value), (new.key, new.value), new)
        case StructType(), StructType():
            return _convert_nested(array, old.types, new.types, new)
    if is_nested(old) or is_nested(new):
        return pa.nulls(len(array), column_type(new))
    source = hive_text(array, old).cast(pa.string()) if is_string(new) and not is_string(old) else array
    column = conform_column(pa.chunked_array([source]), new)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _convert_nested(array: Array, old: Sequence[DataType], new: Sequence[DataType], target: DataType) -> Array:
    """Convert the parts of nested values by position."""
    parts = children_of(array)
    children = [
        convert(parts[i], old[i], now) if i < len(parts) else pa.nulls(len(array), column_type(now))
        for i, now in enumerate(new)
    ]
    return with_children(array, children, column_type(target))
