"""DuckDB's name of each Hive type in lowered SQL."""

from __future__ import annotations

from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL_DAY_TIME,
    INTERVAL_YEAR_MONTH,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    ArrayType,
    CharType,
    DataType,
    DecimalType,
    MapType,
    StructType,
    VarcharType,
)

_SIMPLE: dict[DataType, str] = {
    NULL: '"NULL"',
    BOOLEAN: "BOOLEAN",
    TINYINT: "TINYINT",
    SMALLINT: "SMALLINT",
    INT: "INTEGER",
    BIGINT: "BIGINT",
    FLOAT: "FLOAT",
    DOUBLE: "DOUBLE",
    STRING: "VARCHAR",
    BINARY: "BLOB",
    DATE: "DATE",
    TIMESTAMP: "TIMESTAMP",
    INTERVAL_YEAR_MONTH: "INTEGER",
    INTERVAL_DAY_TIME: "BIGINT",
}


def quote_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def duckdb_type(dtype: DataType) -> str:
    """Return the DuckDB type of a column of `dtype`. Intervals are numbers of months and microseconds."""
    match dtype:
        case DecimalType(precision, scale):
            return f"DECIMAL({precision},{scale})"
        case VarcharType() | CharType():
            return "VARCHAR"
        case ArrayType(element):
            return f"{duckdb_type(element)}[]"
        case MapType(key, value):
            return f"MAP({duckdb_type(key)}, {duckdb_type(value)})"
        case StructType(names, types):
            fields = (f"{quote_identifier(n)} {duckdb_type(t)}" for n, t in zip(names, types, strict=True))
            return f"STRUCT({', '.join(fields)})"
    return _SIMPLE[dtype]
