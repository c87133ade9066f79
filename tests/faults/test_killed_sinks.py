"""Processes killed while they write into a folder: a reader that takes each file once has each row once."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

import sharkpy
from sharkpy.streaming import kill_points
from tests.faults.test_killed_epochs import PER_FILE, put_file, runner
from tests.rows import rows
from tests.streaming.folder_input import make_stream
from tests.streaming.test_folder_sink import Taker
from tests.waiting import until


def make(root: Path) -> Taker:
    with sharkpy.connect("local[2]", root / "w") as context:
        make_stream(context, root / "in", "('max.files.per.epoch' = '2')")
        (root / "in").mkdir()
        sink = f"CREATE CONTINUOUS SINK s TO FOLDER '{root}/out' TRIGGER EVERY 1 MILLISECONDS"
        context.sql(f"{sink} AS SELECT n FROM numbers")
    return Taker(root / "out")


def check_prefix(taker: Taker) -> int:
    """The rows of the first files, each once, were taken; returns how many files."""
    number = taker.take()
    assert taker.numbers == list(range(number))
    assert number % PER_FILE == 0
    return number // PER_FILE


@pytest.mark.variants(3)
@pytest.mark.parametrize("step", kill_points.POINTS)
def test_killed_between_two_steps(tmp_path: Path, step: str) -> None:
    taker = make(tmp_path)
    for number in range(3):
        put_file(tmp_path, number)
    with runner(tmp_path, step, 2) as process:
        assert process.wait(120) == -signal.SIGKILL
    # Committed rows are shown by the next process that runs the sink.
    assert check_prefix(taker) == (3 if step == kill_points.ENDED else 2)
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        put_file(tmp_path, 3)
        context.streams.start()
        until(lambda: taker.take() == 4 * PER_FILE)
        assert check_prefix(taker) == 4
        logged = rows(context, "SHOW EPOCHS s")
        assert [row[0] for row in reversed(logged)] == list(range(1, len(logged) + 1))
    assert [path for path in (tmp_path / "out").rglob(".*/*") if path.is_file()] == []


@pytest.mark.parametrize(
    "kills",
    [pytest.param(4, id="some"), pytest.param(75, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(7200)])],
)
def test_killed_at_any_moment(tmp_path: Path, kills: int) -> None:
    """`SHARKPY_SEED` replays a run."""
    seed = int(os.environ.get("SHARKPY_SEED") or random.randrange(1 << 30))
    print(f"SHARKPY_SEED={seed}")
    chance = random.Random(seed)
    taker, put = make(tmp_path), 0
    for _ in range(kills):
        with runner(tmp_path) as process:
            for _ in range(chance.randrange(4)):
                put_file(tmp_path, put)
                put += 1
                time.sleep(chance.random() * 0.1)
            time.sleep(chance.random() * 0.4)
            process.kill()
            process.wait()
        assert check_prefix(taker) <= put
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.streams.start()
        until(lambda: taker.take() >= put * PER_FILE)
        assert check_prefix(taker) == put
