"""Truncation of dates, times and numbers to a unit or a number of places."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.function import NullPolicy, ScalarFunction
from sharkpy.udf.literals import quote_string, string_value
from sharkpy.udf.signatures import Types, returns, takes
from sharkpy.udf.types_duckdb import duckdb_type
from sharkpy.values.types import (
    DATE,
    INT,
    INTEGER_TYPES,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    is_numeric,
)


def _trunc_arguments(types: Types) -> Types | None:
    """A time and a unit, or a number and places."""
    if types and is_numeric(types[0]):
        fits = len(types) == 1 or (len(types) == 2 and (types[1] in INTEGER_TYPES or types[1] == NULL))
        return (types[0], INT)[: len(types)] if fits else None
    return takes(DATE, STRING)(types)


def _trunc(args: Sequence[str], types: Types, result: DataType) -> str:
    if types[0] == DATE:
        return f"shark_trunc_date({args[0]}, {args[1]})"
    places = args[1] if len(args) > 1 else "0"
    if result in INTEGER_TYPES:
        unit = f"CAST(10 ** least(greatest(-{places}, 0), 19) AS HUGEINT)"
        return f"CAST(CAST({args[0]} AS HUGEINT) // {unit} * {unit} AS {duckdb_type(result)})"
    return f"CAST(trunc({args[0]}, {places}) AS {duckdb_type(result)})"


def _floor(unit: str, *, answer: str) -> ScalarFunction:
    return ScalarFunction(
        f"floor_{unit}",
        takes(TIMESTAMP),
        returns(TIMESTAMP),
        f"CAST(date_trunc('{unit}', {{0}}) AS TIMESTAMP)",
        usage=f"floor_{unit}(time)",
        doc=f"the time at which its {unit} began",
        example=f"floor_{unit}('2015-03-05 09:32:05.359')",
        answer=answer,
    )


_TRUNCATED = {
    **{
        unit: unit
        for unit in (
            "year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond",
        )
    },
    "yyyy": "year",
    "yy": "year",
    "mm": "month",
    "mon": "month",
    "dd": "day",
}  # fmt: skip
"""Unit as written -> DuckDB's name of it."""


def _date_trunc(args: Sequence[str], _types: Types, _result: DataType) -> str:
    unit, time = args
    text = string_value(unit)
    if text is not None:
        known = _TRUNCATED.get(text.lower())
        return f"CAST({f'date_trunc({quote_string(known)}, {time})' if known else 'NULL'} AS TIMESTAMP)"
    branches = " ".join(f"WHEN '{word}' THEN date_trunc('{name}', {time})" for word, name in _TRUNCATED.items())
    return f"CAST(CASE lower({unit}) {branches} END AS TIMESTAMP)"


DATE_TRUNCATION_FUNCTIONS = (
    ScalarFunction(
        "trunc",
        _trunc_arguments,
        lambda types: types[0],
        _trunc,
        usage="trunc(date, unit), trunc(x[, places])",
        doc="first day of its year, quarter, month or week; or a number cut at so many places",
        example="trunc('2009-02-12', 'MM')",
        answer="2009-02-01",
    ),
    _floor("year", answer="2015-01-01 00:00:00"),
    _floor("quarter", answer="2015-01-01 00:00:00"),
    _floor("month", answer="2015-03-01 00:00:00"),
    _floor("week", answer="2015-03-02 00:00:00"),
    _floor("day", answer="2015-03-05 00:00:00"),
    _floor("hour", answer="2015-03-05 09:00:00"),
    _floor("minute", answer="2015-03-05 09:32:00"),
    _floor("second", answer="2015-03-05 09:32:05"),
    ScalarFunction(
        "date_trunc",
        takes(STRING, TIMESTAMP),
        returns(TIMESTAMP),
        _date_trunc,
        NullPolicy.CUSTOM,
        usage="date_trunc(unit, time)",
        doc="the time down to a unit; NULL if there is no such unit",
        example="date_trunc('HOUR', '2015-03-05T09:32:05.359')",
        answer="2015-03-05 09:00:00",
    ),
)
