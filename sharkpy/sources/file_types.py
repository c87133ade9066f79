"""Types of columns in self-describing files: for Arrow types that the engine lacks, and common types of files."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sharkpy.base.errors import UnsupportedError
from sharkpy.sources.arrow import ChunkedArray, pc
from sharkpy.values.common_types import as_decimal, fits_decimal, wider_decimal
from sharkpy.values.nested_arrow import is_list
from sharkpy.values.types import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER_TYPES,
    MAX_PRECISION,
    NULL,
    STRING,
    TIMESTAMP,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructType,
    from_arrow,
    is_numeric,
    is_string,
)

_REALS = (FLOAT, DOUBLE)
_DAYS = frozenset((DATE, TIMESTAMP))


def column_type_of(arrow_type: Any) -> DataType:
    """Type of a file's column. UUIDs, JSON, times of day and decimals of more than 38 digits are STRING, durations
    BIGINT.

    UnsupportedError for other types that the engine lacks.
    """
    types = pa.types
    if isinstance(arrow_type, pa.BaseExtensionType):
        return STRING if _is_uuid(arrow_type) else column_type_of(arrow_type.storage_type)
    if types.is_time(arrow_type) or (types.is_decimal(arrow_type) and arrow_type.precision > MAX_PRECISION):
        return STRING
    if types.is_duration(arrow_type):
        return BIGINT
    if is_list(arrow_type):
        return ArrayType(column_type_of(arrow_type.value_type))
    if types.is_map(arrow_type):
        return MapType(column_type_of(arrow_type.key_type), column_type_of(arrow_type.item_type))
    if types.is_struct(arrow_type):
        # Structs without fields have no values in Parquet, and are not a type in DuckDB.
        fields = [field for field in arrow_type if not _is_empty(field.type)]
        if not fields:
            raise UnsupportedError("a struct without fields")
        return StructType(tuple(field.name for field in fields), tuple(column_type_of(field.type) for field in fields))
    return from_arrow(arrow_type)


def plain_column(column: ChunkedArray, *, is_string_wanted: bool) -> ChunkedArray:
    """Convert a flat column of a type that the engine lacks to one that it has."""
    types, dtype = pa.types, column.type
    if isinstance(dtype, pa.BaseExtensionType):
        if is_string_wanted and _is_uuid(dtype):
            texts = [None if value is None else str(value) for value in column.to_pylist()]
            return pa.chunked_array([pa.array(texts, pa.string())])
        stored: Any = dtype.storage_type
        return pa.chunked_array([chunk.storage for chunk in column.chunks], stored)
    if types.is_time(dtype) and is_string_wanted:
        # Without trailing zeros of the fraction, as Hive prints a TIMESTAMP.
        text = pc.replace_substring_regex(column.cast(pa.string()), r"(\.[0-9]*?)0+$", r"\1")
        return pc.replace_substring_regex(text, r"\.$", "")
    if types.is_string_view(dtype):
        return column.cast(pa.string())
    return column.cast(pa.int64()) if types.is_duration(dtype) else column


def wider_type(left: DataType, right: DataType) -> DataType | None:
    """Common type for columns of two files; None if there is none.

    Integers stay integers. With fractions they become DOUBLE or DECIMAL. Structs get the fields of both.
    """
    if right in (left, NULL):
        return left
    if left == NULL:
        return right
    if is_numeric(left) and is_numeric(right):
        return _wider_number(left, right)
    if is_string(left) and is_string(right):
        return STRING
    if {left, right} == _DAYS:
        return TIMESTAMP
    match left, right:
        case ArrayType(one), ArrayType(other):
            element = wider_type(one, other)
            return None if element is None else ArrayType(element)
        case MapType(one_key, one), MapType(other_key, other):
            key, value = wider_type(one_key, other_key), wider_type(one, other)
            return None if key is None or value is None else MapType(key, value)
        case StructType(), StructType():
            return _wider_struct(left, right)
    return None


def _wider_number(left: DataType, right: DataType) -> DataType | None:
    if left in _REALS or right in _REALS:
        return DOUBLE
    if left in INTEGER_TYPES and right in INTEGER_TYPES:
        return max(left, right, key=INTEGER_TYPES.index)
    one, other = as_decimal(left), as_decimal(right)
    if not isinstance(one, DecimalType) or not isinstance(other, DecimalType) or not fits_decimal(one, other):
        return None
    return wider_decimal(one, other)


def _wider_struct(left: StructType, right: StructType) -> StructType | None:
    fields: dict[str, DataType] = dict(zip(left.names, left.types, strict=True))
    for name, dtype in zip(right.names, right.types, strict=True):
        found = wider_type(fields.get(name, NULL), dtype)
        if found is None:
            return None
        fields[name] = found
    return StructType(tuple(fields), tuple(fields.values()))


def _is_empty(arrow_type: Any) -> bool:
    return pa.types.is_struct(arrow_type) and all(_is_empty(field.type) for field in arrow_type)


def _is_uuid(arrow_type: pa.BaseExtensionType) -> bool:
    return bool(arrow_type.extension_name == "arrow.uuid")
