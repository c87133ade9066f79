"""Functions of dates and timestamps. Timestamps have no zone; numbers of seconds count from 1970 in UTC."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from sharkpy.base.time_zone import time_zone
from sharkpy.udf.casts import lower_cast
from sharkpy.udf.function import Lowering, NullPolicy, ScalarFunction, TypeRule
from sharkpy.udf.java_datetime import formatted_sql
from sharkpy.udf.literals import quote_string, string_value
from sharkpy.udf.lower import render
from sharkpy.udf.signatures import Types, converts, exact, first_of, returns, takes
from sharkpy.udf.types_duckdb import duckdb_type
from sharkpy.values.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTEGER_TYPES,
    INTERVAL_DAY_TIME,
    INTERVAL_YEAR_MONTH,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    is_numeric,
    is_string,
)

_FORMATTED = "yyyy-MM-dd HH:mm:ss"
_NAMED_ZONE = re.compile(r"UTC|GMT|[A-Z][A-Za-z]+/[A-Za-z_/]+")


def _date_or_timestamp(types: Types) -> Types | None:
    """One time as it is; strings count as DATE."""
    if len(types) != 1:
        return None
    return types if types[0] in (DATE, TIMESTAMP) else takes(DATE)(types)


def _part(
    name: str, arguments: TypeRule, lowering: str, doc: str, example: str, of_interval: tuple[DataType, str] | None
) -> ScalarFunction:
    """A part of a time, and of intervals of one kind by the SQL of `of_interval`."""
    kind, interval_part = of_interval or (None, "")

    def lower(args: Sequence[str], types: Types, _result: DataType) -> str:
        if types[0] == kind:
            return f"CAST({interval_part.format(*args)} AS INTEGER)"
        return f"CAST({lowering.format(*args)} AS INTEGER)"

    rule = arguments if kind is None else first_of(exact(kind), arguments)
    return ScalarFunction(name, rule, returns(INT), lower, doc=doc, example=example)


def _date_part(
    name: str, lowering: str, doc: str, example: str, of_interval: tuple[DataType, str] | None = None
) -> ScalarFunction:
    return _part(name, _date_or_timestamp, lowering, doc, example, of_interval)


def _time_part(name: str, doc: str, microseconds: int, modulus: int) -> ScalarFunction:
    """Of a string also where it is a time of day alone."""
    of_interval = (INTERVAL_DAY_TIME, f"({{0}} // {microseconds} % {modulus})")
    time = _part(name, takes(TIMESTAMP), f"{name}({{0}})", doc, f"{name}('2013-07-30 12:58:59')", of_interval)

    def lower(args: Sequence[str], types: Types, result: DataType) -> str:
        if not is_string(types[0]):
            return render(time.lowering, args, types, result)
        moment = f"coalesce({lower_cast(args[0], STRING, TIMESTAMP)}, {_time_of_day(args[0])})"
        return f"CAST({name}({moment}) AS INTEGER)"

    return replace(time, arguments=first_of(exact(STRING), time.arguments), lowering=lower)


def _time_of_day(text: str) -> str:
    shape = r"^\s*(\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d*)?)\s*$"
    return f"TRY_CAST('1970-01-01 ' || regexp_extract({text}, '{shape}', 1) AS TIMESTAMP)"


def _shift(sign: str) -> Lowering:
    return lambda args, _types, _result: f"CAST({args[0]} {sign} {args[1]} AS DATE)"


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


def _floor(unit: str) -> ScalarFunction:
    return ScalarFunction(
        f"floor_{unit}",
        takes(TIMESTAMP),
        returns(TIMESTAMP),
        f"CAST(date_trunc('{unit}', {{0}}) AS TIMESTAMP)",
        doc=f"the time at which its {unit} began",
        example=f"floor_{unit}('2015-03-05 09:32:05.359')",
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
"""Unit as it is written -> DuckDB's name of it."""


def _date_trunc(args: Sequence[str], _types: Types, _result: DataType) -> str:
    unit, time = args
    text = string_value(unit)
    if text is not None:
        known = _TRUNCATED.get(text.lower())
        return f"CAST({f'date_trunc({quote_string(known)}, {time})' if known else 'NULL'} AS TIMESTAMP)"
    branches = " ".join(f"WHEN '{word}' THEN date_trunc('{name}', {time})" for word, name in _TRUNCATED.items())
    return f"CAST(CASE lower({unit}) {branches} END AS TIMESTAMP)"


def date_format(args: Sequence[str], _types: Types, _result: DataType) -> str:
    pattern = string_value(args[1])
    formatted = formatted_sql(args[0], pattern) if pattern is not None else None
    return formatted or f"shark_date_format({args[0]}, {args[1]})"


def parse_timestamp(text: str, pattern_sql: str) -> str:
    """TIMESTAMP of a text in a Java pattern; NULL where it does not begin so. What follows is not looked at."""
    if string_value(pattern_sql) == _FORMATTED:
        shape = r"^\s*\d{4}-\d{1,2}-\d{1,2} \d{1,2}:\d{1,2}:\d{1,2}"
        return f"TRY_CAST(regexp_extract({text}, '{shape}') AS TIMESTAMP)"
    return f"shark_parse_time({text}, {pattern_sql})"


_ZONED = r"^\s*\d{4}-\d{1,2}-\d{1,2}[ T]\d{1,2}:.*?(?:[A-Za-z]|[+-]\d{1,2}(?::?\d{2})?)\s*$"


def zoned_timestamp(text: str, zone: str | None = None) -> str:
    """TIMESTAMP of a text that may end with a zone, 2024-02-03T04:05:06+02:00; in `zone`, else UTC, where it does."""
    moment = _zoned_moment(text)
    if zone is not None:
        moment = f"shark_zone_shift({moment}, {quote_string(zone)}, false)"
    return f"coalesce({moment}, {lower_cast(text, STRING, TIMESTAMP)})"


def _zoned_moment(text: str) -> str:
    return f"CAST(TRY_CAST(trim(regexp_extract({text}, '{_ZONED}')) AS TIMESTAMPTZ) AS TIMESTAMP)"


def _seconds(timestamp: str) -> str:
    return f"CAST(floor(epoch_us({timestamp}) / 1000000) AS BIGINT)"


def _unix_timestamp_arguments(types: Types) -> Types | None:
    if len(types) == 1 and types[0] in (DATE, TIMESTAMP):
        return (TIMESTAMP,)
    if len(types) == 2 and types[0] in (DATE, TIMESTAMP) and converts(types[1], STRING):
        return (TIMESTAMP, STRING)
    return takes(STRING, STRING, optional=2)(types)


def _unix_timestamp(args: Sequence[str], types: Types, _result: DataType) -> str:
    if not args:
        return _seconds("CAST(current_timestamp AS TIMESTAMP)")
    if types[0] == TIMESTAMP:
        return _seconds(args[0])
    pattern = args[1] if len(args) > 1 else f"'{_FORMATTED}'"
    return _seconds(parse_timestamp(args[0], pattern))


def _from_unixtime(args: Sequence[str], _types: Types, _result: DataType) -> str:
    pattern = args[1] if len(args) > 1 else f"'{_FORMATTED}'"
    return date_format([f"make_timestamp({args[0]} * 1000000)", pattern], (), STRING)


def _to_date(args: Sequence[str], types: Types, _result: DataType) -> str:
    if len(args) == 2:
        return f"CAST({parse_timestamp(args[0], args[1])} AS DATE)"
    return lower_cast(args[0], types[0], DATE)


def _to_date_arguments(types: Types) -> Types | None:
    if len(types) == 2:
        return takes(STRING, STRING)(types)
    return types if len(types) == 1 and (types[0] in (DATE, TIMESTAMP) or is_string(types[0])) else takes(DATE)(types)


def _to_timestamp(args: Sequence[str], types: Types, _result: DataType) -> str:
    if types[0] == BIGINT:
        return f"make_timestamp({args[0]} * 1000000)"
    if len(args) == 2:
        return parse_timestamp(args[0], args[1])
    return zoned_timestamp(args[0]) if types[0] == STRING else args[0]


def _zone(to_utc: bool) -> Lowering:
    def lower(args: Sequence[str], _types: Types, _result: DataType) -> str:
        zone = string_value(args[1])
        if zone is None or not _NAMED_ZONE.fullmatch(zone) or time_zone(zone) is None:
            return f"shark_zone_shift({args[0]}, {args[1]}, {'true' if to_utc else 'false'})"
        if to_utc:
            return f"timezone('UTC', timezone({args[1]}, {args[0]}))"
        return f"timezone({args[1]}, timezone('UTC', {args[0]}))"

    return lower


def _months_between(args: Sequence[str], _types: Types, _result: DataType) -> str:
    exact = f"shark_months_between({args[0]}, {args[1]})"
    rounded = f"round({exact}, 8)"
    return rounded if len(args) == 2 else f"CASE WHEN {args[2]} THEN {rounded} ELSE {exact} END"


def _add_months_arguments(types: Types) -> Types | None:
    """With a pattern, the time of the day is kept for it."""
    return takes(TIMESTAMP if len(types) == 3 else DATE, INT, STRING, optional=1)(types)


def _add_months(args: Sequence[str], _types: Types, _result: DataType) -> str:
    if len(args) == 2:
        return f"shark_add_months({args[0]}, {args[1]})"
    day = f"CAST({args[0]} AS DATE)"
    shifted = f"(shark_add_months({day}, {args[1]}) + ({args[0]} - {day}))"
    return date_format([shifted, args[2]], (), STRING)


_TODAY = "CAST(CAST(current_timestamp AS TIMESTAMP) AS DATE)"

DATE_FUNCTIONS = (
    _date_part("year", "year({0})", "the year", "year('2013-07-30')", (INTERVAL_YEAR_MONTH, "({0} // 12)")),
    _date_part("quarter", "quarter({0})", "1 to 4", "quarter('2013-07-30')"),
    _date_part("month", "month({0})", "1 to 12", "month('2013-07-30')", (INTERVAL_YEAR_MONTH, "({0} % 12)")),
    _date_part("day", "day({0})", "day of the month", "day('2013-07-30')", (INTERVAL_DAY_TIME, "({0} // 86400000000)")),
    _date_part("dayofweek", "dayofweek({0}) + 1", "1 (Sunday) to 7", "dayofweek('2013-07-30')"),
    _date_part("dayofyear", "dayofyear({0})", "1 to 366", "dayofyear('2013-07-30')"),
    _date_part("weekday", "isodow({0}) - 1", "0 (Monday) to 6", "weekday('2013-07-30')"),
    _date_part("weekofyear", "weekofyear({0})", "ISO week", "weekofyear('2013-07-30')"),
    _time_part("hour", "0 to 23", 3_600_000_000, 24),
    _time_part("minute", "0 to 59", 60_000_000, 60),
    _time_part("second", "0 to 59", 1_000_000, 60),
    ScalarFunction(
        "to_date",
        _to_date_arguments,
        returns(DATE),
        _to_date,
        doc="the date of a string or timestamp",
        example="to_date('2009-07-30 04:17:52')",
    ),
    ScalarFunction(
        "to_timestamp",
        first_of(exact(STRING), takes(TIMESTAMP), takes(BIGINT), takes(STRING, STRING)),
        returns(TIMESTAMP),
        _to_timestamp,
        doc="timestamp of a string, with a Java pattern, or of seconds since 1970",
        example="to_timestamp('2016-12-31', 'yyyy-MM-dd')",
    ),
    ScalarFunction(
        "zoned_moment",
        exact(STRING),
        returns(TIMESTAMP),
        lambda args, _types, _result: _zoned_moment(args[0]),
        NullPolicy.CUSTOM,
        doc="the time in UTC of a text that ends with a zone; NULL without one",
        example="zoned_moment('2024-02-03T04:05:06+02:00')",
    ),
    ScalarFunction(
        "datediff",
        takes(DATE, DATE),
        returns(INT),
        "CAST({0} - {1} AS INTEGER)",
        doc="days from the second to the first",
        example="datediff('2009-07-31', '2009-07-30')",
    ),
    ScalarFunction(
        "date_add", takes(DATE, INT), returns(DATE), _shift("+"), doc="days later", example="date_add('2016-07-30', 1)"
    ),
    ScalarFunction(
        "date_sub",
        takes(DATE, INT),
        returns(DATE),
        _shift("-"),
        doc="days earlier",
        example="date_sub('2016-07-30', 1)",
    ),
    ScalarFunction(
        "add_months",
        _add_months_arguments,
        lambda types: STRING if len(types) == 3 else DATE,
        _add_months,
        doc="months later; the last day of a month stays the last day",
        example="add_months('2016-08-31', 1)",
    ),
    ScalarFunction(
        "months_between",
        takes(TIMESTAMP, TIMESTAMP, BOOLEAN, optional=1),
        returns(DOUBLE),
        _months_between,
        doc="months from the second to the first, with a fraction of 31 days",
        example="months_between('1997-02-28 10:30:00', '1996-10-30')",
    ),
    ScalarFunction(
        "last_day",
        takes(DATE),
        returns(DATE),
        "last_day({0})",
        doc="last day of its month",
        example="last_day('2009-01-12')",
    ),
    ScalarFunction(
        "next_day",
        takes(DATE, STRING),
        returns(DATE),
        "shark_next_day({0}, {1})",
        doc="the next such day of the week",
        example="next_day('2015-01-14', 'TU')",
    ),
    ScalarFunction(
        "trunc",
        _trunc_arguments,
        lambda types: types[0],
        _trunc,
        doc="first day of its year, quarter, month or week; or a number cut at so many places",
        example="trunc('2009-02-12', 'MM')",
    ),
    *map(_floor, ("year", "quarter", "month", "week", "day", "hour", "minute", "second")),
    ScalarFunction(
        "date_trunc",
        takes(STRING, TIMESTAMP),
        returns(TIMESTAMP),
        _date_trunc,
        NullPolicy.CUSTOM,
        doc="the time down to a unit; NULL where there is no such unit",
        example="date_trunc('HOUR', '2015-03-05T09:32:05.359')",
    ),
    ScalarFunction(
        "date_format",
        takes(TIMESTAMP, STRING),
        returns(STRING),
        date_format,
        doc="text in a Java pattern",
        example="date_format('2016-04-08', 'y')",
    ),
    ScalarFunction(
        "from_unixtime",
        takes(BIGINT, STRING, optional=1),
        returns(STRING),
        _from_unixtime,
        doc="text of seconds since 1970",
        example="from_unixtime(0, 'yyyy-MM-dd HH:mm:ss')",
    ),
    ScalarFunction(
        "unix_timestamp",
        _unix_timestamp_arguments,
        returns(BIGINT),
        _unix_timestamp,
        NullPolicy.CUSTOM,
        doc="seconds since 1970 of a time or text",
        example="unix_timestamp('2016-04-08', 'yyyy-MM-dd')",
    ),
    ScalarFunction(
        "to_epoch_milli",
        takes(TIMESTAMP),
        returns(BIGINT),
        "epoch_ms({0})",
        doc="milliseconds since 1970",
        example="to_epoch_milli('2012-02-11 04:30:00')",
    ),
    ScalarFunction(
        "from_utc_timestamp",
        takes(TIMESTAMP, STRING),
        returns(TIMESTAMP),
        _zone(False),
        doc="a UTC time as a zone's clock shows it",
        example="from_utc_timestamp('2016-08-31', 'Asia/Seoul')",
    ),
    ScalarFunction(
        "to_utc_timestamp",
        takes(TIMESTAMP, STRING),
        returns(TIMESTAMP),
        _zone(True),
        doc="the UTC time of a zone's clock",
        example="to_utc_timestamp('2016-08-31', 'Asia/Seoul')",
    ),
    ScalarFunction(
        "make_date",
        takes(INT, INT, INT),
        returns(DATE),
        "TRY(make_date({0}, {1}, {2}))",
        doc="the date of year, month, day",
        example="make_date(2013, 7, 15)",
    ),
    ScalarFunction(
        "current_date",
        takes(),
        returns(DATE),
        _TODAY,
        NullPolicy.CUSTOM,
        is_deterministic=False,
        doc="today in the session's time zone",
        example="current_date() > '2020-01-01'",
    ),
    ScalarFunction(
        "current_timestamp",
        takes(),
        returns(TIMESTAMP),
        "CAST(current_timestamp AS TIMESTAMP)",
        NullPolicy.CUSTOM,
        is_deterministic=False,
        doc="now in the session's time zone",
        example="current_timestamp() > '2020-01-01'",
    ),
)
