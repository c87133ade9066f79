"""The columns of a result as TTableSchema.

ARRAY, MAP and STRUCT have a type id, without the types of their parts: their values are text.
"""

from __future__ import annotations

from collections.abc import Mapping

from sharkpy.thrift.bindings import ttypes
from sharkpy.values import types as t

INTERVALS_SINCE = 7
"""HIVE_CLI_SERVICE_PROTOCOL_V8: older clients have no ids for intervals."""

_TTypeId = ttypes.TTypeId
_TYPE_IDS: dict[type[t.DataType], int] = {
    t.NullType: _TTypeId.NULL_TYPE,
    t.BooleanType: _TTypeId.BOOLEAN_TYPE,
    t.TinyIntType: _TTypeId.TINYINT_TYPE,
    t.SmallIntType: _TTypeId.SMALLINT_TYPE,
    t.IntType: _TTypeId.INT_TYPE,
    t.BigIntType: _TTypeId.BIGINT_TYPE,
    t.FloatType: _TTypeId.FLOAT_TYPE,
    t.DoubleType: _TTypeId.DOUBLE_TYPE,
    t.DecimalType: _TTypeId.DECIMAL_TYPE,
    t.StringType: _TTypeId.STRING_TYPE,
    t.VarcharType: _TTypeId.VARCHAR_TYPE,
    t.CharType: _TTypeId.CHAR_TYPE,
    t.BinaryType: _TTypeId.BINARY_TYPE,
    t.DateType: _TTypeId.DATE_TYPE,
    t.TimestampType: _TTypeId.TIMESTAMP_TYPE,
    t.YearMonthIntervalType: _TTypeId.INTERVAL_YEAR_MONTH_TYPE,
    t.DayTimeIntervalType: _TTypeId.INTERVAL_DAY_TIME_TYPE,
    t.ArrayType: _TTypeId.ARRAY_TYPE,
    t.MapType: _TTypeId.MAP_TYPE,
    t.StructType: _TTypeId.STRUCT_TYPE,
}


def table_schema(schema: t.Schema, protocol_version: int) -> ttypes.TTableSchema:
    """Return the description of a result's columns; their positions count from 1."""
    return ttypes.TTableSchema(
        [
            ttypes.TColumnDesc(field.name, _type_description(field.dtype, protocol_version), position, field.comment)
            for position, field in enumerate(schema, 1)
        ]
    )


def type_id(dtype: t.DataType, protocol_version: int) -> int:
    if t.is_interval(dtype) and protocol_version < INTERVALS_SINCE:
        return int(_TTypeId.STRING_TYPE)
    return _TYPE_IDS[type(dtype)]


def _type_description(dtype: t.DataType, protocol_version: int) -> ttypes.TTypeDesc:
    numbers = _qualifiers(dtype)
    values = {name: ttypes.TTypeQualifierValue(i32Value=number) for name, number in numbers.items()}
    entry = ttypes.TPrimitiveTypeEntry(
        type_id(dtype, protocol_version), ttypes.TTypeQualifiers(values) if values else None
    )
    return ttypes.TTypeDesc([ttypes.TTypeEntry(primitiveEntry=entry)])


def _qualifiers(dtype: t.DataType) -> Mapping[str, int]:
    match dtype:
        case t.DecimalType(precision, scale):
            return {"precision": precision, "scale": scale}
        case t.VarcharType(length) | t.CharType(length):
            return {"characterMaximumLength": length}
    return {}
