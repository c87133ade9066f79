"""Functions of dates and times that Spark SQL has and Hive does not."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.date_functions import shifted_clock, timestamp_of
from sharkpy.udf.function import ScalarFunction
from sharkpy.udf.signatures import (
    Types,
    first_of,
    returns,
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
    return ScalarFunction(
        name,
        takes(BIGINT),
        returns(TIMESTAMP),
        timestamp_of("{0}", unit),
        usage=f"{name}(n)",
        doc=doc,
        example=f"{name}(1230219000)",
        answer=answer,
    )


def _since_1970(name: str, unit: int, *, doc: str, answer: str) -> ScalarFunction:
    """The number of units from 1970 to a time. A unit has `unit` microseconds."""
    return ScalarFunction(
        name,
        takes(TIMESTAMP),
        returns(BIGINT),
        f"(epoch_us({{0}}) // {unit})" if unit > 1 else "epoch_us({0})",
        usage=f"{name}(time)",
        doc=doc,
        example=f"{name}('1970-01-01 00:00:01')",
        answer=answer,
    )


def _make_timestamp(args: Sequence[str], _types: Types, _result: DataType) -> str:
    time = _SECONDS.format(*args)
    return time if len(args) == 6 else shifted_clock(time, args[6], to_utc=True)


_SECONDS = "TRY(make_timestamp({0}, {1}, {2}, {3}, {4}, 0e0) + to_microseconds(CAST(round({5} * 1000000) AS BIGINT)))"


SPARK_TIME_FUNCTIONS = (
    ScalarFunction(
        "convert_timezone",
        takes(STRING, STRING, TIMESTAMP),
        returns(TIMESTAMP),
        "shark_zone_shift(shark_zone_shift({2}, {0}, true), {1}, false)",
        usage="convert_timezone(from zone, to zone, time)",
        doc="the time on a zone's clock as the clock of another zone shows it",
        example="convert_timezone('Europe/Brussels', 'America/Los_Angeles', '2021-12-06 00:00:00')",
        answer="2021-12-05 15:00:00",
    ),
    ScalarFunction(
        "dayname",
        takes(DATE),
        returns(STRING),
        "strftime({0}, '%a')",
        usage="dayname(date)",
        doc="Mon, Tue …",
        example="dayname('2009-07-30')",
        answer="Thu",
    ),
    ScalarFunction(
        "monthname",
        takes(DATE),
        returns(STRING),
        "strftime({0}, '%b')",
        usage="monthname(date)",
        doc="Jan, Feb …",
        example="monthname('2009-07-30')",
        answer="Jul",
    ),
    ScalarFunction(
        "make_timestamp",
        takes(INT, INT, INT, INT, INT, DOUBLE, STRING, optional=1),
        returns(TIMESTAMP),
        _make_timestamp,
        usage="make_timestamp(year, month, day, hour, minute, seconds[, zone])",
        doc="the time of year, month, day, hour, minute, seconds, on the clock of the session or of a zone",
        example="make_timestamp(2014, 12, 28, 6, 30, 45.887)",
        answer="2014-12-28 06:30:45.887",
        aliases=("make_timestamp_ltz", "make_timestamp_ntz", "try_make_timestamp"),
    ),
    ScalarFunction(
        "timestamp_seconds",
        first_of(lambda types: takes(BIGINT)(types) if types and types[0] in INTEGER_TYPES else None, takes(DOUBLE)),
        returns(TIMESTAMP),
        "make_timestamp(TRY_CAST(CASE WHEN abs({0}) < 9223372022400 THEN round({0} * 1000000) END AS BIGINT))",
        usage="timestamp_seconds(n)",
        doc="the time n seconds after 1970",
        example="timestamp_seconds(1230219000.5)",
        answer="2008-12-25 15:30:00.5",
    ),
    _timestamp_of(
        "timestamp_millis",
        1_000,
        doc="the time n milliseconds after 1970",
        answer="1970-01-15 05:43:39",
    ),
    _timestamp_of(
        "timestamp_micros",
        1,
        doc="the time n microseconds after 1970",
        answer="1970-01-01 00:20:30.219",
    ),
    _since_1970(
        "unix_seconds",
        1_000_000,
        doc="seconds since 1970",
        answer="1",
    ),
    _since_1970(
        "unix_millis",
        1_000,
        doc="milliseconds since 1970",
        answer="1000",
    ),
    _since_1970(
        "unix_micros",
        1,
        doc="microseconds since 1970",
        answer="1000000",
    ),
    ScalarFunction(
        "unix_date",
        takes(DATE),
        returns(INT),
        "CAST({0} - DATE '1970-01-01' AS INTEGER)",
        usage="unix_date(date)",
        doc="days",
        example="unix_date('1970-01-02')",
        answer="1",
    ),
    ScalarFunction(
        "date_from_unix_date",
        takes(INT),
        returns(DATE),
        "CASE WHEN {0} BETWEEN -2147483646 AND 2147483646 THEN CAST(DATE '1970-01-01' + {0} AS DATE) END",
        usage="date_from_unix_date(days)",
        doc="the day so many days after 1970-01-01",
        example="date_from_unix_date(1)",
        answer="1970-01-02",
    ),
)
