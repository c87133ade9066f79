"""Units of time: parts of dates, times and intervals, truncation to a unit, counts of units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sharkpy.udf.casts import lower_cast
from sharkpy.udf.duckdb_sql import duckdb_type, quote_string, string_value
from sharkpy.udf.function import NullPolicy, ScalarFunction, TypeRule
from sharkpy.udf.lower import render
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import Types, exact, first_of, takes
from sharkpy.values.types import (
    BIGINT,
    DATE,
    INT,
    INTEGER_TYPES,
    INTERVAL_DAY_TIME,
    INTERVAL_YEAR_MONTH,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    DecimalType,
    is_numeric,
    is_string,
)


def _date_or_timestamp(types: Types) -> Types | None:
    """One time, uncast; strings are read as DATE."""
    if len(types) != 1:
        return None
    return types if types[0] in (DATE, TIMESTAMP) else takes(DATE)(types)


def _part(
    name: str,
    arguments: TypeRule,
    lowering: str,
    of_interval: tuple[DataType, str] | None,
    *,
    usage: str,
    doc: str,
    example: str,
    answer: str,
    aliases: tuple[str, ...] = (),
) -> ScalarFunction:
    """A part of a time, and of intervals of one kind by the SQL in `of_interval`."""
    kind, interval_part = of_interval or (None, "")

    def lower(args: Sequence[str], types: Types, _result: DataType) -> str:
        if types[0] == kind:
            return f"CAST({interval_part.format(*args)} AS INTEGER)"
        return f"CAST({lowering.format(*args)} AS INTEGER)"

    rule = arguments if kind is None else first_of(exact(kind), arguments)
    return Page(usage, doc, f"{example} -> {answer}", name=name).scalar(rule, INT, lower, aliases=aliases)


def _date_part(
    name: str,
    lowering: str,
    *,
    of_interval: tuple[DataType, str] | None = None,
    doc: str,
    answer: str,
    aliases: tuple[str, ...] = (),
) -> ScalarFunction:
    return _part(
        name,
        _date_or_timestamp,
        lowering,
        of_interval,
        usage=f"{name}(date)",
        doc=doc,
        example=f"{name}('2013-07-30')",
        answer=answer,
        aliases=aliases,
    )


def _time_part(name: str, microseconds: int, modulus: int, *, doc: str, answer: str) -> ScalarFunction:
    """A part of the time of day, of a timestamp or a string. The string may hold only the time of day."""
    of_interval = (INTERVAL_DAY_TIME, f"({{0}} // {microseconds} % {modulus})")
    time = _part(
        name,
        takes(TIMESTAMP),
        f"{name}({{0}})",
        of_interval,
        usage=f"{name}(time)",
        doc=doc,
        example=f"{name}('2013-07-30 12:58:59')",
        answer=answer,
    )

    def lower(args: Sequence[str], types: Types, result: DataType) -> str:
        if not is_string(types[0]):
            return render(time.lowering, args, types, result)
        moment = f"coalesce({lower_cast(args[0], STRING, TIMESTAMP)}, {_time_of_day(args[0])})"
        return f"CAST({name}({moment}) AS INTEGER)"

    return replace(time, arguments=first_of(exact(STRING), time.arguments), lowering=lower)


def _time_of_day(text: str) -> str:
    shape = r"^\s*(\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d*)?)\s*$"
    return f"TRY_CAST('1970-01-01 ' || regexp_extract({text}, '{shape}', 1) AS TIMESTAMP)"


DATE_PART_FUNCTIONS = (
    _date_part("year", "year({0})", of_interval=(INTERVAL_YEAR_MONTH, "({0} // 12)"), doc="the year", answer="2013"),
    _date_part("quarter", "quarter({0})", doc="1 to 4", answer="3"),
    _date_part("month", "month({0})", of_interval=(INTERVAL_YEAR_MONTH, "({0} % 12)"), doc="1 to 12", answer="7"),
    _date_part(
        "day",
        "day({0})",
        of_interval=(INTERVAL_DAY_TIME, "({0} // 86400000000)"),
        doc="day of the month",
        answer="30",
        aliases=("dayofmonth",),
    ),
    _date_part("dayofweek", "dayofweek({0}) + 1", doc="1 (Sunday) to 7", answer="3"),
    _date_part("dayofyear", "dayofyear({0})", doc="1 to 366", answer="211"),
    _date_part("weekday", "isodow({0}) - 1", doc="0 (Monday) to 6", answer="1"),
    _date_part("weekofyear", "weekofyear({0})", doc="ISO week", answer="31"),
    _time_part("hour", 3_600_000_000, 24, doc="0 to 23", answer="12"),
    _time_part("minute", 60_000_000, 60, doc="0 to 59", answer="58"),
    _time_part("second", 1_000_000, 60, doc="0 to 59", answer="59"),
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
    return Page(
        f"floor_{unit}(time)",
        f"the time at which its {unit} began",
        f"floor_{unit}('2015-03-05 09:32:05.359') -> {answer}",
    ).scalar((TIMESTAMP,), TIMESTAMP, f"CAST(date_trunc('{unit}', {{0}}) AS TIMESTAMP)")


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
    Page(
        "trunc(date, unit), trunc(x[, places])",
        "first day of its year, quarter, month or week; or a number cut at so many places",
        "trunc('2009-02-12', 'MM') -> 2009-02-01",
    ).scalar(_trunc_arguments, lambda types: types[0], _trunc),
    _floor("year", answer="2015-01-01 00:00:00"),
    _floor("quarter", answer="2015-01-01 00:00:00"),
    _floor("month", answer="2015-03-01 00:00:00"),
    _floor("week", answer="2015-03-02 00:00:00"),
    _floor("day", answer="2015-03-05 00:00:00"),
    _floor("hour", answer="2015-03-05 09:00:00"),
    _floor("minute", answer="2015-03-05 09:32:00"),
    _floor("second", answer="2015-03-05 09:32:05"),
    Page(
        "date_trunc(unit, time)",
        "the time down to a unit; NULL if there is no such unit",
        "date_trunc('HOUR', '2015-03-05T09:32:05.359') -> 2015-03-05 09:00:00",
    ).scalar((STRING, TIMESTAMP), TIMESTAMP, _date_trunc, NullPolicy.CUSTOM),
)


_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
UNITS = (*_MONTHS, *_MICROSECONDS)


def _add(args: Sequence[str], _types: Types, _result: DataType) -> str:
    unit = string_value(args[0]) or ""
    if unit in _MONTHS:
        size, most, add = _MONTHS[unit], _MOST_MONTHS, "to_months(CAST({0} * {1} AS INTEGER))"
    else:
        size, most, add = _MICROSECONDS.get(unit, 1), _MOST_MICROS, "to_microseconds({0} * {1})"
    number = args[1]
    added = f"{args[2]} + {add.format(number, size)}"
    return f"CASE WHEN {number} BETWEEN -{most // size} AND {most // size} THEN {added} END"


def _difference(args: Sequence[str], _types: Types, _result: DataType) -> str:
    unit = string_value(args[0]) or ""
    if unit in _MONTHS:
        return f"(shark_whole_months({args[1]}, {args[2]}) // {_MONTHS[unit]})"
    return f"((epoch_us({args[2]}) - epoch_us({args[1]})) // {_MICROSECONDS.get(unit, 1)})"


_MOST_MONTHS, _MOST_MICROS = 3_000_000, 7_000_000_000_000_000_000
"""Limits on additions to a time: times beyond them are NULL."""
_SECONDS = DecimalType(18, 6)
_CLOCK = tuple(_MICROSECONDS[unit] for unit in ("day", "hour", "minute", "second"))


def _total(counts: Sequence[str], units: Sequence[int]) -> str:
    """Return the sum of counts of each unit."""
    return (
        " + ".join(f"CAST({count} AS DECIMAL(38,6)) * {unit}" for count, unit in zip(counts, units, strict=False))
        or "0"
    )


TIME_UNIT_FUNCTIONS = (
    Page(
        "make_ym_interval([years[, months]])", "an interval of years and months", "make_ym_interval(1, 2) -> 1-2"
    ).scalar(
        takes(INT, INT, optional=2),
        INTERVAL_YEAR_MONTH,
        lambda args, _types, _result: f"TRY_CAST({_total(args, (12, 1))} AS INTEGER)",
    ),
    Page(
        "make_dt_interval([days[, hours[, minutes[, seconds]]]])",
        "an interval of days, hours, minutes and seconds",
        "make_dt_interval(1, 12, 30, 1.5) -> 1 12:30:01.500000000",
    ).scalar(
        takes(INT, INT, INT, _SECONDS, optional=4),
        INTERVAL_DAY_TIME,
        lambda args, _types, _result: f"TRY_CAST({_total(args, _CLOCK)} AS BIGINT)",
    ),
    Page(
        "timestampadd(unit, n, time)",
        "a time so many units later",
        "timestampadd('month', 1, '2024-01-31 10:00:00') -> 2024-02-29 10:00:00",
    ).scalar((STRING, BIGINT, TIMESTAMP), TIMESTAMP, _add),
    Page(
        "timestampdiff(unit, start, end)",
        "whole units from the first time to the second",
        "timestampdiff('hour', '2024-01-31 10:00:00', '2024-01-31 12:59:00') -> 2",
    ).scalar((STRING, TIMESTAMP, TIMESTAMP), BIGINT, _difference),
)
