"""Processes killed while windows that a watermark closes go on to another table: each comes once."""

from __future__ import annotations

import os
import random
import signal
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import sharkpy
from sharkpy.streaming import kill_points
from tests.faults.test_killed_epochs import PER_FILE, runner
from tests.streaming.folder_input import numbers, put, until_numbers

BEGIN = datetime(2024, 5, 1, 10, 0)
SECONDS = 10
"""Each file has the rows of one window of this length."""


def make(root: Path, clauses: str = "") -> None:
    """Make a table of windows, a stream of the closed windows, and a table of the stream; none runs yet."""
    events = "n BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts"
    query = f"SELECT n, count(*) AS times FROM events GROUP BY n, window(ts, '{SECONDS} seconds')"
    (root / "in").mkdir()
    with sharkpy.connect("local[2]", root / "w") as context:
        options = "('max.files.per.epoch' = '2')"
        context.sql(f"CREATE STREAM events ({events}) STORED AS JSON FROM FOLDER '{root / 'in'}' {options}")
        context.sql(f"CREATE CONTINUOUS TABLE t {clauses} EMIT APPEND AS {query}")
        context.sql("CREATE STREAM closed FROM TABLE t WITH HISTORY")
        # A row that was counted twice is a number that is not there.
        context.sql(f"CREATE CONTINUOUS TABLE u {clauses} AS SELECT n + 1000000 * (times - 1) AS n FROM closed")


def put_window(root: Path, number: int) -> None:
    time = str(BEGIN + timedelta(seconds=number * SECONDS))
    put(root / "in", f"{number:05}", [{"n": number * PER_FILE + one, "ts": time} for one in range(PER_FILE)])


def check_prefix(context: sharkpy.SharkContext, most: int) -> int:
    """The table has the windows of the first files, each once; returns how many."""
    found = numbers(context, "u")
    assert len(found) % PER_FILE == 0
    assert found == list(range(len(found)))
    assert len(found) <= most * PER_FILE
    return len(found) // PER_FILE


@pytest.mark.variants(3)
@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("step", kill_points.POINTS)
def test_killed_between_two_steps(tmp_path: Path, step: str, times: int) -> None:
    make(tmp_path)
    for number in range(4):
        put_window(tmp_path, number)
    with runner(tmp_path, step, times) as process:
        assert process.wait(120) == -signal.SIGKILL
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        check_prefix(context, 3)
        put_window(tmp_path, 4)
        context.streams.start()
        until_numbers(context, range(4 * PER_FILE), "u")


@pytest.mark.variants(2)
@pytest.mark.parametrize("clauses", ["", "TBLPROPERTIES ('shark.cache' = 'MEMORY')"])
@pytest.mark.parametrize(
    "kills",
    [pytest.param(4, id="some"), pytest.param(75, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(7200)])],
)
def test_killed_at_any_moment(tmp_path: Path, kills: int, clauses: str) -> None:
    """`SHARKPY_SEED` replays a run."""
    seed = int(os.environ.get("SHARKPY_SEED") or random.randrange(1 << 30))
    print(f"SHARKPY_SEED={seed}")
    chance = random.Random(seed)
    make(tmp_path, clauses)
    written, before = 0, 0
    with sharkpy.connect("local[2]", tmp_path / "w") as reader:
        for _ in range(kills):
            with runner(tmp_path) as process:
                for _ in range(chance.randrange(4)):
                    put_window(tmp_path, written)
                    written += 1
                    time.sleep(chance.random() * 0.1)
                time.sleep(chance.random() * 0.4)
                process.kill()
            seen = check_prefix(reader, written)
            assert seen >= before
            before = seen
    put_window(tmp_path, written)
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.streams.start()
        until_numbers(context, range(written * PER_FILE), "u")
