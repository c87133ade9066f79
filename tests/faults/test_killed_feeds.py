"""Processes killed while they write a table whose rows are a stream: what follows has each row once."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

import sharkpy
from sharkpy.streaming import kill_points
from tests.faults.test_killed_epochs import KINDS, PER_FILE, check_prefix, make, put_file, runner
from tests.paths_below import paths_below
from tests.streaming.folder_input import numbers, until_numbers
from tests.waiting import until


def make_chain(root: Path, kind: str) -> None:
    """Make a table of the rows that are appended to a continuous table."""
    make(root, [kind])
    with sharkpy.connect("local[2]", root / "w") as context:
        context.sql(f"CREATE STREAM added FROM TABLE {kind}")
        context.sql("CREATE CONTINUOUS TABLE second AS SELECT n, s FROM added")


def check_spool(context: sharkpy.SharkContext) -> None:
    """Nothing is left of what all have read."""
    folder = Path(context.catalog.table("default", "added").location or "")

    def is_empty() -> bool:
        try:
            return not [path for path in paths_below(folder) if path.is_file()]
        except FileNotFoundError:
            # A folder went while it was looked at.
            return False

    until(is_empty)


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("times", [2, 3])
@pytest.mark.parametrize("step", kill_points.POINTS)
def test_killed_between_two_steps(tmp_path: Path, step: str, times: int, kind: str) -> None:
    make_chain(tmp_path, kind)
    for number in range(3):
        put_file(tmp_path, number)
    with runner(tmp_path, step, times) as process:
        assert process.wait(120) == -signal.SIGKILL
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        first = check_prefix(context, kind, 3)
        assert check_prefix(context, "second", 3) <= first
        put_file(tmp_path, 3)
        context.streams.start()
        for name in (kind, "second"):
            until_numbers(context, range(4 * PER_FILE), name)
        check_spool(context)


@pytest.mark.parametrize(
    "kills",
    [pytest.param(4, id="some"), pytest.param(50, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(7200)])],
)
def test_killed_at_any_moment(tmp_path: Path, kills: int) -> None:
    """`SHARKPY_SEED` replays a run."""
    seed = int(os.environ.get("SHARKPY_SEED") or random.randrange(1 << 30))
    print(f"SHARKPY_SEED={seed}")
    chance = random.Random(seed)
    put = 0
    make_chain(tmp_path, "parts")
    for _ in range(kills):
        with runner(tmp_path) as process:
            for _ in range(chance.randrange(4)):
                put_file(tmp_path, put)
                put += 1
                time.sleep(chance.random() * 0.1)
            time.sleep(chance.random() * 0.4)
            process.kill()
            process.wait()
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        first = check_prefix(context, "parts", put)
        assert check_prefix(context, "second", put) <= first
        context.streams.start()
        until_numbers(context, range(put * PER_FILE), "second")
        assert numbers(context, "parts") == list(range(put * PER_FILE))
        check_spool(context)
