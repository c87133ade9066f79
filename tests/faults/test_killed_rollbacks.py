"""Processes killed while they roll a continuous table back: it is as before, or as at the epoch; no row comes twice."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

import sharkpy
from sharkpy.streaming import kill_points
from tests.children import status_of
from tests.faults.test_killed_epochs import KINDS
from tests.paths_below import paths_below
from tests.rows import rows
from tests.streaming.folder_input import make_stream, put

CHILD = """
import os, signal, sys, sharkpy
from sharkpy.streaming import kill_points
warehouse, step, epoch = sys.argv[1:]

def killed(done):
    if done == step:
        os.kill(os.getpid(), signal.SIGKILL)

with sharkpy.connect("local[2]", warehouse) as context:
    kill_points.observer = killed
    context.sql(f"ROLLBACK CONTINUOUS TABLE t TO EPOCH {epoch}")
"""
EPOCHS = ["ab", "bc", "cd", "ad"]
"""Hive partitions that get a row in each epoch."""


def write_epochs(context: sharkpy.SharkContext, root: Path, clauses: str) -> None:
    make_stream(context, root / "in")
    query = "TRIGGER AVAILABLE NOW AS SELECT n, s FROM numbers"
    context.sql(f"CREATE CONTINUOUS TABLE t {clauses} {query}")
    for number, parts in enumerate(EPOCHS, 1):
        put(root / "in", f"{number}.json", [{"n": number, "s": part} for part in parts])
        context.sql("RESUME CONTINUOUS TABLE t")


def expected(epoch: int) -> list[tuple[object, ...]]:
    return [(number, part) for number, parts in enumerate(EPOCHS[:epoch], 1) for part in parts]


def content(context: sharkpy.SharkContext, version: str = "") -> list[tuple[object, ...]]:
    return sorted(rows(context, f"SELECT n, s FROM t {version}"))


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", [kill_points.STAGED, kill_points.PLACED, kill_points.COMMITTED, kill_points.ENDED])
def test_killed_between_two_steps(tmp_path: Path, step: str, kind: str) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        write_epochs(context, tmp_path, KINDS[kind])
    assert status_of(CHILD, tmp_path / "w", step, "2") == -signal.SIGKILL
    is_done = step in (kill_points.COMMITTED, kill_points.ENDED)
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        last = 2 if is_done else 4
        assert content(context) == expected(last)
        if kind == "parts":
            wanted = sorted({f"s={part}" for parts in EPOCHS[:last] for part in parts})
            assert [row[0] for row in rows(context, "SHOW PARTITIONS t")] == wanted
        for epoch in [2] if is_done else [1, 2, 3, 4]:
            assert content(context, f"VERSION AS OF {epoch}") == expected(epoch)
        location = Path(context.catalog.table("default", "t").location or "")
        assert not paths_below(location, ".staging*")
        context.sql("RESUME CONTINUOUS TABLE t")
        assert content(context) == expected(4)
        context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 2")
        assert content(context) == expected(2)
        context.sql("RESUME CONTINUOUS TABLE t")
        assert content(context) == expected(4)


def test_epochs_that_were_rolled_back_do_not_begin_again(tmp_path: Path) -> None:
    """The log does not know of the rollback: its ranges of later epochs differ from the ranges of the new epochs."""
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        write_epochs(context, tmp_path, "")
    assert status_of(CHILD, tmp_path / "w", kill_points.COMMITTED, "1") == -signal.SIGKILL
    wanted = expected(4)
    for number in (5, 6, 7):
        # The next process looks into the log for an epoch that has begun.
        with sharkpy.connect("local[2]", tmp_path / "w") as context:
            context.sql("RESUME CONTINUOUS TABLE t")
            assert content(context) == wanted
        put(tmp_path / "in", f"{number}.json", [{"n": number, "s": "x"}])
        wanted.append((number, "x"))
