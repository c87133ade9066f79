"""Clocks that go back, or on by a day: no row is lost, none comes twice, and their order stays."""

from __future__ import annotations

import datetime
import os
import random
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

import sharkpy
from tests.rows import rows
from tests.streaming.clauses import NOW
from tests.streaming.folder_input import make_stream, numbers, put_numbers, until_numbers
from tests.waiting import until

HOUR = 3600.0
KINDS = ["", "PARTITIONED BY (s)", "TBLPROPERTIES ('shark.cache' = 'MEMORY')"]


@dataclass(slots=True)
class Clock:
    """The wall clock, as this process reads it: `offset` seconds from the true time."""

    offset: float = 0.0

    def now(self) -> str:
        """Now, as statements write it."""
        return datetime.datetime.fromtimestamp(time.time(), datetime.UTC).strftime("%Y-%m-%d %H:%M:%S.%f")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made, true = Clock(), time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: true() + int(made.offset * 1e9))
    monkeypatch.setattr(time, "time", lambda: true() / 1e9 + made.offset)
    return made


@pytest.mark.variants(3)
@pytest.mark.parametrize("clauses", KINDS)
def test_epochs_of_a_folder(tmp_path: Path, folder: Path, clock: Clock, clauses: str) -> None:
    chance = random.Random(7)
    with sharkpy.connect("local[2]", tmp_path / "w", **{"shark.stream.kept.epochs": 5}) as context:
        make_stream(context, folder)
        folder.mkdir()
        context.sql("SET TIME ZONE 'UTC'")
        context.sql(f"CREATE CONTINUOUS TABLE t {clauses} AS SELECT n, concat('p', n % 2) AS s FROM numbers")
        for number in range(12):
            clock.offset = chance.uniform(-24, 24) * HOUR
            path = put_numbers(folder.with_name("aside"), f"{number:02}.json", [number])
            os.utime(path, (time.time(), time.time()))
            path.rename(folder / path.name)
            until_numbers(context, range(number + 1))
            # The last epoch that was written by a moment, as the clock had it when each was written.
            until(lambda: numbers(context, f"t TIMESTAMP AS OF '{clock.now()}'") == numbers(context))
            assert numbers(context, "t TIMESTAMP AS OF '2999-01-01 00:00:00'") == list(range(number + 1))
        context.sql(f"ROLLBACK CONTINUOUS TABLE t TO TIMESTAMP '{clock.now()}'")
        until_numbers(context, range(12))
        assert [row[0] for row in rows(context, "SHOW EPOCHS t")] == list(range(12, 0, -1))


def test_rows_of_a_rate(tmp_path: Path, clock: Clock) -> None:
    """When the clock reaches the earlier time again, no row is repeated and no row is left out."""

    def reads(back: float) -> int:
        clock.offset = -back
        with sharkpy.connect("local[2]", tmp_path / "w") as context:
            context.sql("RESUME CONTINUOUS TABLE t")
            ((count, last, distinct),) = rows(context, "SELECT count(*), max(n), count(DISTINCT n) FROM t")
            assert count == distinct
            assert last is None or last == count - 1  # type: ignore[operator]
            return int(str(count))

    clock.offset = -10 * HOUR
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.sql("CREATE STREAM r (n BIGINT, ts TIMESTAMP) FROM RATE ('rowsPerSecond' = '1')")
        context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM r")
    first = reads(2 * HOUR)
    assert first >= 8 * HOUR
    assert reads(5 * HOUR) == first
    assert reads(20 * HOUR) == first
    assert reads(2 * HOUR) - first < HOUR
    assert reads(HOUR) >= 9 * HOUR


@pytest.mark.variants(3)
@pytest.mark.parametrize("clauses", KINDS)
def test_pushed_rows_keep_the_order_of_the_calls(tmp_path: Path, clock: Clock, clauses: str) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.sql("CREATE STREAM events (n BIGINT) FROM PROGRAM")
        context.sql(f"CREATE CONTINUOUS TABLE t {clauses} {NOW} AS SELECT n, 'x' AS s FROM events")
        folder = Path(context.catalog.table("default", "events").location or "")
        wanted = []
        for number in range(20):
            clock.offset = -number * HOUR
            before = set(folder.glob("[0-9]*"))
            context.push("events").write([(number,)])
            wanted.append(number)
            (path,) = set(folder.glob("[0-9]*")) - before
            os.utime(path, (time.time(), time.time()))
            if number % 7 == 6:
                context.sql("RESUME CONTINUOUS TABLE t")
        context.sql("RESUME CONTINUOUS TABLE t")
        assert [row[0] for row in rows(context, "SELECT n FROM t")] == wanted
