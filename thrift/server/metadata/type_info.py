"""GetTypeInfo: the codes of Hive's types in java.sql.Types and ODBC, with their sizes.

The schemas of all metadata calls are made of groups of columns of one type.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sharkpy.base.records import dataclass
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
    Field,
    MapType,
    Schema,
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


def fields_of(dtype: DataType, *names: str) -> tuple[Field, ...]:
    """Return adjacent columns of one type."""
    return tuple(Field(name, dtype) for name in names)


def result_schema(*groups: tuple[Field, ...]) -> Schema:
    return Schema(tuple(field for group in groups for field in group))


TYPE_SCHEMA = result_schema(
    fields_of(STRING, "TYPE_NAME"),
    fields_of(INT, "DATA_TYPE", "PRECISION"),
    fields_of(STRING, "LITERAL_PREFIX", "LITERAL_SUFFIX", "CREATE_PARAMS"),
    fields_of(SMALLINT, "NULLABLE"),
    fields_of(BOOLEAN, "CASE_SENSITIVE"),
    fields_of(SMALLINT, "SEARCHABLE"),
    fields_of(BOOLEAN, "UNSIGNED_ATTRIBUTE", "FIXED_PREC_SCALE", "AUTO_INCREMENT"),
    fields_of(STRING, "LOCAL_TYPE_NAME"),
    fields_of(SMALLINT, "MINIMUM_SCALE", "MAXIMUM_SCALE"),
    fields_of(INT, "SQL_DATA_TYPE", "SQL_DATETIME_SUB", "NUM_PREC_RADIX"),
)
_NULLABLE = 1
_NOT_SEARCHABLE, _SEARCHABLE_BUT_LIKE, _SEARCHABLE = 0, 2, 3


def type_rows(request: Any, session: Any) -> Iterator[tuple[str | int | bool | None, ...]]:  # noqa: ARG001
    for code in (*SIMPLE.values(), *PARAMETRIC):
        searchable = _SEARCHABLE if code.is_text else _SEARCHABLE_BUT_LIKE if code.is_comparable else _NOT_SEARCHABLE
        yield (
            code.name,
            code.sql_type,
            code.precision,
            code.quote,
            code.quote,
            code.parameters,
            _NULLABLE,
            code.is_text,
            searchable,
            code.radix is None,
            False,
            False,
            code.name,
            0,
            code.scale or 0,
            None,
            None,
            code.radix,
        )
