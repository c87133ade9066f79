"""Hive's types and values as DuckDB SQL: names of types, quoted names, constants, chains of operators."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from sharkpy.base.errors import InternalError
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_TYPES,
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
    is_interval,
    is_string,
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


_STRING = re.compile(r"'([^']*(?:''[^']*)*)'")
_INTEGER = re.compile(r"-?\d+|CAST\((-?\d+) AS \w+\)")
_NUMBER = re.compile(r"(-?[\d.]+)(?:e0)?|CAST\('?(-?[\d.]+)'? AS [^()]+(?:\(\d+,\d+\))?\)")


def lower_literal(value: object, dtype: DataType) -> str:
    """Return DuckDB SQL of a Python value of `dtype`. Its DuckDB type is exactly duckdb_type(dtype)."""
    target = duckdb_type(dtype)
    if value is None:
        return f"CAST(NULL AS {target})"
    if is_string(dtype):
        return quote_string(str(value))
    match dtype:
        case DecimalType():
            return f"CAST('{Decimal(str(value)):f}' AS {target})"
        case ArrayType() | MapType() | StructType():
            return _nested(value, dtype)
    if dtype == BOOLEAN:
        return "true" if value else "false"
    if dtype in INTEGER_TYPES or is_interval(dtype):
        number = int(value)  # type: ignore[call-overload]
        return str(number) if dtype == INT and number >= 0 else f"CAST({number} AS {target})"
    if dtype in (FLOAT, DOUBLE):
        return _floating(float(value), target)  # type: ignore[arg-type]
    if dtype == DATE and isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    if dtype == TIMESTAMP and isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if dtype == BINARY and isinstance(value, (bytes, bytearray)):
        return f"unhex('{bytes(value).hex()}')"
    raise InternalError(f"{value!r} is not a value of type {dtype}")


def quote_string(value: str) -> str:
    """Return a VARCHAR constant. NUL characters, which SQL text cannot hold, are concatenated."""
    parts = ["'" + part.replace("'", "''") + "'" for part in value.split("\x00")]
    return parts[0] if len(parts) == 1 else "(" + " || chr(0) || ".join(parts) + ")"


def _floating(value: float, target: str) -> str:
    if math.isnan(value) or value in (float("inf"), float("-inf")):
        return f"CAST('{value!r}' AS {target})"
    text = repr(value)
    literal = text if "e" in text else text + "e0"
    return f"CAST({literal} AS {target})"


def _nested(value: object, dtype: DataType) -> str:
    target = duckdb_type(dtype)
    match dtype, value:
        case ArrayType(element), list() | tuple():
            return f"CAST([{_sequence(value, element)}] AS {target})"
        case MapType(key, item), list() | dict():
            pairs = list(value.items()) if isinstance(value, dict) else [tuple(pair) for pair in value]
            keys = _sequence([pair[0] for pair in pairs], key)
            items = _sequence([pair[1] for pair in pairs], item)
            return f"CAST(MAP([{keys}], [{items}]) AS {target})"
        case StructType(names, types), list() | tuple() | dict():
            values = [value.get(name) for name in names] if isinstance(value, Mapping) else list(value)
            fields = (
                f"{quote_identifier(name)} := {lower_literal(item, t)}"
                for name, item, t in zip(names, values, types, strict=True)
            )
            return f"struct_pack({', '.join(fields)})"
    raise InternalError(f"{value!r} is not a value of type {dtype}")


def _sequence(values: Sequence[object], dtype: DataType) -> str:
    return ", ".join(lower_literal(value, dtype) for value in values)


def string_value(sql: str) -> str | None:
    """Return the value of a string constant written by `lower_literal`, or None for any other SQL."""
    match = _STRING.fullmatch(sql)
    return match.group(1).replace("''", "'") if match else None


def integer_value(sql: str) -> int | None:
    """Return the value of an integer constant written by `lower_literal`, or None for any other SQL."""
    match = _INTEGER.fullmatch(sql)
    return int(match.group(1) or match.group(0)) if match else None


def is_nonzero_constant(sql: str) -> bool:
    match = _NUMBER.fullmatch(sql)
    text = (match.group(1) or match.group(2)) if match else ""
    return any(digit in "123456789" for digit in text)


_FLAT = 16
"""Number of terms up to which a chain stays flat."""


def balanced(sign: str, terms: Sequence[str]) -> str:
    """Return `a + b + …` in parentheses, in order, for an operator that may group its terms freely."""
    if len(terms) <= _FLAT:
        return f"({f' {sign} '.join(terms)})"
    middle = len(terms) // 2
    return f"({balanced(sign, terms[:middle])} {sign} {balanced(sign, terms[middle:])})"
