"""Processes killed while a continuous insert with state gives windows to a table: each comes once, with its rows."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

import sharkpy
from sharkpy.streaming import kill_points
from tests.faults.test_killed_epochs import PER_FILE, runner
from tests.faults.test_killed_windows import SECONDS, check_prefix, put_window
from tests.streaming.folder_input import until_numbers


def make(root: Path) -> None:
    """Make an insert of windows, and of rows that are new, into tables; it does not run yet."""
    events = "n BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts"
    (root / "in").mkdir()
    with sharkpy.connect("local[2]", root / "w", **{"shark.compaction.min.blocks": 3}) as context:
        options = "('max.files.per.epoch' = '2')"
        context.sql(f"CREATE STREAM events ({events}) STORED AS JSON FROM FOLDER '{root / 'in'}' {options}")
        for name in ("u", "seen"):
            context.sql(f"CREATE TABLE {name} (n BIGINT)")
        # A row that was counted twice is a number that is not there.
        context.sql(
            "CREATE CONTINUOUS INSERT i WITH UNBOUNDED STATE AS FROM events "
            f"INSERT INTO u SELECT n + 1000000 * (count(*) - 1) GROUP BY n, window(ts, '{SECONDS} seconds') "
            "INSERT INTO seen SELECT DISTINCT n"
        )


def check(context: sharkpy.SharkContext, put: int) -> None:
    """Check that both tables are at the same epoch: the last window is not closed yet."""
    seen = [row[0] for row in context.sql("SELECT n FROM seen ORDER BY n").fetchall()]
    assert seen == list(range(len(seen)))
    assert check_prefix(context, put) == max(len(seen) // PER_FILE - 1, 0)


@pytest.mark.variants(3)
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("step", kill_points.POINTS)
def test_killed_between_two_steps(tmp_path: Path, step: str, times: int) -> None:
    make(tmp_path)
    for number in range(4):
        put_window(tmp_path, number)
    with runner(tmp_path, step, times) as process:
        assert process.wait(120) == -signal.SIGKILL
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        check(context, 4)
        put_window(tmp_path, 4)
        context.streams.start()
        until_numbers(context, range(4 * PER_FILE), "u")
        until_numbers(context, range(5 * PER_FILE), "seen")


@pytest.mark.slow
@pytest.mark.parametrize(
    "kills",
    [pytest.param(3, id="some"), pytest.param(100, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(7200)])],
)
def test_killed_at_any_moment(tmp_path: Path, kills: int) -> None:
    """`SHARKPY_SEED` replays a run."""
    seed = int(os.environ.get("SHARKPY_SEED") or random.randrange(1 << 30))
    print(f"SHARKPY_SEED={seed}")
    chance = random.Random(seed)
    make(tmp_path)
    put = 0
    for _ in range(kills):
        with runner(tmp_path) as process:
            for _ in range(chance.randrange(4)):
                put_window(tmp_path, put)
                put += 1
                time.sleep(chance.random() * 0.1)
            time.sleep(chance.random() * 0.6)
            process.kill()
            process.wait()
        with sharkpy.connect("local[2]", tmp_path / "w") as context:
            check(context, put)
    put_window(tmp_path, put)
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.streams.start()
        until_numbers(context, range(put * PER_FILE), "u")
