"""Processes killed while they run epochs: no row is lost, none comes twice, and readers see only whole epochs."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import sharkpy
from sharkpy.streaming import kill_points
from tests.children import Child, child
from tests.paths_below import paths_below
from tests.rows import rows
from tests.streaming.folder_input import make_stream, numbers, put, put_numbers, until_numbers

CHILD = """
import os, signal, sys, sharkpy, time
from sharkpy.streaming import kill_points
warehouse, step, times = sys.argv[1:]
left = int(times)

def killed(done):
    global left
    left -= done == step
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

with sharkpy.connect("local[2]", warehouse) as context:
    kill_points.observer = killed if step else None
    context.streams.start()
    print("started", flush=True)
    time.sleep(600)
"""
PER_FILE = 5
KINDS = {
    "plain": "",
    "cached": "TBLPROPERTIES ('shark.cache' = 'MEMORY')",
    "parts": "PARTITIONED BY (s) TBLPROPERTIES ('shark.cache' = 'MEMORY')",
}
"""Continuous tables that are written side by side, with their clauses."""
WITH_STATE = {
    **KINDS,
    "grouped": "TBLPROPERTIES ('shark.cache' = 'MEMORY') WITH UNBOUNDED STATE",
    "matched": "WITH UNBOUNDED STATE",
}
QUERIES = {
    # A row that was counted twice is a number that is not there.
    "grouped": "SELECT n + 1000000 * (count(*) - 1) AS n, concat('p', n % 3) AS s FROM numbers GROUP BY n",
    # So is one without its match, or with two of them.
    "matched": "SELECT coalesce(y.n, -1) AS n, x.s FROM numbers x LEFT JOIN numbers y ON x.n = y.n",
}
ROW_BY_ROW = "SELECT n, concat('p', n % 3) AS s FROM numbers"


def make(root: Path, kinds: list[str]) -> None:
    """Make continuous tables, none of which runs yet."""
    with sharkpy.connect("local[2]", root / "w") as context:
        make_stream(context, root / "in", "('max.files.per.epoch' = '2')")
        (root / "in").mkdir()
        for kind in kinds:
            query = QUERIES.get(kind, ROW_BY_ROW)
            context.sql(f"CREATE CONTINUOUS TABLE {kind} {WITH_STATE[kind]} AS {query}")


def put_file(root: Path, number: int) -> None:
    put_numbers(root / "in", f"{number:05}", range(number * PER_FILE, (number + 1) * PER_FILE))


@contextmanager
def runner(root: Path, step: str = "", times: int = 0) -> Iterator[Child]:
    """A process that runs the epochs, and kills itself after a step was done `times` times."""
    with child(CHILD, root / "w", step, times) as process:
        process.output.readline()
        yield process


def check_prefix(context: sharkpy.SharkContext, kind: str, most: int) -> int:
    """The table has the rows of the first files, each once; returns how many."""
    found = numbers(context, kind)
    assert len(found) % PER_FILE == 0
    assert found == list(range(len(found)))
    assert len(found) <= most * PER_FILE
    return len(found) // PER_FILE


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", WITH_STATE)
@pytest.mark.parametrize("step", kill_points.POINTS)
def test_killed_between_two_steps(tmp_path: Path, step: str, kind: str) -> None:
    make(tmp_path, [kind])
    for number in range(3):
        put_file(tmp_path, number)
    with runner(tmp_path, step, 2) as process:
        assert process.wait(120) == -signal.SIGKILL
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        epochs = 1 if step in kill_points.POINTS[: kill_points.POINTS.index(kill_points.COMMITTED)] else 2
        assert check_prefix(context, kind, 3) == min(3, 2 * epochs)
        assert [(row[0], row[1]) for row in rows(context, f"SHOW EPOCHS {kind}")][-1] == (1, "WRITTEN")
        table = context.catalog.table("default", kind)
        written = context.catalog.state_table(table) or table
        assert not paths_below(Path(written.location or ""), ".staging*")
        put_file(tmp_path, 3)
        context.streams.start()
        until_numbers(context, range(4 * PER_FILE), kind)
        logged = rows(context, f"SHOW EPOCHS {kind}")
        assert [row[0] for row in reversed(logged)] == list(range(1, len(logged) + 1))


def test_killed_when_columns_were_added(tmp_path: Path) -> None:
    make(tmp_path, ["plain"])
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.sql("ALTER TABLE numbers SET TBLPROPERTIES ('stream.new.columns' = 'add')")
    put(tmp_path / "in", "a", [{"n": number, "more": number} for number in range(PER_FILE)])
    with runner(tmp_path, kill_points.STAGED, 1) as process:
        assert process.wait(120) == -signal.SIGKILL
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        assert check_prefix(context, "plain", 0) == 0
        assert context.catalog.table("default", "numbers").schema.names == ("n", "s", "more")
        context.streams.start()
        until_numbers(context, range(PER_FILE), "plain")
        assert context.catalog.table("default", "numbers").schema.names == ("n", "s", "more")


@pytest.mark.parametrize(
    "kills",
    [pytest.param(6, id="some"), pytest.param(300, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(7200)])],
)
def test_killed_at_any_moment(tmp_path: Path, kills: int) -> None:
    """`SHARKPY_SEED` replays a run."""
    seed = int(os.environ.get("SHARKPY_SEED") or random.randrange(1 << 30))
    print(f"SHARKPY_SEED={seed}")
    chance = random.Random(seed)
    make(tmp_path, list(WITH_STATE))
    put = 0
    before = dict.fromkeys(WITH_STATE, 0)
    with sharkpy.connect("local[2]", tmp_path / "w") as reader:
        for _ in range(kills):
            with runner(tmp_path) as process:
                for _ in range(chance.randrange(4)):
                    put_file(tmp_path, put)
                    put += 1
                    time.sleep(chance.random() * 0.1)
                time.sleep(chance.random() * 0.4)
                process.kill()
            for kind in WITH_STATE:
                seen = check_prefix(reader, kind, put)
                assert seen >= before[kind]
                before[kind] = seen
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.streams.start()
        for kind in WITH_STATE:
            until_numbers(context, range(put * PER_FILE), kind)
