"""Formatting of numbers and values by patterns, and names of types."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.casts import lower_cast
from sharkpy.udf.function import NullPolicy, ScalarFunction
from sharkpy.udf.literals import quote_string
from sharkpy.udf.signatures import Types, anything, returns
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_TYPES,
    NULL,
    SMALLINT,
    STRING,
    TINYINT,
    DataType,
    DecimalType,
    is_nested,
    is_numeric,
    is_string,
)

_KINDS = {TINYINT: "t", SMALLINT: "s", INT: "i", BIGINT: "l", FLOAT: "f", DOUBLE: "f", BOOLEAN: "z"}
"""The letters of `sharkpy.udf.printf`; n for DECIMAL, x for any other type."""


def _format_number_arguments(types: Types) -> Types | None:
    """A number, and places or a pattern. Unlike elsewhere, Hive does not read strings as numbers here."""
    if len(types) != 2 or not (is_numeric(types[0]) or types[0] == NULL):
        return None
    value = types[0] if types[0] in INTEGER_TYPES or isinstance(types[0], DecimalType) else DOUBLE
    if types[1] in INTEGER_TYPES or types[1] == NULL:
        return (value, INT)
    return (value, STRING) if is_string(types[1]) else None


def _format_number(args: Sequence[str], types: Types, _result: DataType) -> str:
    kernel = "shark_format_pattern" if types[1] == STRING else "shark_format_places"
    is_floating = "true" if types[0] == DOUBLE else "false"
    return f"{kernel}({lower_cast(args[0], types[0], STRING)}, {args[1]}, {is_floating})"


def _printf_arguments(types: Types) -> Types | None:
    fits = types and is_string(types[0]) and not any(map(is_nested, types))
    return types if fits else None


def _kind(dtype: DataType) -> str:
    return "n" if isinstance(dtype, DecimalType) else _KINDS.get(dtype, "x")


def _text(sql: str, dtype: DataType) -> str:
    """Return the value as a string. Bytes are pairs of hexadecimal digits, as in Hadoop's writable."""
    if dtype == BINARY:
        return f"array_to_string(regexp_extract_all(lower(hex({sql})), '..'), ' ')"
    return lower_cast(sql, dtype, STRING)


def _printf(args: Sequence[str], types: Types, _result: DataType) -> str:
    texts = map(_text, args[1:], types[1:])
    return f"shark_printf({args[0]}, '{''.join(map(_kind, types[1:]))}', CAST([{', '.join(texts)}] AS VARCHAR[]))"


def _typeof(_args: Sequence[str], types: Types, _result: DataType) -> str:
    return quote_string(str(types[0]))


FORMAT_FUNCTIONS = (
    ScalarFunction(
        "format_number",
        _format_number_arguments,
        returns(STRING),
        _format_number,
        usage="format_number(x, places), format_number(x, pattern)",
        doc="with commas and so many decimals, or in a pattern of java.text.DecimalFormat",
        example="format_number(12345.678, 2)",
        answer="12,345.68",
    ),
    ScalarFunction(
        "printf",
        _printf_arguments,
        returns(STRING),
        _printf,
        NullPolicy.CUSTOM,
        usage="printf(format, x, …)",
        doc="text in the manner of java.util.Formatter",
        example="printf('%d-%s', 1, 'a')",
        answer="1-a",
        aliases=("format_string",),
    ),
    ScalarFunction(
        "typeof",
        anything(1, 1),
        returns(STRING),
        _typeof,
        NullPolicy.CUSTOM,
        usage="typeof(x)",
        doc="the name of the type",
        example="typeof(1)",
        answer="int",
    ),
)
