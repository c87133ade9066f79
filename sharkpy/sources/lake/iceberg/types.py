"""Conversion between Iceberg's types and Hive's."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pyiceberg import types as ice
from pyiceberg.schema import Schema as IcebergSchema

from sharkpy.base.errors import UnsupportedError
from sharkpy.sources.lake.columns import LakeColumn
from sharkpy.values import types as t

_FROM: dict[type[Any], t.DataType] = {
    ice.BooleanType: t.BOOLEAN,
    ice.IntegerType: t.INT,
    ice.LongType: t.BIGINT,
    ice.FloatType: t.FLOAT,
    ice.DoubleType: t.DOUBLE,
    ice.DateType: t.DATE,
    ice.TimestampType: t.TIMESTAMP,
    ice.TimestamptzType: t.TIMESTAMP,
    ice.StringType: t.STRING,
    ice.BinaryType: t.BINARY,
    ice.FixedType: t.BINARY,
}
_TO: dict[t.DataType, Callable[[], Any]] = {
    t.BOOLEAN: ice.BooleanType,
    t.TINYINT: ice.IntegerType,
    t.SMALLINT: ice.IntegerType,
    t.INT: ice.IntegerType,
    t.BIGINT: ice.LongType,
    t.FLOAT: ice.FloatType,
    t.DOUBLE: ice.DoubleType,
    t.DATE: ice.DateType,
    t.TIMESTAMP: ice.TimestampType,
    t.STRING: ice.StringType,
    t.BINARY: ice.BinaryType,
}


def hive_type(found: Any, column: str) -> t.DataType:
    """Hive's type for an Iceberg type; UnsupportedError names the column whose type Hive does not have."""
    match found:
        case ice.DecimalType():
            return t.DecimalType(found.precision, found.scale)
        case ice.ListType():
            return t.ArrayType(hive_type(found.element_type, column))
        case ice.MapType():
            return t.MapType(hive_type(found.key_type, column), hive_type(found.value_type, column))
        case ice.StructType():
            names = tuple(field.name.lower() for field in found.fields)
            return t.StructType(names, tuple(hive_type(field.field_type, column) for field in found.fields))
    known = _FROM.get(type(found))
    if known is None:
        raise UnsupportedError(f'the column "{column}" of Iceberg\'s type {found}')
    return known


def hive_schema(schema: IcebergSchema) -> t.Schema:
    return t.Schema(
        tuple(
            t.Field(field.name.lower(), hive_type(field.field_type, field.name), field.doc or None)
            for field in schema.fields
        )
    )


def lake_columns(schema: IcebergSchema, names: dict[int, tuple[str, ...]]) -> tuple[LakeColumn, ...]:
    """Columns by their ids; `names`: their names in files without ids, if the table has a name mapping."""
    return tuple(_column(field, names) for field in schema.fields)


def _column(field: Any, names: dict[int, tuple[str, ...]]) -> LakeColumn:
    if field.initial_default is not None:
        message = f'the column "{field.name}" of Iceberg, with a value for the rows of files that do not have it'
        raise UnsupportedError(message, hint="rewrite its data files without the default")
    return LakeColumn(
        field.name.lower(),
        field.field_id,
        names.get(field.field_id, ()),
        tuple(_column(part, names) for part in _parts(field.field_type)),
        isinstance(field.field_type, ice.TimestamptzType),
        field.name,
    )


def _parts(found: Any) -> Sequence[Any]:
    match found:
        case ice.StructType():
            return tuple(found.fields)
        case ice.ListType():
            return (found.element_field,)
        case ice.MapType():
            return (found.key_field, found.value_field)
    return ()


def iceberg_schema(schema: t.Schema) -> IcebergSchema:
    """Columns of a new table; the catalog replaces their ids."""
    ids = itertools.count(1)
    fields = [
        ice.NestedField(next(ids), field.name, iceberg_type(field.dtype, field.name, ids), False, doc=field.comment)
        for field in schema
    ]
    return IcebergSchema(*fields)


def iceberg_type(dtype: t.DataType, column: str, ids: Iterator[int]) -> Any:
    """Iceberg's type for a Hive type; UnsupportedError names the column whose type Iceberg does not have.

    Small integers become INT, and texts of limited length STRING.
    """
    match dtype:
        case t.DecimalType(precision, scale):
            return ice.DecimalType(precision, scale)
        case t.VarcharType() | t.CharType():
            return ice.StringType()
        case t.ArrayType(element):
            return ice.ListType(next(ids), iceberg_type(element, column, ids), element_required=False)
        case t.MapType(key, value):
            key_id, value_id = next(ids), next(ids)
            key_type, value_type = iceberg_type(key, column, ids), iceberg_type(value, column, ids)
            return ice.MapType(key_id, key_type, value_id, value_type, value_required=False)
        case t.StructType(names, types):
            return ice.StructType(
                *(
                    ice.NestedField(next(ids), name, iceberg_type(one, column, ids), False)
                    for name, one in zip(names, types, strict=True)
                )
            )
    known = _TO.get(dtype)
    if known is None:
        raise UnsupportedError(f'the column "{column}" of type {dtype} in a table of Iceberg')
    return known()
