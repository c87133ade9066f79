"""Functions of dates and timestamps. Timestamps have no zone; numbers of seconds count from 1970 in UTC."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sharkpy.time_zone import time_zone
from sharkpy.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTEGER_TYPES,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    is_numeric,
    is_string,
)
from sharkpy.udf.casts import lower_cast
from sharkpy.udf.function import Lowering, NullPolicy, ScalarFunction
from sharkpy.udf.java_datetime import to_strftime
from sharkpy.udf.literals import quote_string, string_value
from sharkpy.udf.signatures import Types, converts, first_of, returns, takes
from sharkpy.udf.types_duckdb import duckdb_type

_FORMATTED = "yyyy-MM-dd HH:mm:ss"
_NAMED_ZONE = re.compile(r"UTC|GMT|[A-Z][A-Za-z]+/[A-Za-z_/]+")


def _date_or_timestamp(types: Types) -> Types | None:
    """One time as it is; strings count as DATE."""
    if len(types) != 1:
        return None
    return types if types[0] in (DATE, TIMESTAMP) else takes(DATE)(types)


def _date_part(name: str, lowering: str, doc: str, example: str) -> ScalarFunction:
    return ScalarFunction(
        name, _date_or_timestamp, returns(INT), f"CAST({lowering} AS INTEGER)", doc=doc, example=example
    )


def _time_part(name: str, lowering: str, doc: str, example: str) -> ScalarFunction:
    return ScalarFunction(
        name, takes(TIMESTAMP), returns(INT), f"CAST({lowering} AS INTEGER)", doc=doc, example=example
    )


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


def _date_format(args: Sequence[str], _types: Types, _result: DataType) -> str:
    pattern = string_value(args[1])
    form = to_strftime(pattern) if pattern is not None else None
    if form is None:
        return f"shark_date_format({args[0]}, {args[1]})"
    return f"strftime({args[0]}, {quote_string(form)})"


def parse_timestamp(text: str, pattern_sql: str) -> str:
    """TIMESTAMP of a text in a Java pattern; NULL where it does not begin so. What follows is not looked at."""
    if string_value(pattern_sql) == _FORMATTED:
        shape = r"^\s*\d{4}-\d{1,2}-\d{1,2} \d{1,2}:\d{1,2}:\d{1,2}"
        return f"TRY_CAST(regexp_extract({text}, '{shape}') AS TIMESTAMP)"
    return f"shark_parse_time({text}, {pattern_sql})"


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
    return _date_format([f"make_timestamp({args[0]} * 1000000)", pattern], (), STRING)


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
    return parse_timestamp(args[0], args[1]) if len(args) == 2 else args[0]


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
    return _date_format([shifted, args[2]], (), STRING)


_TODAY = "CAST(CAST(current_timestamp AS TIMESTAMP) AS DATE)"

DATE_FUNCTIONS = (
    _date_part("year", "year({0})", "the year", "year('2013-07-30')"),
    _date_part("quarter", "quarter({0})", "1 to 4", "quarter('2013-07-30')"),
    _date_part("month", "month({0})", "1 to 12", "month('2013-07-30')"),
    _date_part("day", "day({0})", "day of the month", "day('2013-07-30')"),
    _date_part("dayofweek", "dayofweek({0}) + 1", "1 (Sunday) to 7", "dayofweek('2013-07-30')"),
    _date_part("dayofyear", "dayofyear({0})", "1 to 366", "dayofyear('2013-07-30')"),
    _date_part("weekday", "isodow({0}) - 1", "0 (Monday) to 6", "weekday('2013-07-30')"),
    _date_part("weekofyear", "weekofyear({0})", "ISO week", "weekofyear('2013-07-30')"),
    _time_part("hour", "hour({0})", "0 to 23", "hour('2013-07-30 12:58:59')"),
    _time_part("minute", "minute({0})", "0 to 59", "minute('2013-07-30 12:58:59')"),
    _time_part("second", "second({0})", "0 to 59", "second('2013-07-30 12:58:59')"),
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
        first_of(takes(TIMESTAMP), takes(BIGINT), takes(STRING, STRING)),
        returns(TIMESTAMP),
        _to_timestamp,
        doc="timestamp of a string, with a Java pattern, or of seconds since 1970",
        example="to_timestamp('2016-12-31', 'yyyy-MM-dd')",
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
        lambda args, _types, _result: f"CAST(date_trunc({_unit(args[0])}, {args[1]}) AS TIMESTAMP)",
        doc="the time down to a unit",
        example="date_trunc('HOUR', '2015-03-05T09:32:05.359')",
    ),
    ScalarFunction(
        "date_format",
        takes(TIMESTAMP, STRING),
        returns(STRING),
        _date_format,
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


def _unit(sql: str) -> str:
    text = string_value(sql)
    names = {"yyyy": "year", "yy": "year", "mm": "month", "mon": "month", "dd": "day"}
    return sql if text is None else quote_string(names.get(text.lower(), text.lower()))
