"""Processes killed while blocks of an epoch are made, or wait for its commit: nothing of these is left."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

import sharkpy
from sharkpy.streaming import kill_points
from tests.children import status_of
from tests.faults.test_killed_epochs import check_prefix, make, put_file
from tests.streaming.folder_input import until_numbers

CHILD = """
import os, signal, sys, sharkpy, time
from sharkpy.execution.tables import versions
from sharkpy.streaming import kill_points
warehouse, shm, step = sys.argv[1:]
versions._HOT_BYTES = -1
left = 2

def killed(done):
    global left
    left -= done == step
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

with sharkpy.connect("local[2]", warehouse, **{"shark.store.shm.dir": shm, "shark.compaction": False}) as context:
    kill_points.observer = killed
    context.streams.start()
    time.sleep(600)
"""


@pytest.mark.variants(3)
@pytest.mark.parametrize("step", kill_points.POINTS)
def test_killed_with_blocks_that_do_not_count(tmp_path: Path, step: str) -> None:
    """The blocks are on the disk, too, like the blocks of large epochs."""
    make(tmp_path, ["cached"])
    (tmp_path / "shm").mkdir()
    for number in range(3):
        put_file(tmp_path, number)
    assert status_of(CHILD, tmp_path / "w", tmp_path / "shm", step) == -signal.SIGKILL
    conf = {"shark.store.shm.dir": tmp_path / "shm", "shark.compaction": False}
    with sharkpy.connect("local[2]", tmp_path / "w", **conf) as context:
        epochs = 1 if step in kill_points.POINTS[: kill_points.POINTS.index(kill_points.COMMITTED)] else 2
        assert check_prefix(context, "cached", 3) == min(3, 2 * epochs)
        version = context.table_cache.loaded_version(context.catalog.table("default", "cached"))
        assert version is not None
        kept = (tmp_path / "w" / ".sharkpy" / "blocks").rglob("*.arrow")
        assert {path.stem for path in kept} == {block.block_id for block in version.blocks}
        assert len(list((tmp_path / "shm").iterdir())) == 1
        context.streams.start()
        until_numbers(context, range(15), "cached")
