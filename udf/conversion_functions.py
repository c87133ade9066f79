"""to_char and to_number: numbers in Spark SQL's patterns, times in Java's, bytes in an encoding."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base.errors import TypeMismatchError
from sharkpy.udf.date_functions import date_format
from sharkpy.udf.decimals import decimal_of
from sharkpy.udf.function import NullPolicy, ScalarFunction
from sharkpy.udf.literals import string_value
from sharkpy.udf.number_patterns import PATTERN_HELP, parse_pattern
from sharkpy.udf.signatures import Types, numeric, returns, takes
from sharkpy.udf.types_duckdb import duckdb_type
from sharkpy.values.types import (
    BINARY,
    DATE,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    DecimalType,
    is_string,
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
    _check(form)
    return f"shark_to_char(CAST({args[0]} AS VARCHAR), {args[1]})"


def _check(pattern: str | None) -> None:
    if pattern is not None and parse_pattern(pattern) is None:
        message = f"'{pattern}' is not a pattern of numbers"
        raise TypeMismatchError(message, hint=f"a pattern is {PATTERN_HELP}")


def _number_type(_types: Types, values: Sequence[object]) -> DataType:
    if not isinstance(values[1], str):
        raise TypeMismatchError("the pattern of to_number must be a constant")
    _check(values[1])
    form = parse_pattern(values[1])
    return DecimalType(form.precision, form.scale) if form is not None else NULL


CONVERSION_FUNCTIONS = (
    ScalarFunction(
        "to_char",
        _to_char_arguments,
        returns(STRING),
        _to_char,
        NullPolicy.CUSTOM,
        usage="to_char(x, pattern)",
        doc="a number in a pattern such as '$99,999.00', a time in a Java pattern, bytes as 'hex', 'base64' or 'utf-8'",
        example="to_char(12454.8, '99,999.9S')",
        answer="12,454.8+",
        aliases=("to_varchar",),
    ),
    ScalarFunction(
        "to_number",
        takes(STRING, STRING),
        lambda _types: DecimalType(38, 0),
        lambda args, _types, result: f"CAST(shark_to_number({', '.join(args)}) AS {duckdb_type(result)})",
        NullPolicy.CUSTOM,
        usage="to_number(str, pattern)",
        doc="the DECIMAL of a text in a pattern such as '$99,999.00'; NULL if the text does not fit",
        example="to_number('12,454.8-', '99,999.9S')",
        answer="-12454.8",
        aliases=("try_to_number",),
        literal_result=_number_type,
    ),
)
