"""Hive's types that SQLAlchemy has no class for, and the SQLAlchemy class of each type of the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import types as sqltypes
from sqlalchemy.types import TypeEngine

from sharkpy.values import types
from sharkpy.values.types import DataType


class STRING(sqltypes.String):
    __visit_name__ = "STRING"


class TINYINT(sqltypes.Integer):
    __visit_name__ = "TINYINT"


class ARRAY(TypeEngine[list[Any]]):
    """Type ARRAY<element>; its Python value is a list."""

    __visit_name__ = "ARRAY"

    def __init__(self, element: TypeEngine[Any] | type[TypeEngine[Any]]) -> None:
        self.element = sqltypes.to_instance(element)


class MAP(TypeEngine[dict[Any, Any]]):
    """Type MAP<key,value>; its Python value is a dict."""

    __visit_name__ = "MAP"

    def __init__(
        self, key: TypeEngine[Any] | type[TypeEngine[Any]], value: TypeEngine[Any] | type[TypeEngine[Any]]
    ) -> None:
        self.key = sqltypes.to_instance(key)
        self.value = sqltypes.to_instance(value)


class STRUCT(TypeEngine[dict[str, Any]]):
    """Type STRUCT<name:type,…>; its Python value is a dict."""

    __visit_name__ = "STRUCT"

    def __init__(self, fields: Mapping[str, TypeEngine[Any] | type[TypeEngine[Any]]]) -> None:
        self.fields = tuple((name, sqltypes.to_instance(dtype)) for name, dtype in fields.items())


_SIMPLE: dict[DataType, Callable[[], TypeEngine[Any]]] = {
    types.NULL: sqltypes.NullType,
    types.BOOLEAN: sqltypes.BOOLEAN,
    types.TINYINT: TINYINT,
    types.SMALLINT: sqltypes.SMALLINT,
    types.INT: sqltypes.INTEGER,
    types.BIGINT: sqltypes.BIGINT,
    types.FLOAT: sqltypes.FLOAT,
    types.DOUBLE: sqltypes.DOUBLE,
    types.STRING: STRING,
    types.BINARY: sqltypes.BINARY,
    types.DATE: sqltypes.DATE,
    types.TIMESTAMP: sqltypes.TIMESTAMP,
    types.INTERVAL_YEAR_MONTH: sqltypes.NullType,
    types.INTERVAL_DAY_TIME: sqltypes.NullType,
}
"""Classes of types without parameters. Intervals, which views of a metastore may have, are passed on unchanged."""


def to_sqlalchemy(dtype: DataType) -> TypeEngine[Any]:
    match dtype:
        case types.DecimalType(precision, scale):
            return sqltypes.DECIMAL(precision, scale)
        case types.VarcharType(length):
            return sqltypes.VARCHAR(length)
        case types.CharType(length):
            return sqltypes.CHAR(length)
        case types.ArrayType(element):
            return ARRAY(to_sqlalchemy(element))
        case types.MapType(key, value):
            return MAP(to_sqlalchemy(key), to_sqlalchemy(value))
        case types.StructType(names, fields):
            return STRUCT(dict(zip(names, map(to_sqlalchemy, fields), strict=True)))
    return _SIMPLE[dtype]()
