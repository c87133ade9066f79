"""Functions of dates and times that Spark SQL has and Hive does not."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.date_functions import shifted_clock, timestamp_of
from sharkpy.udf.function import ScalarFunction
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import (
    Types,
    first_of,
    takes,
)
from sharkpy.values.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    INTEGER_TYPES,
    STRING,
    TIMESTAMP,
    DataType,
)


def _timestamp_of(name: str, unit: int, *, doc: str, answer: str) -> ScalarFunction:
    """The time of a number of units after 1970. A unit has `unit` microseconds."""
    return Page(f"{name}(n)", doc, f"{name}(1230219000) -> {answer}").scalar(
        (BIGINT,), TIMESTAMP, timestamp_of("{0}", unit)
    )


def _since_1970(name: str, unit: int, *, doc: str, answer: str) -> ScalarFunction:
    """The number of units from 1970 to a time. A unit has `unit` microseconds."""
    return Page(f"{name}(time)", doc, f"{name}('1970-01-01 00:00:01') -> {answer}").scalar(
        (TIMESTAMP,), BIGINT, f"(epoch_us({{0}}) // {unit})" if unit > 1 else "epoch_us({0})"
    )


def _make_timestamp(args: Sequence[str], _types: Types, _result: DataType) -> str:
    time = _SECONDS.format(*args)
    return time if len(args) == 6 else shifted_clock(time, args[6], to_utc=True)


_SECONDS = "TRY(make_timestamp({0}, {1}, {2}, {3}, {4}, 0e0) + to_microseconds(CAST(round({5} * 1000000) AS BIGINT)))"


SPARK_TIME_FUNCTIONS = (
    Page(
        "convert_timezone(from zone, to zone, time)",
        "the time on a zone's clock as the clock of another zone shows it",
        "convert_timezone('Europe/Brussels', 'America/Los_Angeles', '2021-12-06 00:00:00') -> 2021-12-05 15:00:00",
    ).scalar((STRING, STRING, TIMESTAMP), TIMESTAMP, "shark_zone_shift(shark_zone_shift({2}, {0}, true), {1}, false)"),
    Page("dayname(date)", "Mon, Tue …", "dayname('2009-07-30') -> Thu").scalar((DATE,), STRING, "strftime({0}, '%a')"),
    Page("monthname(date)", "Jan, Feb …", "monthname('2009-07-30') -> Jul").scalar(
        (DATE,), STRING, "strftime({0}, '%b')"
    ),
    Page(
        "make_timestamp(year, month, day, hour, minute, seconds[, zone])",
        "the time of year, month, day, hour, minute, seconds, on the clock of the session or of a zone",
        "make_timestamp(2014, 12, 28, 6, 30, 45.887) -> 2014-12-28 06:30:45.887",
    ).scalar(
        takes(INT, INT, INT, INT, INT, DOUBLE, STRING, optional=1),
        TIMESTAMP,
        _make_timestamp,
        aliases=("make_timestamp_ltz", "make_timestamp_ntz", "try_make_timestamp"),
    ),
    Page(
        "timestamp_seconds(n)",
        "the time n seconds after 1970",
        "timestamp_seconds(1230219000.5) -> 2008-12-25 15:30:00.5",
    ).scalar(
        first_of(lambda types: takes(BIGINT)(types) if types and types[0] in INTEGER_TYPES else None, takes(DOUBLE)),
        TIMESTAMP,
        "make_timestamp(TRY_CAST(CASE WHEN abs({0}) < 9223372022400 THEN round({0} * 1000000) END AS BIGINT))",
    ),
    _timestamp_of("timestamp_millis", 1_000, doc="the time n milliseconds after 1970", answer="1970-01-15 05:43:39"),
    _timestamp_of("timestamp_micros", 1, doc="the time n microseconds after 1970", answer="1970-01-01 00:20:30.219"),
    _since_1970("unix_seconds", 1_000_000, doc="seconds since 1970", answer="1"),
    _since_1970("unix_millis", 1_000, doc="milliseconds since 1970", answer="1000"),
    _since_1970("unix_micros", 1, doc="microseconds since 1970", answer="1000000"),
    Page("unix_date(date)", "days", "unix_date('1970-01-02') -> 1").scalar(
        (DATE,), INT, "CAST({0} - DATE '1970-01-01' AS INTEGER)"
    ),
    Page(
        "date_from_unix_date(days)", "the day so many days after 1970-01-01", "date_from_unix_date(1) -> 1970-01-02"
    ).scalar(
        (INT,), DATE, "CASE WHEN {0} BETWEEN -2147483646 AND 2147483646 THEN CAST(DATE '1970-01-01' + {0} AS DATE) END"
    ),
)
