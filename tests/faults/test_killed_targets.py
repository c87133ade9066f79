"""Processes killed while an epoch writes several tables: all of them have it, once, or none; people's rows stay."""

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
from tests.paths_below import paths_below
from tests.rows import rows
from tests.streaming.folder_input import make_stream, numbers
from tests.waiting import until

CACHED = "TBLPROPERTIES ('shark.cache' = 'MEMORY')"
TARGETS = {
    "plain": "(n BIGINT, s STRING) STORED AS PARQUET",
    "cached": f"(n BIGINT, s STRING) STORED AS PARQUET {CACHED}",
    "parts": f"(n BIGINT) PARTITIONED BY (s STRING) STORED AS PARQUET {CACHED}",
}
BEFORE, BESIDE = -1, -2
"""Rows that people have put into each target before the continuous insert was made, and after the kill."""


def make(root: Path) -> None:
    with sharkpy.connect("local[2]", root / "w") as context:
        make_stream(context, root / "in", "('max.files.per.epoch' = '2')")
        (root / "in").mkdir()
        for name, form in TARGETS.items():
            context.sql(f"CREATE TABLE {name} {form}")
            context.sql(f"INSERT INTO {name} VALUES ({BEFORE}, 'p0')")
        inserts = " ".join(f"INSERT INTO {name} SELECT n, concat('p', n % 3)" for name in TARGETS)
        context.sql(f"CREATE CONTINUOUS INSERT c AS FROM numbers {inserts}")


def check_prefix(context: sharkpy.SharkContext, people: set[int], most: int) -> int:
    """All targets have people's rows and the rows of the same first files, each once; returns how many files."""
    found = [numbers(context, name) for name in TARGETS]
    assert found[0] == found[1] == found[2]
    streamed = [n for n in found[0] if n not in people]
    assert len(streamed) + len(people) == len(found[0])
    assert streamed == list(range(len(streamed)))
    assert len(streamed) % PER_FILE == 0
    assert len(streamed) <= most * PER_FILE
    return len(streamed) // PER_FILE


@pytest.mark.variants(3)
@pytest.mark.parametrize("step", kill_points.POINTS)
def test_killed_between_two_steps(tmp_path: Path, step: str) -> None:
    make(tmp_path)
    for number in range(3):
        put_file(tmp_path, number)
    with runner(tmp_path, step, 2) as process:
        assert process.wait(120) == -signal.SIGKILL
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        epochs = 1 if step in kill_points.POINTS[: kill_points.POINTS.index(kill_points.COMMITTED)] else 2
        assert check_prefix(context, {BEFORE}, 3) == min(3, 2 * epochs)
        for name in TARGETS:
            context.sql(f"INSERT INTO {name} VALUES ({BESIDE}, 'p1')")
            assert not paths_below(Path(context.catalog.table("default", name).location or ""), ".staging*")
        assert check_prefix(context, {BEFORE, BESIDE}, 3) == min(3, 2 * epochs)
        put_file(tmp_path, 3)
        context.streams.start()
        until(lambda: len(numbers(context, "parts")) >= 4 * PER_FILE + 2)
        assert check_prefix(context, {BEFORE, BESIDE}, 4) == 4
        logged = rows(context, "SHOW EPOCHS c")
        assert [row[0] for row in reversed(logged)] == list(range(1, len(logged) + 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    "kills",
    [pytest.param(4, id="some"), pytest.param(75, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(7200)])],
)
def test_killed_at_any_moment(tmp_path: Path, kills: int) -> None:
    """`SHARKPY_SEED` replays a run."""
    seed = int(os.environ.get("SHARKPY_SEED") or random.randrange(1 << 30))
    print(f"SHARKPY_SEED={seed}")
    chance = random.Random(seed)
    make(tmp_path)
    put, before, people = 0, 0, {BEFORE}
    with sharkpy.connect("local[2]", tmp_path / "w") as reader:
        for kill in range(kills):
            with runner(tmp_path) as process:
                for _ in range(chance.randrange(4)):
                    put_file(tmp_path, put)
                    put += 1
                    time.sleep(chance.random() * 0.1)
                # At the same time as the epochs of the other process.
                for name in TARGETS:
                    reader.sql(f"INSERT INTO {name} VALUES ({BESIDE - kill}, 'p{kill}')").close()
                people.add(BESIDE - kill)
                time.sleep(chance.random() * 0.4)
                process.kill()
                process.wait()
            seen = check_prefix(reader, people, put)
            assert seen >= before
            before = seen
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.streams.start()
        until(lambda: len(numbers(context, "parts")) >= put * PER_FILE + len(people))
        assert check_prefix(context, people, put) == put
