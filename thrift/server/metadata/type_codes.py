"""Codes of Hive's types in java.sql.Types and ODBC, with their sizes."""

from __future__ import annotations

from dataclasses import dataclass

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
    MAX_PRECISION,
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

MAX_LENGTH = 65_535
"""Characters of the longest VARCHAR."""
UNBOUNDED = 2_147_483_647
"""Characters of a STRING, bytes of a BINARY."""


@dataclass(frozen=True, slots=True)
class TypeCode:
    """Code of a type. `sql_type` is its number in java.sql.Types.

    `radix` is None for a type that is not a number. WHERE cannot compare a type if `is_comparable` is False.
    """

    name: str
    sql_type: int
    precision: int | None = None
    scale: int | None = None
    radix: int | None = None
    parameters: str | None = None
    quote: str | None = None
    is_comparable: bool = True

    @property
    def is_text(self) -> bool:
        return self.sql_type in (1, 12)


SIMPLE: dict[DataType, TypeCode] = {
    NULL: TypeCode("VOID", 0),
    BOOLEAN: TypeCode("BOOLEAN", 16, precision=1),
    TINYINT: TypeCode("TINYINT", -6, 3, 0, 10),
    SMALLINT: TypeCode("SMALLINT", 5, 5, 0, 10),
    INT: TypeCode("INT", 4, 10, 0, 10),
    BIGINT: TypeCode("BIGINT", -5, 19, 0, 10),
    FLOAT: TypeCode("FLOAT", 6, 7, 7, 10),
    DOUBLE: TypeCode("DOUBLE", 8, 15, 15, 10),
    STRING: TypeCode("STRING", 12, UNBOUNDED, quote="'"),
    BINARY: TypeCode("BINARY", -2, UNBOUNDED),
    DATE: TypeCode("DATE", 91, 10, 0, quote="'"),
    TIMESTAMP: TypeCode("TIMESTAMP", 93, 26, 6, quote="'"),
    INTERVAL_YEAR_MONTH: TypeCode("INTERVAL_YEAR_MONTH", 1111, 11, 0, quote="'"),
    INTERVAL_DAY_TIME: TypeCode("INTERVAL_DAY_TIME", 1111, 26, 6, quote="'"),
}
PARAMETRIC: tuple[TypeCode, ...] = (
    TypeCode("DECIMAL", 3, MAX_PRECISION, MAX_PRECISION, 10, parameters="precision,scale"),
    TypeCode("VARCHAR", 12, MAX_LENGTH, parameters="max length", quote="'"),
    TypeCode("CHAR", 1, 255, parameters="length", quote="'"),
    TypeCode("ARRAY", 2003, is_comparable=False),
    TypeCode("MAP", 2000, is_comparable=False),
    TypeCode("STRUCT", 2002, is_comparable=False),
)
"""Types with parameters, with the largest values of these."""
_BY_NAME = {code.name: code for code in PARAMETRIC}


def type_code(dtype: DataType) -> TypeCode:
    """Return the code of a column's type, with its precision and length."""
    match dtype:
        case DecimalType(precision, scale):
            return TypeCode("DECIMAL", 3, precision, scale, 10)
        case VarcharType(length):
            return TypeCode("VARCHAR", 12, length, quote="'")
        case CharType(length):
            return TypeCode("CHAR", 1, length, quote="'")
        case ArrayType():
            return _BY_NAME["ARRAY"]
        case MapType():
            return _BY_NAME["MAP"]
        case StructType():
            return _BY_NAME["STRUCT"]
    return SIMPLE[dtype]
