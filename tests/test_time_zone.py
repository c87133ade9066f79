"""Names of time zones, the setting for one, and the effect of a session's zone on a bound statement."""

from __future__ import annotations

import datetime

import pytest

from sharkpy.base.errors import ConfigurationError
from sharkpy.base.settings import TIME_ZONE, Conf
from sharkpy.base.time_zone import check_zone, local_zone, time_zone, zone_name
from sharkpy.sql.binder import bind
from sharkpy.sql.context import StatementClock
from tests.sql.memory_catalog import make_catalog


@pytest.mark.parametrize(
    ("name", "minutes"),
    [("UTC", 0), ("+02:00", 120), ("-0530", -330), ("GMT-3", -180), ("Asia/Kolkata", 330), ("IST", 330), ("Z", 0)],
)
def test_names(name: str, minutes: int) -> None:
    zone = time_zone(name)
    assert zone is not None
    assert zone.utcoffset(datetime.datetime(2024, 1, 1)) == datetime.timedelta(minutes=minutes)


@pytest.mark.parametrize("name", ["", "Mars/Phobos", "+25:00", "/etc/passwd", "../UTC", "12"])
def test_what_is_no_zone(name: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check_zone(name)
    assert caught.value.sqlstate == "22023"


def test_local_is_the_zone_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert zone_name(check_zone("local")) == "Asia/Tokyo"
    monkeypatch.setenv("TZ", "nowhere")
    assert time_zone(local_zone()) is not None


@pytest.mark.parametrize("name", ["UTC", "Etc/UTC", "Z", "+00:00", "GMT"])
def test_utc_under_any_name(name: str) -> None:
    assert zone_name(name) == "UTC"


def test_synonyms_are_one_setting() -> None:
    conf = Conf({"hive.local.time.zone": "Asia/Tokyo"})
    assert conf["spark.sql.session.timeZone"] == "Asia/Tokyo"
    conf.set("spark.sql.session.timeZone", "'+01:00'")
    assert conf.value(TIME_ZONE) == "+01:00"
    assert conf.changes() == (("shark.session.timezone", "+01:00"),)
    conf.reset("hive.local.time.zone")
    assert conf.value(TIME_ZONE) == "LOCAL"


def bound(sql: str, zone: str, clock: StatementClock | None = None) -> str:
    statement = bind(sql, make_catalog(), Conf({"shark.session.timezone": zone}), "default", clock)
    return str(statement)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT from_unixtime(x) FROM u",
        "SELECT unix_timestamp(b) FROM t",
        "SELECT CAST(x AS TIMESTAMP) FROM u",
        "SELECT a FROM t WHERE a IN (SELECT CAST(CAST(b AS TIMESTAMP) AS BIGINT) FROM t)",
        "CREATE TABLE made AS SELECT CAST(x AS TIMESTAMP) AS at FROM u",
    ],
)
def test_the_zone_is_in_the_statement(sql: str) -> None:
    assert "Asia/Tokyo" in bound(sql, "Asia/Tokyo")
    assert "utc_timestamp" not in bound(sql, "UTC")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT date_format(b, 'HH'), to_date(b), year(b), CAST(b AS TIMESTAMP) FROM t",
        "SELECT from_utc_timestamp(b, 'UTC') FROM t",
    ],
)
def test_nothing_else_depends_on_it(sql: str) -> None:
    assert "Asia/Tokyo" not in bound(sql, "Asia/Tokyo")


def test_the_clock_is_that_of_the_zone() -> None:
    clock = StatementClock()
    clock._now = datetime.datetime(2024, 1, 1, 20, 0, tzinfo=datetime.UTC)
    text = bound("SELECT current_date, current_timestamp, unix_timestamp()", "Asia/Tokyo", clock)
    assert repr(datetime.date(2024, 1, 2)) in text
    assert repr(datetime.datetime(2024, 1, 2, 5)) in text
    assert str(int(clock._now.timestamp())) in text
