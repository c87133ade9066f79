"""Dates and timestamps: reading, formatting, arithmetic. Timestamps have no zone; seconds count from 1970 in UTC."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sharkpy.base.time_zone import time_zone
from sharkpy.udf.casts import lower_cast
from sharkpy.udf.duckdb_sql import quote_string, string_value
from sharkpy.udf.function import Lowering, NullPolicy, ScalarFunction, Varying
from sharkpy.udf.java_datetime import formatted_sql
from sharkpy.udf.signatures import Types, converts, exact, first_of, returns, takes
from sharkpy.values.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    DataType,
    is_string,
)

_FORMATTED = "yyyy-MM-dd HH:mm:ss"
_MOST_DAYS = 1_000_000_000
_MOST_MICROS = 9_223_372_022_400_000_000
"""Limits on days to add, and on microseconds since 1970: dates and times beyond them are NULL."""
_NAMED_ZONE = re.compile(r"UTC|GMT|[A-Z][A-Za-z]+/[A-Za-z_/]+")


def _shift(sign: str) -> Lowering:
    return lambda args, _types, _result: (
        f"CASE WHEN {args[1]} BETWEEN -{_MOST_DAYS} AND {_MOST_DAYS} THEN CAST({args[0]} {sign} {args[1]} AS DATE) END"
    )


def timestamp_of(number: str, unit: int) -> str:
    """Return SQL of the TIMESTAMP `number` units after 1970, each of `unit` microseconds; NULL beyond the
    type's range.
    """
    most = _MOST_MICROS // unit
    return f"CASE WHEN {number} BETWEEN -{most} AND {most} THEN make_timestamp({number} * {unit}) END"


def date_format(args: Sequence[str], _types: Types, _result: DataType) -> str:
    pattern = string_value(args[1])
    formatted = formatted_sql(args[0], pattern) if pattern is not None else None
    return formatted or f"shark_date_format({args[0]}, {args[1]})"


def parse_timestamp(text: str, pattern_sql: str) -> str:
    """Return SQL of the TIMESTAMP at the start of a text, in a Java pattern, or NULL if it does not match. The rest of
    the text is ignored.
    """
    if string_value(pattern_sql) == _FORMATTED:
        shape = r"^\s*\d{4}-\d{1,2}-\d{1,2} \d{1,2}:\d{1,2}:\d{1,2}"
        return f"TRY_CAST(regexp_extract({text}, '{shape}') AS TIMESTAMP)"
    return f"shark_parse_time({text}, {pattern_sql})"


_IN_REGION = r"^(.*[ \d])([A-Z][A-Za-z]+/[A-Za-z0-9_/+-]+)\s*$"
_ZONED = r"^\s*\d{4}-\d{1,2}-\d{1,2}[ T]\d{1,2}:.*?(?:[A-Za-z]|[+-]\d{1,2}(?::?\d{2})?)\s*$"


def zoned_timestamp(text: str, zone: str | None = None) -> str:
    """Return SQL of the TIMESTAMP of a text that may end with a zone, as in 2024-02-03T04:05:06+02:00. With a zone, the
    result is in `zone`, or UTC by default.
    """
    moment = _zoned_moment(text)
    if zone is not None:
        moment = shifted_clock(moment, quote_string(zone), to_utc=False)
    return f"coalesce({moment}, {lower_cast(text, STRING, TIMESTAMP)})"


def _zoned_moment(text: str) -> str:
    """Return SQL of the time in UTC of a text with a zone. The clock of a region is read as in Java."""
    at_offset = f"CAST(TRY_CAST(trim(regexp_extract({text}, '{_ZONED}')) AS TIMESTAMPTZ) AS TIMESTAMP)"
    clock = f"CAST(TRY_CAST(trim(regexp_extract({text}, '{_IN_REGION}', 1)) AS TIMESTAMP) AS TIMESTAMP)"
    in_region = f"shark_zone_shift({clock}, regexp_extract({text}, '{_IN_REGION}', 2), true)"
    has_region = f"{at_offset} IS NOT NULL AND regexp_matches({text}, '{_IN_REGION}')"
    return f"CASE WHEN {has_region} THEN {in_region} ELSE {at_offset} END"


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
    return date_format([timestamp_of(args[0], 1_000_000), pattern], (), STRING)


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
        return timestamp_of(args[0], 1_000_000)
    if len(args) == 2:
        return parse_timestamp(args[0], args[1])
    return zoned_timestamp(args[0]) if types[0] == STRING else args[0]


def shifted_clock(time: str, zone_sql: str, *, to_utc: bool) -> str:
    """Return SQL that converts a time in UTC to the clock of a zone, or back, as Java does: see `zone_shift`."""
    zone = string_value(zone_sql)
    if zone is None or not _NAMED_ZONE.fullmatch(zone) or time_zone(zone) is None:
        return f"shark_zone_shift({time}, {zone_sql}, {'true' if to_utc else 'false'})"
    return f"shark_{'moment' if to_utc else 'clock'}({time}, {zone_sql})"


def _zone(to_utc: bool) -> Lowering:
    return lambda args, _types, _result: shifted_clock(args[0], args[1], to_utc=to_utc)


def _months_between(args: Sequence[str], _types: Types, _result: DataType) -> str:
    exact = f"shark_months_between({args[0]}, {args[1]})"
    rounded = f"round({exact}, 8)"
    return rounded if len(args) == 2 else f"CASE WHEN {args[2]} THEN {rounded} ELSE {exact} END"


def _add_months_arguments(types: Types) -> Types | None:
    """A date and months. With a pattern, a timestamp, since the pattern may show the time of day."""
    return takes(TIMESTAMP if len(types) == 3 else DATE, INT, STRING, optional=1)(types)


def _add_months(args: Sequence[str], _types: Types, _result: DataType) -> str:
    if len(args) == 2:
        return f"shark_add_months({args[0]}, {args[1]})"
    day = f"CAST({args[0]} AS DATE)"
    shifted = f"(shark_add_months({day}, {args[1]}) + ({args[0]} - {day}))"
    return date_format([shifted, args[2]], (), STRING)


_TODAY = "CAST(CAST(current_timestamp AS TIMESTAMP) AS DATE)"


DATE_FUNCTIONS = (
    ScalarFunction(
        "to_date",
        _to_date_arguments,
        returns(DATE),
        _to_date,
        usage="to_date(x[, pattern])",
        doc="the date of a string or timestamp",
        example="to_date('2009-07-30 04:17:52')",
        answer="2009-07-30",
        aliases=("date", "try_to_date"),
    ),
    ScalarFunction(
        "to_timestamp",
        first_of(exact(STRING), takes(TIMESTAMP), takes(BIGINT), takes(STRING, STRING)),
        returns(TIMESTAMP),
        _to_timestamp,
        usage="to_timestamp(x[, pattern])",
        doc="timestamp of a string, with a Java pattern, or of seconds since 1970",
        example="to_timestamp('2016-12-31', 'yyyy-MM-dd')",
        answer="2016-12-31 00:00:00",
        aliases=("to_timestamp_ltz", "to_timestamp_ntz", "try_to_timestamp"),
    ),
    ScalarFunction(
        "zoned_moment",
        exact(STRING),
        returns(TIMESTAMP),
        lambda args, _types, _result: _zoned_moment(args[0]),
        NullPolicy.CUSTOM,
        usage="zoned_moment(str)",
        doc="the time in UTC of a text that ends with a zone; NULL without one",
        example="zoned_moment('2024-02-03T04:05:06+02:00')",
        answer="2024-02-03 02:05:06",
        is_listed=False,
    ),
    ScalarFunction(
        "parsed_moment",
        takes(STRING, STRING, STRING),
        returns(TIMESTAMP),
        "shark_parse_moment({0}, {1}, {2})",
        usage="parsed_moment(str, pattern, zone)",
        doc="the time in UTC of a text in a Java pattern, on a zone's clock if the text has no zone",
        example="parsed_moment('2024-02-03 04:05', 'yyyy-MM-dd HH:mm', 'Europe/Berlin')",
        answer="2024-02-03 03:05:00",
        is_listed=False,
    ),
    ScalarFunction(
        "moment_text",
        takes(TIMESTAMP, STRING, STRING),
        returns(STRING),
        "shark_format_moment({0}, {1}, {2})",
        usage="moment_text(time in UTC, pattern, zone)",
        doc="a time in UTC as text in a Java pattern, on a zone's clock",
        example="moment_text('2024-07-01 12:00:00', 'HH:mm z', 'America/New_York')",
        answer="08:00 EDT",
        is_listed=False,
    ),
    ScalarFunction(
        "datediff",
        takes(DATE, DATE),
        returns(INT),
        "CAST({0} - {1} AS INTEGER)",
        usage="datediff(end, start)",
        doc="days from the second to the first",
        example="datediff('2009-07-31', '2009-07-30')",
        answer="1",
        aliases=("date_diff",),
    ),
    ScalarFunction(
        "date_add",
        takes(DATE, INT),
        returns(DATE),
        _shift("+"),
        usage="date_add(date, days)",
        doc="days later",
        example="date_add('2016-07-30', 1)",
        answer="2016-07-31",
        aliases=("dateadd",),
    ),
    ScalarFunction(
        "date_sub",
        takes(DATE, INT),
        returns(DATE),
        _shift("-"),
        usage="date_sub(date, days)",
        doc="days earlier",
        example="date_sub('2016-07-30', 1)",
        answer="2016-07-29",
    ),
    ScalarFunction(
        "add_months",
        _add_months_arguments,
        lambda types: STRING if len(types) == 3 else DATE,
        _add_months,
        usage="add_months(date, months[, pattern])",
        doc="months later; the last day of a month stays the last day",
        example="add_months('2016-08-31', 1)",
        answer="2016-09-30",
    ),
    ScalarFunction(
        "months_between",
        takes(TIMESTAMP, TIMESTAMP, BOOLEAN, optional=1),
        returns(DOUBLE),
        _months_between,
        usage="months_between(end, start[, rounded])",
        doc="months from the second to the first, with a fraction of 31 days",
        example="months_between('1997-02-28 10:30:00', '1996-10-30')",
        answer="3.94959677",
    ),
    ScalarFunction(
        "last_day",
        takes(DATE),
        returns(DATE),
        "last_day({0})",
        usage="last_day(date)",
        doc="last day of its month",
        example="last_day('2009-01-12')",
        answer="2009-01-31",
    ),
    ScalarFunction(
        "next_day",
        takes(DATE, STRING),
        returns(DATE),
        "shark_next_day({0}, {1})",
        usage="next_day(date, day of the week)",
        doc="the next such day of the week",
        example="next_day('2015-01-14', 'TU')",
        answer="2015-01-20",
    ),
    ScalarFunction(
        "date_format",
        takes(TIMESTAMP, STRING),
        returns(STRING),
        date_format,
        usage="date_format(time, pattern)",
        doc="text in a Java pattern",
        example="date_format('2016-04-08', 'y')",
        answer="2016",
    ),
    ScalarFunction(
        "from_unixtime",
        takes(BIGINT, STRING, optional=1),
        returns(STRING),
        _from_unixtime,
        usage="from_unixtime(seconds[, pattern])",
        doc="text of seconds since 1970",
        example="from_unixtime(0, 'yyyy-MM-dd HH:mm:ss')",
        answer="1970-01-01 00:00:00",
    ),
    ScalarFunction(
        "unix_timestamp",
        _unix_timestamp_arguments,
        returns(BIGINT),
        _unix_timestamp,
        NullPolicy.CUSTOM,
        usage="unix_timestamp([x[, pattern]])",
        doc="seconds since 1970 of a time or text",
        example="unix_timestamp('2016-04-08', 'yyyy-MM-dd')",
        answer="1460073600",
        aliases=("to_unix_timestamp",),
    ),
    ScalarFunction(
        "to_epoch_milli",
        takes(TIMESTAMP),
        returns(BIGINT),
        "epoch_ms({0})",
        usage="to_epoch_milli(time)",
        doc="milliseconds since 1970",
        example="to_epoch_milli('2012-02-11 04:30:00')",
        answer="1328934600000",
    ),
    ScalarFunction(
        "from_utc_timestamp",
        takes(TIMESTAMP, STRING),
        returns(TIMESTAMP),
        _zone(False),
        usage="from_utc_timestamp(time, zone)",
        doc="a UTC time as a zone's clock shows it",
        example="from_utc_timestamp('2016-08-31', 'Asia/Seoul')",
        answer="2016-08-31 09:00:00",
    ),
    ScalarFunction(
        "to_utc_timestamp",
        takes(TIMESTAMP, STRING),
        returns(TIMESTAMP),
        _zone(True),
        usage="to_utc_timestamp(time, zone)",
        doc="the UTC time of a zone's clock",
        example="to_utc_timestamp('2016-08-31', 'Asia/Seoul')",
        answer="2016-08-30 15:00:00",
    ),
    ScalarFunction(
        "make_date",
        takes(INT, INT, INT),
        returns(DATE),
        "TRY(make_date({0}, {1}, {2}))",
        usage="make_date(year, month, day)",
        doc="the date of year, month, day",
        example="make_date(2013, 7, 15)",
        answer="2013-07-15",
    ),
    ScalarFunction(
        "current_date",
        takes(),
        returns(DATE),
        _TODAY,
        NullPolicy.CUSTOM,
        is_deterministic=False,
        usage="current_date()",
        doc="today in the session's time zone",
        example="current_date()",
        answer=Varying("2024-02-29", r"\d{4}-\d\d-\d\d"),
        aliases=("curdate",),
    ),
    ScalarFunction(
        "current_timestamp",
        takes(),
        returns(TIMESTAMP),
        "CAST(current_timestamp AS TIMESTAMP)",
        NullPolicy.CUSTOM,
        is_deterministic=False,
        usage="current_timestamp()",
        doc="now in the session's time zone",
        example="current_timestamp()",
        answer=Varying("2024-02-29 12:39:41.162", r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?"),
        aliases=("localtimestamp", "now"),
    ),
)
