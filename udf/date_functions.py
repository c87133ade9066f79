"""Dates and timestamps: reading, formatting, arithmetic. Timestamps have no zone; seconds count from 1970 in UTC."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sharkpy.base.time_zone import time_zone
from sharkpy.udf.casts import lower_cast
from sharkpy.udf.duckdb_sql import quote_string, string_value
from sharkpy.udf.function import Lowering, NullPolicy, Varying
from sharkpy.udf.java_datetime import formatted_sql
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import Types, converts, exact, first_of, takes
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
    Page(
        "to_date(x[, pattern])", "the date of a string or timestamp", "to_date('2009-07-30 04:17:52') -> 2009-07-30"
    ).scalar(_to_date_arguments, DATE, _to_date, aliases=("date", "try_to_date")),
    Page(
        "to_timestamp(x[, pattern])",
        "timestamp of a string, with a Java pattern, or of seconds since 1970",
        "to_timestamp('2016-12-31', 'yyyy-MM-dd') -> 2016-12-31 00:00:00",
    ).scalar(
        first_of(exact(STRING), takes(TIMESTAMP), takes(BIGINT), takes(STRING, STRING)),
        TIMESTAMP,
        _to_timestamp,
        aliases=("to_timestamp_ltz", "to_timestamp_ntz", "try_to_timestamp"),
    ),
    Page(
        "zoned_moment(str)",
        "the time in UTC of a text that ends with a zone; NULL without one",
        "zoned_moment('2024-02-03T04:05:06+02:00') -> 2024-02-03 02:05:06",
    ).scalar(
        exact(STRING),
        TIMESTAMP,
        lambda args, _types, _result: _zoned_moment(args[0]),
        NullPolicy.CUSTOM,
        is_listed=False,
    ),
    Page(
        "parsed_moment(str, pattern, zone)",
        "the time in UTC of a text in a Java pattern, on a zone's clock if the text has no zone",
        "parsed_moment('2024-02-03 04:05', 'yyyy-MM-dd HH:mm', 'Europe/Berlin') -> 2024-02-03 03:05:00",
    ).scalar((STRING, STRING, STRING), TIMESTAMP, "shark_parse_moment({0}, {1}, {2})", is_listed=False),
    Page(
        "moment_text(time in UTC, pattern, zone)",
        "a time in UTC as text in a Java pattern, on a zone's clock",
        "moment_text('2024-07-01 12:00:00', 'HH:mm z', 'America/New_York') -> 08:00 EDT",
    ).scalar((TIMESTAMP, STRING, STRING), STRING, "shark_format_moment({0}, {1}, {2})", is_listed=False),
    Page(
        "datediff(end, start)", "days from the second to the first", "datediff('2009-07-31', '2009-07-30') -> 1"
    ).scalar((DATE, DATE), INT, "CAST({0} - {1} AS INTEGER)", aliases=("date_diff",)),
    Page("date_add(date, days)", "days later", "date_add('2016-07-30', 1) -> 2016-07-31").scalar(
        (DATE, INT), DATE, _shift("+"), aliases=("dateadd",)
    ),
    Page("date_sub(date, days)", "days earlier", "date_sub('2016-07-30', 1) -> 2016-07-29").scalar(
        (DATE, INT), DATE, _shift("-")
    ),
    Page(
        "add_months(date, months[, pattern])",
        "months later; the last day of a month stays the last day",
        "add_months('2016-08-31', 1) -> 2016-09-30",
    ).scalar(_add_months_arguments, lambda types: STRING if len(types) == 3 else DATE, _add_months),
    Page(
        "months_between(end, start[, rounded])",
        "months from the second to the first, with a fraction of 31 days",
        "months_between('1997-02-28 10:30:00', '1996-10-30') -> 3.94959677",
    ).scalar(takes(TIMESTAMP, TIMESTAMP, BOOLEAN, optional=1), DOUBLE, _months_between),
    Page("last_day(date)", "last day of its month", "last_day('2009-01-12') -> 2009-01-31").scalar(
        (DATE,), DATE, "last_day({0})"
    ),
    Page(
        "next_day(date, day of the week)", "the next such day of the week", "next_day('2015-01-14', 'TU') -> 2015-01-20"
    ).scalar((DATE, STRING), DATE, "shark_next_day({0}, {1})"),
    Page("date_format(time, pattern)", "text in a Java pattern", "date_format('2016-04-08', 'y') -> 2016").scalar(
        (TIMESTAMP, STRING), STRING, date_format
    ),
    Page(
        "from_unixtime(seconds[, pattern])",
        "text of seconds since 1970",
        "from_unixtime(0, 'yyyy-MM-dd HH:mm:ss') -> 1970-01-01 00:00:00",
    ).scalar(takes(BIGINT, STRING, optional=1), STRING, _from_unixtime),
    Page(
        "unix_timestamp([x[, pattern]])",
        "seconds since 1970 of a time or text",
        "unix_timestamp('2016-04-08', 'yyyy-MM-dd') -> 1460073600",
    ).scalar(_unix_timestamp_arguments, BIGINT, _unix_timestamp, NullPolicy.CUSTOM, aliases=("to_unix_timestamp",)),
    Page(
        "to_epoch_milli(time)", "milliseconds since 1970", "to_epoch_milli('2012-02-11 04:30:00') -> 1328934600000"
    ).scalar((TIMESTAMP,), BIGINT, "epoch_ms({0})"),
    Page(
        "from_utc_timestamp(time, zone)",
        "a UTC time as a zone's clock shows it",
        "from_utc_timestamp('2016-08-31', 'Asia/Seoul') -> 2016-08-31 09:00:00",
    ).scalar((TIMESTAMP, STRING), TIMESTAMP, _zone(False)),
    Page(
        "to_utc_timestamp(time, zone)",
        "the UTC time of a zone's clock",
        "to_utc_timestamp('2016-08-31', 'Asia/Seoul') -> 2016-08-30 15:00:00",
    ).scalar((TIMESTAMP, STRING), TIMESTAMP, _zone(True)),
    Page("make_date(year, month, day)", "the date of year, month, day", "make_date(2013, 7, 15) -> 2013-07-15").scalar(
        (INT, INT, INT), DATE, "TRY(make_date({0}, {1}, {2}))"
    ),
    Page(
        "current_date()",
        "today in the session's time zone",
        "current_date()",
        answer=Varying("2024-02-29", r"\d{4}-\d\d-\d\d"),
    ).scalar((), DATE, _TODAY, NullPolicy.CUSTOM, is_deterministic=False, aliases=("curdate",)),
    Page(
        "current_timestamp()",
        "now in the session's time zone",
        "current_timestamp()",
        answer=Varying("2024-02-29 12:39:41.162", r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?"),
    ).scalar(
        (),
        TIMESTAMP,
        "CAST(current_timestamp AS TIMESTAMP)",
        NullPolicy.CUSTOM,
        is_deterministic=False,
        aliases=("localtimestamp", "now"),
    ),
)
