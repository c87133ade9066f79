"""Rows that come at a rate: numbered without gaps, with the times at which they came."""

from __future__ import annotations

import datetime
import time
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError, ParseError, UnsupportedError
from tests.rows import rows
from tests.streaming.clauses import NOW
from tests.waiting import until

PAST = "'start.ms' = '1700000000000'"
"""2023-11-14 22:13:20 UTC: all rows that a test asks for have come."""


def test_rows_come_as_time_passes(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE STREAM ticks FROM RATE ('rowsPerSecond' = '500')")
    context.sql("CREATE CONTINUOUS TABLE t AS SELECT value, `timestamp` AS ts FROM ticks")
    until(lambda: rows(context, "SELECT count(*) > 200 FROM t") == [(True,)])
    context.sql("PAUSE CONTINUOUS TABLE t")
    (found,) = rows(context, "SELECT count(*) = max(value) + 1, count(DISTINCT value) = count(*), min(value) FROM t")
    assert found == (True, True, 0)
    ((first, last, number),) = rows(context, "SELECT min(ts), max(ts), max(value) FROM t")
    assert last - first == datetime.timedelta(milliseconds=2 * number)


def test_times_are_those_of_the_zone_of_the_session_that_made_the_stream(context: sharkpy.SharkContext) -> None:
    begin = (int(time.time()) // 86400 - 1) * 86400 + 80000
    for zone, clock in (("UTC", "22:13:20"), ("Asia/Tokyo", "07:13:20"), ("+05:30", "03:43:20")):
        context.sql(f"SET TIME ZONE '{zone}'")
        options = f"'start.ms' = '{begin}000', 'rowsPerSecond' = '4'"
        context.sql(f"CREATE STREAM r (n BIGINT, ts TIMESTAMP) FROM RATE ({options})")
        context.sql("SET TIME ZONE 'UTC'")
        found = rows(context, "SELECT n, date_format(ts, 'HH:mm:ss.SSS') FROM r WHERE n < 3 ORDER BY n")
        assert found == [(0, f"{clock}.000"), (1, f"{clock}.250"), (2, f"{clock}.500")]
        context.sql("DROP STREAM r")


def test_a_query_reads_what_has_come_and_ends(context: sharkpy.SharkContext) -> None:
    context.sql(f"CREATE STREAM r FROM RATE ({PAST})")
    expected = int(time.time()) - 1_700_000_000
    ((count, least, greatest),) = rows(context, "SELECT count(*), min(value), max(value) FROM r")
    assert least == 0
    assert greatest == count - 1
    assert 0 <= count - expected <= 60


def test_a_stream_may_be_read_twice_by_one_query(context: sharkpy.SharkContext) -> None:
    context.sql(f"CREATE STREAM r FROM RATE ({PAST}, 'max.rows.per.epoch' = '1000')")
    context.sql(
        "CREATE CONTINUOUS TABLE t TRIGGER ONCE AS"
        " SELECT value FROM r WHERE value < 10 UNION ALL SELECT -value FROM r WHERE value BETWEEN 1 AND 5"
    )
    assert sorted(value for (value,) in rows(context, "SELECT value FROM t")) == [*range(-5, 10)]


def test_epochs_have_no_more_rows_than_they_may(context: sharkpy.SharkContext) -> None:
    start = int(time.time() * 1000) - 100_000
    context.sql(
        f"CREATE STREAM r FROM RATE ('start.ms' = '{start}', 'rowsPerSecond' = '7', 'max.rows.per.epoch' = '100')"
    )
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT value FROM r")
    epochs = rows(context, "SHOW EPOCHS t")
    assert len(epochs) >= 7
    assert {row[3] for row in epochs[1:]} == {100}
    assert rows(context, "SELECT count(DISTINCT value) = count(*), count(*) = max(value) + 1 FROM t") == [(True, True)]


def test_a_stream_starts_again_where_it_was(tmp_path: Path) -> None:
    start = int(time.time() * 1000) - 1000
    for _ in range(2):
        with sharkpy.connect("local[2]", tmp_path / "w") as context:
            options = f"('rowsPerSecond' = '100', 'start.ms' = '{start}')"
            context.sql(f"CREATE STREAM IF NOT EXISTS r FROM RATE {options}")
            context.sql(f"CREATE CONTINUOUS TABLE IF NOT EXISTS t {NOW} AS SELECT value, `timestamp` AS ts FROM r")
            context.sql("RESUME CONTINUOUS TABLE t")
            ((is_whole, first, seconds),) = rows(
                context, "SELECT count(*) = max(value) + 1, min(value), max(value) / 100 FROM t"
            )
            assert (is_whole, first) == (True, 0)
            assert seconds >= 1
            start += 1


def test_columns_and_formats_that_it_cannot_have(context: sharkpy.SharkContext) -> None:
    with pytest.raises(BindError, match='the column "s" of a stream FROM RATE cannot be string'):
        context.sql("CREATE STREAM r (s STRING) FROM RATE")
    with pytest.raises(UnsupportedError, match="a format of a stream FROM RATE"):
        context.sql("CREATE STREAM r STORED AS ORC FROM RATE")
    with pytest.raises(ParseError, match=r"a file format \(.*\) expected"):
        context.sql("CREATE TABLE r (n BIGINT) USING rate")
    with pytest.raises(BindError, match="is not a value of the option rowsPerSecond"):
        context.sql("CREATE STREAM r FROM RATE ('rowsPerSecond' = '0')")
