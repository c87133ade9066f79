"""Values as text by patterns: format_number, printf, to_char, and to_number back; names of types."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base.errors import TypeMismatchError
from sharkpy.udf.casts import lower_cast
from sharkpy.udf.date_functions import date_format
from sharkpy.udf.decimals import decimal_of
from sharkpy.udf.duckdb_sql import duckdb_type, quote_string, string_value
from sharkpy.udf.function import NullPolicy
from sharkpy.udf.number_text import PATTERN_HELP, parse_pattern
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import Types, anything, numeric
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_TYPES,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    DataType,
    DecimalType,
    is_nested,
    is_numeric,
    is_string,
)

_PRINTF_KINDS = {TINYINT: "t", SMALLINT: "s", INT: "i", BIGINT: "l", FLOAT: "f", DOUBLE: "f", BOOLEAN: "z"}
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


def _printf_kind(dtype: DataType) -> str:
    return "n" if isinstance(dtype, DecimalType) else _PRINTF_KINDS.get(dtype, "x")


def _printf_text(sql: str, dtype: DataType) -> str:
    """Return the value as a string. Bytes are pairs of hexadecimal digits, as in Hadoop's writable."""
    if dtype == BINARY:
        return f"array_to_string(regexp_extract_all(lower(hex({sql})), '..'), ' ')"
    return lower_cast(sql, dtype, STRING)


def _printf(args: Sequence[str], types: Types, _result: DataType) -> str:
    texts = map(_printf_text, args[1:], types[1:])
    return (
        f"shark_printf({args[0]}, '{''.join(map(_printf_kind, types[1:]))}', CAST([{', '.join(texts)}] AS VARCHAR[]))"
    )


def _typeof(_args: Sequence[str], types: Types, _result: DataType) -> str:
    return quote_string(str(types[0]))


FORMAT_FUNCTIONS = (
    Page(
        "format_number(x, places), format_number(x, pattern)",
        "with commas and so many decimals, or in a pattern of java.text.DecimalFormat",
        "format_number(12345.678, 2) -> 12,345.68",
    ).scalar(_format_number_arguments, STRING, _format_number),
    Page("printf(format, x, …)", "text in the manner of java.util.Formatter", "printf('%d-%s', 1, 'a') -> 1-a").scalar(
        _printf_arguments, STRING, _printf, NullPolicy.CUSTOM, aliases=("format_string",)
    ),
    Page("typeof(x)", "the name of the type", "typeof(1) -> int").scalar(
        anything(1, 1), STRING, _typeof, NullPolicy.CUSTOM
    ),
)


_ENCODINGS = {"hex": "upper(hex({0}))", "base64": "to_base64({0})", "utf-8": "shark_bytes_text({0})"}


def _to_char_arguments(types: Types) -> Types | None:
    if len(types) != 2 or not (is_string(types[1]) or types[1] == NULL):
        return None
    if types[0] in (DATE, TIMESTAMP):
        return (TIMESTAMP, STRING)
    if types[0] == BINARY:
        return (BINARY, STRING)
    return None if numeric(types[:1]) is None else (decimal_of(types[0]), STRING)


def _to_char(args: Sequence[str], types: Types, _result: DataType) -> str:
    if types[0] == TIMESTAMP:
        return date_format(args, types, STRING)
    form = string_value(args[1])
    if types[0] == BINARY:
        if (form or "").lower() not in _ENCODINGS:
            raise TypeMismatchError("to_char of BINARY takes 'hex', 'base64' or 'utf-8' as its second argument")
        return _ENCODINGS[(form or "").lower()].format(args[0])
    _check_number_pattern(form)
    return f"shark_to_char(CAST({args[0]} AS VARCHAR), {args[1]})"


def _check_number_pattern(pattern: str | None) -> None:
    if pattern is not None and parse_pattern(pattern) is None:
        message = f"'{pattern}' is not a pattern of numbers"
        raise TypeMismatchError(message, hint=f"a pattern is {PATTERN_HELP}")


def _number_type(_types: Types, values: Sequence[object]) -> DataType:
    if not isinstance(values[1], str):
        raise TypeMismatchError("the pattern of to_number must be a constant")
    _check_number_pattern(values[1])
    form = parse_pattern(values[1])
    return DecimalType(form.precision, form.scale) if form is not None else NULL


CONVERSION_FUNCTIONS = (
    Page(
        "to_char(x, pattern)",
        "a number in a pattern such as '$99,999.00', a time in a Java pattern, bytes as 'hex', 'base64' or 'utf-8'",
        "to_char(12454.8, '99,999.9S') -> 12,454.8+",
    ).scalar(_to_char_arguments, STRING, _to_char, NullPolicy.CUSTOM, aliases=("to_varchar",)),
    Page(
        "to_number(str, pattern)",
        "the DECIMAL of a text in a pattern such as '$99,999.00'; NULL if the text does not fit",
        "to_number('12,454.8-', '99,999.9S') -> -12454.8",
    ).scalar(
        (STRING, STRING),
        lambda _types: DecimalType(38, 0),
        lambda args, _types, result: f"CAST(shark_to_number({', '.join(args)}) AS {duckdb_type(result)})",
        NullPolicy.CUSTOM,
        aliases=("try_to_number",),
        literal_result=_number_type,
    ),
)
