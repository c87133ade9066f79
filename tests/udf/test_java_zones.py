"""Clocks of zones: times that a clock shows twice or never, and zones as text."""

from __future__ import annotations

import datetime
import itertools

import duckdb
import pytest

from sharkpy.base.time_zone import time_zone
from sharkpy.udf.date_functions import shifted_clock
from sharkpy.udf.java_datetime import format_moment, format_time, parse_moment, parse_time
from sharkpy.udf.java_zones import NAMES, zone_shift

QUARTER = datetime.timedelta(minutes=15)
CHANGES = [
    ("America/New_York", "2024-11-03"),
    ("America/New_York", "2024-03-10"),
    ("Europe/Berlin", "2024-10-27"),
    ("Europe/Berlin", "2024-03-31"),
    ("Australia/Lord_Howe", "2024-04-07"),
    ("Australia/Lord_Howe", "2024-10-06"),
    ("Antarctica/Troll", "2023-10-29"),
    ("Africa/Casablanca", "2023-03-19"),
    ("Pacific/Apia", "2011-12-30"),
    ("Pacific/Kwajalein", "1993-08-21"),
    ("America/Sao_Paulo", "2018-11-04"),
    ("Asia/Kolkata", "2024-01-01"),
    ("Etc/UTC", "2024-01-01"),
]


def _by_the_rule(clocks: dict[datetime.datetime, datetime.datetime]) -> dict[datetime.datetime, datetime.datetime]:
    """Java's moment of each clock, given the clock of each moment: the first that shows it, or by the offset before a
    skip.
    """
    moments = sorted(clocks)
    expected: dict[datetime.datetime, datetime.datetime] = {}
    for moment in moments:
        expected.setdefault(clocks[moment], moment)
    for before, after in itertools.pairwise(moments):
        skipped = clocks[before] + QUARTER
        while skipped < clocks[after]:
            expected.setdefault(skipped, skipped - (clocks[before] - before))
            skipped += QUARTER
    return expected


@pytest.mark.parametrize(("zone", "day"), CHANGES)
def test_a_clock_is_the_moment_that_java_takes(connection: duckdb.DuckDBPyConnection, zone: str, day: str) -> None:
    quarters = f"SELECT TIMESTAMP '{day}' + INTERVAL 15 MINUTES * i AS m FROM range(-400, 400) r(i)"
    clock = shifted_clock("m", f"'{zone}'", to_utc=False)
    expected = _by_the_rule(dict(connection.execute(f"SELECT m, {clock} FROM ({quarters})").fetchall()))
    middle = sorted(expected)[100:-100]
    connection.execute("CREATE OR REPLACE TEMP TABLE clocks AS SELECT unnest(?) AS c", [middle]).fetchall()
    in_sql = shifted_clock("c", f"'{zone}'", to_utc=True)
    assert in_sql.startswith("shark_moment(")
    found = connection.execute(f"SELECT c, {in_sql}, shark_zone_shift(c, '{zone}', true) FROM clocks").fetchall()
    assert found == [(c, expected[c], expected[c]) for c in middle]


FIRST, LAST = datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59)


def test_the_ends_of_the_calendar() -> None:
    assert zone_shift(LAST, "America/New_York", to_utc=True) is None
    assert zone_shift(FIRST, "America/New_York", to_utc=False) is None
    assert zone_shift(FIRST, "Europe/Berlin", to_utc=True) is None
    assert format_moment(FIRST, "HH z", "America/New_York") is None
    assert parse_time("0001-01-01 +05:00", "yyyy-MM-dd XXX") is None


SUMMER, WINTER = datetime.datetime(2024, 7, 1, 12), datetime.datetime(2024, 1, 1, 12)


@pytest.mark.parametrize(
    ("pattern", "zone", "summer", "winter"),
    [
        ("z", "America/New_York", "EDT", "EST"),
        ("zzzz", "Europe/Berlin", "Central European Summer Time", "Central European Standard Time"),
        ("z", "Asia/Kolkata", "IST", "IST"),
        ("zzzz", "Asia/Jerusalem", "Israel Daylight Time", "Israel Standard Time"),
        ("z", "UTC", "UTC", "UTC"),
        ("z", "+05:30", "+05:30", "+05:30"),
        ("VV", "PST", "America/Los_Angeles", "America/Los_Angeles"),
        ("X", "Asia/Kolkata", "+0530", "+0530"),
        ("X XX XXX XXXX XXXXX", "America/New_York", "-04 -0400 -04:00 -0400 -04:00", "-05 -0500 -05:00 -0500 -05:00"),
        ("X XX XXX", "Europe/London", "+01 +0100 +01:00", "Z Z Z"),
        ("x xx xxx", "Europe/London", "+01 +0100 +01:00", "+00 +0000 +00:00"),
        ("Z ZZZ ZZZZ ZZZZZ", "Europe/London", "+0100 +0100 GMT+01:00 +01:00", "+0000 +0000 GMT Z"),
        ("O OOOO", "America/St_Johns", "GMT-2:30 GMT-02:30", "GMT-3:30 GMT-03:30"),
        ("HH 'z' z", "Asia/Tokyo", "21 z JST", "21 z JST"),
    ],
)
def test_zones_written(pattern: str, zone: str, summer: str, winter: str) -> None:
    assert (format_moment(SUMMER, pattern, zone), format_moment(WINTER, pattern, zone)) == (summer, winter)


def test_a_clock_without_a_zone_is_in_utc() -> None:
    assert format_time(SUMMER, "z zzzz VV O XXX xxx Z") == "UTC Coordinated Universal Time UTC GMT Z +00:00 +0000"


def test_old_offsets_have_seconds() -> None:
    assert format_moment(datetime.datetime(1880, 1, 1, 12), "XXXXX XXX", "America/New_York") == "-04:56:02 -04:56"


@pytest.mark.parametrize(
    ("text", "pattern", "moment"),
    [
        ("2024-07-01 12:00 +0200", "yyyy-MM-dd HH:mm Z", "2024-07-01 10:00"),
        ("2024-07-01 12:00 +02", "yyyy-MM-dd HH:mm X", "2024-07-01 10:00"),
        ("2024-07-01 12:00Z", "yyyy-MM-dd HH:mmXXX", "2024-07-01 12:00"),
        ("2024-07-01 12:00 GMT+2", "yyyy-MM-dd HH:mm z", "2024-07-01 10:00"),
        ("2024-07-01 12:00 utc", "yyyy-MM-dd HH:mm z", "2024-07-01 12:00"),
        ("2024-07-01 12:00 EDT", "yyyy-MM-dd HH:mm z", "2024-07-01 16:00"),
        ("2024-07-01 12:00 cest", "yyyy-MM-dd HH:mm z", "2024-07-01 10:00"),
        ("2024-07-01 12:00 America/Port-au-Prince", "yyyy-MM-dd HH:mm VV", "2024-07-01 16:00"),
        ("2024-11-03 01:30 America/New_York", "yyyy-MM-dd HH:mm VV", "2024-11-03 05:30"),
        ("2024-07-01 12:00", "yyyy-MM-dd HH:mm", "2024-07-01 03:00"),
    ],
)
def test_zones_read(text: str, pattern: str, moment: str) -> None:
    assert parse_moment(text, pattern, "Asia/Tokyo") == datetime.datetime.fromisoformat(moment)


@pytest.mark.parametrize("zone", ["Mars/Phobos", "+25:00", "../../etc/passwd", "XYZ"])
def test_no_zone_is_no_time(zone: str) -> None:
    assert parse_time(f"2024-07-01 {zone}", "yyyy-MM-dd z") is None


@pytest.mark.parametrize(("short", "hours", "zone"), [(short, hours, zone) for short, hours, _, zone in NAMES])
def test_each_name_is_that_of_its_zone_in_winter_or_summer(short: str, hours: float, zone: str) -> None:
    moments = [datetime.datetime(2024, month, 1, tzinfo=time_zone(zone)) for month in (1, 7)]
    if zone not in ("UTC", "GMT"):
        assert (short, datetime.timedelta(hours=hours)) in [(moment.tzname(), moment.utcoffset()) for moment in moments]
